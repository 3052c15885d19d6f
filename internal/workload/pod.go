package workload

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// podBuilder holds what the parts of one pod are made from.
type podBuilder struct {
	g        *Generator
	w        workload
	index    int
	replica  int
	revision int
	seed     uint64 // of this pod and incarnation
	state    state
	created  int
}

// own returns the numbers for one thing that the cluster gives to every pod anew: the pod's own with probability drift,
// else those that all pods of the workload share.
func (b *podBuilder) own(what uint64) rng {
	seed := b.w.seed
	if d := b.g.drift; d >= 1 {
		seed = b.seed
	} else if d > 0 {
		if r := rng(mix(b.seed, what, 0xd1f7)); r.chance(d) {
			seed = b.seed
		}
	}
	return rng(mix(seed, what))
}

// The things that a pod has of its own.
const (
	ownNode = iota + 1
	ownTime
	ownSandbox
	ownVolume
	ownCertificate
	ownDecision
	ownAddress
	ownAudit
	ownTrace
	ownHandover
	ownSidecar
	ownReady
	ownImage     = 0x100 // + container
	ownContainer = 0x200 // + container, << restarts
)

func (g *Generator) newPodBuilder(i int, s state) *podBuilder {
	b := &podBuilder{g: g, index: i, state: s}
	var id int
	if id, b.replica = g.place(i); id < 0 {
		b.w = g.bareWorkload(i)
	} else {
		b.w = g.workload(id)
	}
	b.revision = b.w.revisionOf(b.replica)
	b.seed = mix(g.seed, 0x90d, uint64(i), uint64(s.incarnation))
	r := b.own(ownTime)
	b.created = b.w.created + 1 + r.n(month/2)
	if s.incarnation > 0 {
		b.created = month + s.steps
	}
	return b
}

// podName returns the name of pod i: a bare pod that is made again keeps it.
func (b *podBuilder) name() string {
	if b.w.bare {
		return b.w.name
	}
	// A later incarnation lies beyond all replicas of the workload, so its name is new.
	return b.w.replicaSetName(b.revision) + "-" + podSuffix(b.w.seed, b.replica+b.state.incarnation*blockSize)
}

func (g *Generator) pod(i int, s state) *corev1.Pod {
	b := g.newPodBuilder(i, s)
	uid := rng(mix(b.seed, 0x01d))
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.Name, p.Namespace = b.name(), b.w.namespace
	p.UID = types.UID(uid.uuid())
	p.ResourceVersion = g.resourceVersion(Pods, i, s)
	p.Generation = int64(1 + s.image)
	p.CreationTimestamp = clock(b.created)
	p.Labels = b.w.labels(b.revision)
	p.Spec = b.w.podSpec(b.revision)
	if !b.w.bare {
		p.GenerateName = b.w.replicaSetName(b.revision) + "-"
		p.Labels["pod-template-hash"] = b.w.templateHash(b.revision)
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: b.w.replicaSetName(b.revision),
			UID: b.w.replicaSetUID(b.revision), Controller: new(true), BlockOwnerDeletion: new(true),
		}}
	}
	p.Annotations = b.w.annotations(b.revision)
	if s.label > 0 {
		p.Labels[changedLabel] = strconv.Itoa(s.label)
	}
	if s.annotation > 0 {
		p.Annotations[changedAnnotation] = clock(month + s.annotation).UTC().Format("2006-01-02T15:04:05Z")
	}
	if s.image > 0 {
		p.Spec.Containers[0].Image += "-hotfix." + strconv.Itoa(s.image)
	}
	node := b.node()
	b.injectSidecar(p)
	b.finishSpec(&p.Spec, node)
	b.annotate(p.Annotations, node)
	p.Status = b.status(&p.Spec, node)
	p.ManagedFields = b.managedFields(p)
	return p
}

func (b *podBuilder) node() int {
	r := b.own(ownNode)
	return r.n(max(b.g.counts[Nodes], 1))
}

// finishSpec adds what scheduling and admission add to the template: the node, default tolerations, the token volume.
func (b *podBuilder) finishSpec(spec *corev1.PodSpec, node int) {
	spec.NodeName = b.g.nodeName(node)
	spec.Priority = new(int32(0))
	spec.PreemptionPolicy = new(corev1.PreemptLowerPriority)
	for _, key := range [...]string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		spec.Tolerations = append(spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
		})
	}
	r := b.own(ownVolume)
	volume := "kube-api-access-" + suffix(r.next(), 5)
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Projected: &corev1.ProjectedVolumeSource{DefaultMode: new(int32(420)), Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{ExpirationSeconds: new(int64(3607)), Path: "token"}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		}},
	}})
	mount := corev1.VolumeMount{Name: volume, ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts, mount)
	}
	for i := range spec.InitContainers {
		spec.InitContainers[i].VolumeMounts = append(spec.InitContainers[i].VolumeMounts, mount)
	}
}
