package workload

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// numbered puts n in the place of %d. It is called for every variable of every pod, where fmt would cost too much.
func numbered(s string, n int) string {
	if before, after, found := strings.Cut(s, "%d"); found {
		return before + strconv.Itoa(n) + after
	}
	return s
}

// podSpec is the spec of the workload's template, with what the server defaults, without what only a pod has.
func (w *workload) podSpec(revision int) corev1.PodSpec {
	spec := corev1.PodSpec{
		RestartPolicy:                 corev1.RestartPolicyAlways,
		TerminationGracePeriodSeconds: new(int64(30)),
		DNSPolicy:                     corev1.DNSClusterFirst,
		ServiceAccountName:            w.service,
		DeprecatedServiceAccount:      w.service,
		SecurityContext:               &corev1.PodSecurityContext{},
		SchedulerName:                 corev1.DefaultSchedulerName,
		EnableServiceLinks:            new(false),
		NodeSelector:                  map[string]string{"kubernetes.io/os": "linux"},
	}
	r := rng(mix(w.seed, 0x5bec))
	if r.chance(0.4) {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: w.team, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	spec.Volumes = []corev1.Volume{
		{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: w.name + "-config"}, DefaultMode: new(int32(420)),
		}}},
	}
	if r.chance(0.4) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	}
	if r.chance(0.2) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: "tls", VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: w.name + "-tls", DefaultMode: new(int32(420))},
		}})
	}
	spec.Containers = make([]corev1.Container, w.containers)
	for c := range spec.Containers {
		w.container(&spec.Containers[c], revision, c, spec.Volumes)
	}
	return spec
}

func (w *workload) container(c *corev1.Container, revision, number int, volumes []corev1.Volume) {
	mounted := len(volumes)
	r := rng(mix(w.seed, 0xc0, uint64(number)))
	c.Name = "app"
	if number > 0 {
		c.Name = sideNames[(int(w.seed%5)+number)%len(sideNames)]
	}
	c.Image = w.image(c.Name, number, w.version(revision))
	c.ImagePullPolicy = corev1.PullIfNotPresent
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", corev1.TerminationMessageReadFile
	w.env(c, revision, number == 0, &r)
	c.Resources = corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(100*r.between(1, 9)), resource.DecimalSI),
			corev1.ResourceMemory: *resource.NewQuantity(int64(r.between(1, 8))<<27, resource.BinarySI),
		},
		Limits: corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(2<<30, resource.BinarySI)},
	}
	if number > 0 {
		mounted = 1 // only the application serves, is probed, and needs more than its configuration
	} else {
		port := int32(8080 + w.seed%4)
		c.Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}}
		c.ReadinessProbe = httpProbe("/readyz", port, 5)
		if r.chance(0.2) {
			c.LivenessProbe = httpProbe("/healthz", port, 10)
		}
		c.Args = []string{"--config=/etc/app/config.yaml", "--listen=:8080", "--shutdown-delay=5s"}
	}
	for _, v := range volumes[:mounted] {
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: v.Name, ReadOnly: v.Name != "tmp", MountPath: "/etc/app/" + v.Name})
	}
}

func (w *workload) image(container string, number int, version string) string {
	registry := registries[w.seed%uint64(len(registries))]
	if number == 0 {
		return registry + "/" + w.service + "/" + w.component + ":" + version
	}
	return registry + "/infra/" + container + ":v1." + strconv.Itoa(int(w.seed>>8%20)) + ".0"
}

// env gives a container one to three variables from the table; the application also learns its pod and its build, which
// is the revision's own.
func (w *workload) env(c *corev1.Container, revision int, application bool, r *rng) {
	count := 1
	if application {
		count = r.between(1, 3)
	}
	start, step := r.n(len(envChoices)), 3 // 3 does not divide 22: no variable comes twice
	c.Env = make([]corev1.EnvVar, 0, count+2)
	for k := range count {
		choice := envChoices[(start+k*step)%len(envChoices)]
		c.Env = append(c.Env, corev1.EnvVar{Name: choice.name, Value: numbered(choice.value, w.id%97)})
	}
	if application {
		build := rng(mix(w.revisionSeed(revision), 0xe21))
		c.Env = append(c.Env,
			corev1.EnvVar{Name: "BUILD_COMMIT", Value: build.hex(40)},
			corev1.EnvVar{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.name"}}})
	}
}

func httpProbe(path string, port, period int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{
			Path: path, Port: intstr.FromInt32(port), Scheme: corev1.URISchemeHTTP,
		}},
		TimeoutSeconds: 2, PeriodSeconds: period, SuccessThreshold: 1, FailureThreshold: 3,
	}
}
