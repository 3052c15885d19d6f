package workload

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	sidecarName       = "mesh-proxy"
	sidecarAnnotation = "mesh.example.com/injected"
)

// injectSidecar gives one pod in ten (at drift 1) what an injecting webhook adds: a sidecar in the native form (an init
// container that restarts), its volumes and its annotation. Siblings made before the webhook was there lack it.
func (b *podBuilder) injectSidecar(p *corev1.Pod) {
	r := rng(mix(b.seed, ownSidecar))
	if !r.chance(0.10 * b.g.drift) {
		return
	}
	p.Annotations[sidecarAnnotation] = `{"initContainers":["mesh-proxy"],"volumes":["mesh-certs","mesh-state"],"revision":"1-24"}`
	p.Spec.Volumes = append(p.Spec.Volumes,
		corev1.Volume{Name: "mesh-state", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}},
		corev1.Volume{Name: "mesh-certs", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{
		Name: sidecarName, Image: registries[0] + "/mesh/proxy:1.24.2", ImagePullPolicy: corev1.PullIfNotPresent,
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		Args: []string{
			"proxy", "sidecar", "--domain=svc.cluster.local", "--log-level=default:warn",
			"--concurrency=2", "--discovery=mesh-control.mesh-system.svc:15012",
		},
		Ports: []corev1.ContainerPort{{Name: "mesh-stats", ContainerPort: 15090, Protocol: corev1.ProtocolTCP}},
		Env: []corev1.EnvVar{
			{Name: "MESH_CLUSTER", Value: "prod-eu-west-1"},
			{Name: "MESH_BOOTSTRAP", Value: `{"tracing":{"sampling":1.0},"holdUntilReady":true,"drain":"25s"}`},
		},
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(100, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(128<<20, resource.BinarySI)},
			Limits:   corev1.ResourceList{corev1.ResourceMemory: *resource.NewQuantity(1<<30, resource.BinarySI)},
		},
		VolumeMounts: []corev1.VolumeMount{
			{Name: "mesh-state", MountPath: "/var/lib/mesh"},
			{Name: "mesh-certs", MountPath: "/etc/mesh/certs"},
		},
		TerminationMessagePath:   "/dev/termination-log",
		TerminationMessagePolicy: corev1.TerminationMessageReadFile,
	})
}
