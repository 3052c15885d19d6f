package wire_test

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// newPod returns a pod of about 7 KB of protobuf, as one of a deployment looks on a running cluster.
func newPod(i int) *corev1.Pod {
	at := metav1.NewTime(time.Unix(1_760_000_000+int64(i), 0))
	yes, grace := true, int64(30)
	name := fmt.Sprintf("checkout-7d9f8c6b54-%05d", i)
	env := func(n int) (list []corev1.EnvVar) {
		for j := range n {
			list = append(list, corev1.EnvVar{Name: fmt.Sprintf("CHECKOUT_SETTING_%02d", j), Value: strings.Repeat("value-", 3+j%4)})
		}
		return append(list, corev1.EnvVar{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIP"}}})
	}
	probe := func(path string) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler:   corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString("http"), Scheme: "HTTP"}},
			TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	container := func(n string, settings int) corev1.Container {
		return corev1.Container{
			Name: n, Image: "registry.example.com/shop/" + n + ":v1.42.0", ImagePullPolicy: "IfNotPresent",
			Args:  []string{"--listen=:8080", "--log-level=info", "--config=/etc/checkout/config.yaml"},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: "TCP"}},
			Env:   env(settings),
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("256Mi")},
				Limits:   corev1.ResourceList{"memory": resource.MustParse("512Mi")},
			},
			VolumeMounts: []corev1.VolumeMount{
				{Name: "config", MountPath: "/etc/checkout", ReadOnly: true},
				{Name: "kube-api-access-x7k2p", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true},
			},
			LivenessProbe: probe("/healthz"), ReadinessProbe: probe("/readyz"),
			TerminationMessagePath: "/dev/termination-log", TerminationMessagePolicy: "File",
		}
	}
	managed := func(manager, subresource string, fields int) metav1.ManagedFieldsEntry {
		var b strings.Builder
		b.WriteString(`{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{`)
		for j := range fields {
			fmt.Fprintf(&b, `"k:{\"name\":\"CHECKOUT_SETTING_%02d\"}":{".":{},"f:name":{},"f:value":{}},`, j)
		}
		b.WriteString(`"f:dnsPolicy":{}}}`)
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: "Update", APIVersion: "v1", Time: &at, FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(b.String()), Subresource: subresource,
		}
	}
	condition := func(t corev1.PodConditionType) corev1.PodCondition {
		return corev1.PodCondition{Type: t, Status: "True", LastTransitionTime: at}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "shop", GenerateName: "checkout-7d9f8c6b54-", Generation: 2,
			UID: types.UID(fmt.Sprintf("0d6f1c1e-8f7a-4a5e-9d3b-%012d", i)), ResourceVersion: fmt.Sprint(81_234_567 + i), CreationTimestamp: at,
			Labels: map[string]string{
				"app": "checkout", "pod-template-hash": "7d9f8c6b54", "app.kubernetes.io/name": "checkout",
				"app.kubernetes.io/part-of": "shop", "app.kubernetes.io/version": "v1.42.0", "team": "payments", "tier": "backend",
			},
			Annotations: map[string]string{
				"prometheus.io/scrape": "true", "prometheus.io/port": "9090",
				"checksum/config":                                strings.Repeat("0123456789abcdef", 4),
				"kubectl.kubernetes.io/restartedAt":              "2026-10-01T12:00:00Z",
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "true",
				"cni.projectcalico.org/containerID":              strings.Repeat("fedcba9876543210", 4),
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "checkout-7d9f8c6b54",
				UID: "5b1f6d0e-12aa-4b6f-8d52-3f0a9b7c6d5e", Controller: &yes, BlockOwnerDeletion: &yes,
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{managed("kube-controller-manager", "", 24), managed("kubelet", "status", 16)},
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{container("checkout", 16), container("proxy", 6)},
			Volumes: []corev1.Volume{
				{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "checkout-config"}}}},
				{Name: "kube-api-access-x7k2p", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
			},
			RestartPolicy: "Always", DNSPolicy: "ClusterFirst", ServiceAccountName: "checkout", NodeName: fmt.Sprintf("node-%03d.eu-west-1.compute.internal", i%300),
			SchedulerName: "default-scheduler", EnableServiceLinks: &yes, TerminationGracePeriodSeconds: &grace,
			SecurityContext: &corev1.PodSecurityContext{},
			Tolerations: []corev1.Toleration{
				{Key: "node.kubernetes.io/not-ready", Operator: "Exists", Effect: "NoExecute"},
				{Key: "node.kubernetes.io/unreachable", Operator: "Exists", Effect: "NoExecute"},
			},
		},
		Status: corev1.PodStatus{
			Phase: "Running", HostIP: "10.0.3.7", PodIP: fmt.Sprintf("10.244.%d.%d", i/250%250, i%250), StartTime: &at, QOSClass: "Burstable",
			PodIPs:     []corev1.PodIP{{IP: "10.244.3.9"}},
			Conditions: []corev1.PodCondition{condition("PodScheduled"), condition("Initialized"), condition("ContainersReady"), condition("Ready")},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "checkout", Ready: true, Started: &yes, Image: "registry.example.com/shop/checkout:v1.42.0",
				ImageID:     "registry.example.com/shop/checkout@sha256:" + strings.Repeat("ab12", 16),
				ContainerID: "containerd://" + strings.Repeat("cd34", 16),
				State:       corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: at}},
			}},
		},
	}
}
