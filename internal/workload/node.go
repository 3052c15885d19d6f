package workload

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeAddress returns the address of node i, which its name repeats.
func (g *Generator) nodeAddress(i int) string {
	return "10." + strconv.Itoa(100+i>>16&63) + "." + strconv.Itoa(i>>8&255) + "." + strconv.Itoa(i&255)
}

func (g *Generator) nodeName(i int) string {
	return "ip-10-" + strconv.Itoa(100+i>>16&63) + "-" + strconv.Itoa(i>>8&255) + "-" + strconv.Itoa(i&255) + ".eu-west-1.compute.internal"
}

func (g *Generator) node(i int) *corev1.Node {
	seed := mix(g.seed, 0x40de, uint64(i))
	r := rng(seed)
	name, address := g.nodeName(i), g.nodeAddress(i)
	zone, instance := pick(&r, zones), pick(&r, instanceTypes)
	n := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}}
	created := r.n(month)
	n.Name, n.UID = name, types.UID(r.uuid())
	n.ResourceVersion = g.resourceVersion(Nodes, i, state{})
	n.CreationTimestamp = clock(created)
	n.Labels = map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"node.kubernetes.io/instance-type": instance, "topology.kubernetes.io/region": "eu-west-1",
		"topology.kubernetes.io/zone": zone, "nodepool.example.com/name": pick(&r, tiers),
	}
	n.Annotations = map[string]string{
		"node.alpha.kubernetes.io/ttl":                           "0",
		"volumes.kubernetes.io/controller-managed-attach-detach": "true",
		"cni.example.io/tunnel-key":                              r.base64Text(44),
		"csi.volume.kubernetes.io/nodeid":                        `{"ebs.csi.example.com":"i-` + r.hex(17) + `"}`,
	}
	n.Spec = corev1.NodeSpec{
		PodCIDR:    fmt.Sprintf("10.%d.%d.0/24", 42+i>>8&63, i&255),
		PodCIDRs:   []string{fmt.Sprintf("10.%d.%d.0/24", 42+i>>8&63, i&255)},
		ProviderID: "aws:///" + zone + "/i-" + r.hex(17),
	}
	capacity := func(cpu, memory int64) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
			corev1.ResourcePods: *resource.NewQuantity(110, resource.DecimalSI), corev1.ResourceEphemeralStorage: *resource.NewQuantity(200<<30, resource.BinarySI),
		}
	}
	n.Status = corev1.NodeStatus{
		Capacity: capacity(16_000, 64<<30), Allocatable: capacity(15_890, 61<<30),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address}, {Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalDNS, Address: name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID: r.hex(32), SystemUUID: r.uuid(), BootID: r.uuid(), KernelVersion: "6.12.41-60.amzn2023.x86_64", OSImage: "Bottlerocket OS 1.44.0",
			ContainerRuntimeVersion: "containerd://2.1.4", KubeletVersion: "v1.37.2", OperatingSystem: "linux", Architecture: "amd64",
		},
	}
	for _, c := range [...]struct {
		t               corev1.NodeConditionType
		status          corev1.ConditionStatus
		reason, message string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"},
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: c.t, Status: c.status, Reason: c.reason, Message: c.message,
			LastHeartbeatTime: clock(month - r.n(300)), LastTransitionTime: clock(created + 30),
		})
	}
	for k := range r.between(8, 20) {
		w := g.workload(r.n(max(g.counts[Deployments], 1)))
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names:     []string{w.image("app", 0, "image") + "@sha256:" + r.hex(64), w.image("app", 0, w.version(k%w.revisions))},
			SizeBytes: int64(r.between(20, 900)) << 20,
		})
	}
	f := newFields(1024)
	f.open("metadata")
	f.keys("annotations", n.Annotations, nil)
	f.keys("labels", n.Labels, nil)
	f.close()
	f.open("spec")
	f.leaves("podCIDR", "podCIDRs", "providerID")
	f.close()
	s := newFields(1024)
	s.open("status")
	s.leaves("allocatable", "capacity")
	s.open("conditions")
	for _, c := range n.Status.Conditions {
		s.openItem("type", string(c.Type))
		s.leaves("lastHeartbeatTime", "lastTransitionTime", "message", "reason", "status")
		s.close()
	}
	s.close()
	s.leaves("images", "nodeInfo")
	s.close()
	n.ManagedFields = []metav1.ManagedFieldsEntry{
		f.entry(managerKubelet, "v1", "", clock(created)), s.entry(managerKubelet, "v1", "status", clock(month)),
	}
	return n
}
