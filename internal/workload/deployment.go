package workload

import (
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// revisionNumber is what the annotation deployment.kubernetes.io/revision says; running revisions are the newest.
func (w *workload) revisionNumber(revision int) string {
	return strconv.Itoa(replicaSetsPerDeployment - w.revisions + revision + 1)
}

// template is the pod template of a revision.
func (w *workload) template(revision int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: w.labels(revision), Annotations: w.annotations(revision)},
		Spec:       w.podSpec(revision),
	}
}

func (g *Generator) deployment(i int) *appsv1.Deployment {
	w := g.workload(i)
	_, replicas := g.firstPod(i)
	current := w.revisions - 1
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}}
	d.Name, d.Namespace, d.UID = w.name, w.namespace, w.uid()
	d.ResourceVersion = g.resourceVersion(Deployments, i, state{})
	d.Generation = replicaSetsPerDeployment
	d.CreationTimestamp = clock(w.created)
	d.Labels = w.labels(current)
	d.Annotations = map[string]string{
		"deployment.kubernetes.io/revision": w.revisionNumber(current),
		"meta.helm.sh/release-name":         w.name,
		"meta.helm.sh/release-namespace":    w.namespace,
	}
	d.Spec = appsv1.DeploymentSpec{
		Replicas: new(int32(replicas)),
		Selector: &metav1.LabelSelector{MatchLabels: w.selector()},
		Template: w.template(current),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxUnavailable: new(intstr.FromString("25%")), MaxSurge: new(intstr.FromString("25%")),
		}},
		RevisionHistoryLimit:    new(int32(replicaSetsPerDeployment)),
		ProgressDeadlineSeconds: new(int32(600)),
	}
	at := clock(w.created + 120)
	d.Status = appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: int32(replicas), ReadyReplicas: int32(replicas),
		AvailableReplicas: int32(replicas), UpdatedReplicas: int32(g.replicasOf(&w, i, current)),
		Conditions: []appsv1.DeploymentCondition{
			{
				Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at,
				Reason: "MinimumReplicasAvailable", Message: "Deployment has minimum availability.",
			},
			{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: at, LastTransitionTime: at,
				Reason: "NewReplicaSetAvailable", Message: `ReplicaSet "` + w.replicaSetName(current) + `" has successfully progressed.`,
			},
		},
	}
	f := newFields(4096)
	f.open("metadata")
	f.keys("annotations", d.Annotations, func(k string) bool { return k != "deployment.kubernetes.io/revision" })
	f.keys("labels", d.Labels, nil)
	f.close()
	f.open("spec")
	f.leaves("progressDeadlineSeconds", "replicas", "revisionHistoryLimit", "selector", "strategy")
	f.template(&d.Spec.Template)
	f.close()
	s := newFields(1024)
	s.b = append(s.b, `"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}},`...)
	s.open("status")
	s.leaves("availableReplicas")
	s.open("conditions")
	s.self()
	for _, c := range d.Status.Conditions {
		s.openItem("type", string(c.Type))
		s.leaves("lastTransitionTime", "lastUpdateTime", "message", "reason", "status", "type")
		s.close()
	}
	s.close()
	s.leaves("observedGeneration", "readyReplicas", "replicas", "updatedReplicas")
	s.close()
	d.ManagedFields = []metav1.ManagedFieldsEntry{
		f.entry("helm", "apps/v1", "", clock(w.created)), s.entry(managerController, "apps/v1", "status", at),
	}
	return d
}

// template writes the fields of a pod template.
func (f *fields) template(t *corev1.PodTemplateSpec) {
	f.open("template")
	f.open("metadata")
	f.keys("annotations", t.Annotations, nil)
	f.keys("labels", t.Labels, nil)
	f.close()
	f.podSpec(&t.Spec, len(t.Spec.Volumes))
	f.close()
}

// replicasOf counts the pods of the workload's revision.
func (g *Generator) replicasOf(w *workload, id, revision int) int {
	_, replicas := g.firstPod(id)
	n := 0
	for r := range replicas {
		if w.revisionOf(r) == revision {
			n++
		}
	}
	return n
}

// replicaSet returns one of the four replica sets of a deployment: its running revisions, then revisions scaled to zero.
func (g *Generator) replicaSet(i int) *appsv1.ReplicaSet {
	id := i / replicaSetsPerDeployment
	w := g.workload(id)
	revision := w.revisions - 1 - i%replicaSetsPerDeployment // negative: history
	replicas := g.replicasOf(&w, id, revision)
	hash := w.templateHash(revision)
	rs := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSet", APIVersion: "apps/v1"}}
	rs.Name, rs.Namespace, rs.UID = w.replicaSetName(revision), w.namespace, w.replicaSetUID(revision)
	rs.ResourceVersion = g.resourceVersion(ReplicaSets, i, state{})
	rs.Generation = 1
	rs.CreationTimestamp = clock(w.created)
	rs.Annotations = map[string]string{
		"deployment.kubernetes.io/desired-replicas": strconv.Itoa(replicas),
		"deployment.kubernetes.io/max-replicas":     strconv.Itoa(replicas + (replicas+3)/4),
		"deployment.kubernetes.io/revision":         w.revisionNumber(revision),
		"meta.helm.sh/release-name":                 w.name,
	}
	rs.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "Deployment", Name: w.name, UID: w.uid(), Controller: new(true), BlockOwnerDeletion: new(true),
	}}
	template := w.template(revision)
	template.Labels["pod-template-hash"] = hash
	rs.Labels = w.labels(revision)
	rs.Labels["pod-template-hash"] = hash
	selector := w.selector()
	selector["pod-template-hash"] = hash
	rs.Spec = appsv1.ReplicaSetSpec{
		Replicas: new(int32(replicas)), Selector: &metav1.LabelSelector{MatchLabels: selector}, Template: template,
	}
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: int32(replicas), FullyLabeledReplicas: int32(replicas), ReadyReplicas: int32(replicas),
		AvailableReplicas: int32(replicas), ObservedGeneration: 1,
	}
	f := newFields(4096)
	f.open("metadata")
	f.keys("annotations", rs.Annotations, nil)
	f.keys("labels", rs.Labels, nil)
	f.open("ownerReferences")
	f.self()
	f.openItem("uid", string(rs.OwnerReferences[0].UID))
	f.close()
	f.close()
	f.close()
	f.open("spec")
	f.leaves("replicas", "selector")
	f.template(&rs.Spec.Template)
	f.close()
	s := newFields(256)
	s.open("status")
	s.leaves("availableReplicas", "fullyLabeledReplicas", "observedGeneration", "readyReplicas", "replicas")
	s.close()
	rs.ManagedFields = []metav1.ManagedFieldsEntry{
		f.entry(managerController, "apps/v1", "", clock(w.created)), s.entry(managerController, "apps/v1", "status", clock(w.created+60)),
	}
	return rs
}
