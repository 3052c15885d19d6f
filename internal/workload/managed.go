package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The managers of a pod's fields.
const (
	managerController = "kube-controller-manager"
	managerKubelet    = "kubelet"
	managerNetwork    = "cni-agent"
	managerHandover   = "handover-agent"
)

// managedFields are the two to four entries that a server keeps of a pod: the controller that made it, the kubelet, in
// most workloads the network agent, and whoever wrote the pod's own annotations.
func (b *podBuilder) managedFields(p *corev1.Pod) []metav1.ManagedFieldsEntry {
	r := rng(mix(b.w.seed, 0x3f1e))
	network := r.chance(0.7)
	entries := make([]metav1.ManagedFieldsEntry, 0, 4)
	f := newFields(3072)
	f.open("metadata")
	f.keys("annotations", p.Annotations, func(k string) bool {
		return k != handoverAnnotation && k != changedAnnotation && (!network || !ownedByNetwork(k))
	})
	if p.GenerateName != "" {
		f.leaves("generateName")
	}
	f.keys("labels", p.Labels, nil)
	if len(p.OwnerReferences) > 0 {
		f.open("ownerReferences")
		f.self()
		f.openItem("uid", string(p.OwnerReferences[0].UID))
		f.close()
		f.close()
	}
	f.close()
	f.podSpec(&p.Spec, len(p.Spec.Volumes)-1) // the token volume comes from admission, which owns nothing
	entries = append(entries, f.entry(managerController, "v1", "", clock(b.created)))
	if network {
		f := newFields(256)
		f.open("metadata")
		f.keys("annotations", p.Annotations, ownedByNetwork)
		f.close()
		entries = append(entries, f.entry(managerNetwork, "v1", "status", clock(b.created+2)))
	}
	if p.Annotations[handoverAnnotation] != "" || b.state.annotation > 0 {
		f := newFields(128)
		f.open("metadata")
		f.keys("annotations", p.Annotations, func(k string) bool { return k == handoverAnnotation || k == changedAnnotation })
		f.close()
		entries = append(entries, f.entry(managerHandover, "v1", "", clock(b.created+600)))
	}
	s := newFields(1024)
	s.podStatus(&p.Status)
	return append(entries, s.entry(managerKubelet, "v1", "status", b.lastStatus()))
}

// podSpec writes the fields of a pod's spec with its first volumes volumes.
func (f *fields) podSpec(s *corev1.PodSpec, volumes int) {
	f.open("spec")
	f.containers("containers", s.Containers)
	f.leaves("dnsPolicy", "enableServiceLinks")
	if len(s.InitContainers) > 0 {
		f.containers("initContainers", s.InitContainers)
	}
	f.leaves("nodeSelector", "restartPolicy", "schedulerName")
	f.leaves("securityContext", "serviceAccount", "serviceAccountName", "terminationGracePeriodSeconds", "tolerations")
	f.open("volumes")
	f.self()
	for i := range s.Volumes[:volumes] {
		v := &s.Volumes[i]
		f.openItem("name", v.Name)
		switch {
		case v.ConfigMap != nil:
			f.open("configMap")
			f.self()
			f.leaves("defaultMode", "name")
			f.close()
		case v.Secret != nil:
			f.open("secret")
			f.self()
			f.leaves("defaultMode", "secretName")
			f.close()
		case v.EmptyDir != nil:
			f.leaves("emptyDir")
		}
		f.leaves("name")
		f.close()
	}
	f.close()
	f.close()
}

func (f *fields) containers(field string, containers []corev1.Container) {
	f.open(field)
	for i := range containers {
		f.container(&containers[i])
	}
	f.close()
}

func (f *fields) container(c *corev1.Container) {
	f.openItem("name", c.Name)
	if len(c.Args) > 0 {
		f.leaves("args")
	}
	f.open("env")
	f.self()
	for i := range c.Env {
		f.openItem("name", c.Env[i].Name)
		f.leaves("name")
		if c.Env[i].ValueFrom != nil {
			f.open("valueFrom")
			f.leaves("fieldRef")
			f.close()
		} else {
			f.leaves("value")
		}
		f.close()
	}
	f.close()
	f.leaves("image", "imagePullPolicy")
	f.probe("livenessProbe", c.LivenessProbe)
	f.leaves("name")
	if len(c.Ports) > 0 {
		f.open("ports")
		f.self()
		for i := range c.Ports {
			f.b = append(f.b, `"k:{\"containerPort\":`...)
			f.b = strconv.AppendInt(f.b, int64(c.Ports[i].ContainerPort), 10)
			f.b = append(f.b, `,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}},`...)
		}
		f.close()
	}
	f.probe("readinessProbe", c.ReadinessProbe)
	f.b = append(f.b, `"f:resources":{".":{},"f:limits":{".":{},"f:memory":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{}}},`...)
	if c.RestartPolicy != nil {
		f.leaves("restartPolicy")
	}
	f.probe("startupProbe", c.StartupProbe)
	f.leaves("terminationMessagePath", "terminationMessagePolicy")
	f.open("volumeMounts")
	f.self()
	for i := range c.VolumeMounts {
		if m := &c.VolumeMounts[i]; m.MountPath != "/var/run/secrets/kubernetes.io/serviceaccount" {
			f.openItem("mountPath", m.MountPath)
			f.leaves("mountPath", "name")
			if m.ReadOnly {
				f.leaves("readOnly")
			}
			f.close()
		}
	}
	f.close()
	f.close()
}

func (f *fields) probe(field string, p *corev1.Probe) {
	if p == nil {
		return
	}
	f.open(field)
	f.self()
	f.leaves("failureThreshold")
	f.b = append(f.b, `"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},`...)
	f.leaves("periodSeconds", "successThreshold", "timeoutSeconds")
	f.close()
}

func (f *fields) podStatus(s *corev1.PodStatus) {
	f.open("status")
	f.open("conditions")
	for i := range s.Conditions {
		if s.Conditions[i].Type == corev1.PodScheduled {
			continue // the scheduler's, by way of the binding
		}
		f.openItem("type", string(s.Conditions[i].Type))
		f.leaves("lastProbeTime", "lastTransitionTime")
		if s.Conditions[i].Reason != "" {
			f.leaves("message", "reason")
		}
		f.leaves("status", "type")
		f.close()
	}
	f.close()
	f.leaves("containerStatuses", "hostIP", "hostIPs")
	if len(s.InitContainerStatuses) > 0 {
		f.leaves("initContainerStatuses")
	}
	f.leaves("observedGeneration", "phase", "podIP")
	if len(s.PodIPs) > 0 {
		f.open("podIPs")
		f.self()
		for i := range s.PodIPs {
			f.openItem("ip", s.PodIPs[i].IP)
			f.leaves("ip")
			f.close()
		}
		f.close()
	}
	f.leaves("startTime")
	f.close()
}
