package workload_test

import (
	"encoding/json"
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
)

// shares is how the pods of a cluster differ.
type shares struct{ one, two, more, bare, sidecar, handover float64 }

func measure(t *testing.T, drift float64) shares {
	t.Helper()
	g := workload.New(workload.Options{Pods: 10_000, Drift: new(drift)})
	revisions := map[string]map[string]bool{}
	var bare, sidecar, handover float64
	for i := range g.Count(workload.Pods) {
		p := g.Object(workload.Pods, i).(*corev1.Pod)
		if owner(p) == "" {
			bare++
		} else {
			w := p.Labels["app.kubernetes.io/instance"]
			if revisions[w] == nil {
				revisions[w] = map[string]bool{}
			}
			revisions[w][p.Labels["pod-template-hash"]] = true
		}
		if len(p.Spec.InitContainers) > 0 {
			sidecar++
		}
		if text := p.Annotations["handover.example.com/last"]; text != "" {
			handover++
			if len(text) < 200 || len(text) > 400 || !json.Valid([]byte(text)) {
				t.Fatalf("pod %s: annotation of %d bytes: %s", p.Name, len(text), text)
			}
		}
	}
	s := shares{bare: bare / 10_000, sidecar: sidecar / 10_000, handover: handover / 10_000}
	for _, r := range revisions {
		switch share := 1 / float64(len(revisions)); len(r) {
		case 1:
			s.one += share
		case 2:
			s.two += share
		case 3, 4:
			s.more += share
		default:
			t.Fatalf("a workload of %d revisions", len(r))
		}
	}
	return s
}

// Ensures that siblings differ as often as the package says, and that drift scales each of the shares.
func TestGenerator_Drift_Shares(t *testing.T) {
	for _, c := range []struct {
		drift float64
		want  shares
	}{
		{0, shares{one: 1}},
		{0.5, shares{0.80, 0.15, 0.05, 0.025, 0.05, 0.15}},
		{1, shares{0.60, 0.30, 0.10, 0.05, 0.10, 0.30}},
		{2, shares{0.20, 0.60, 0.20, 0.10, 0.20, 0.60}},
	} {
		got := measure(t, c.drift)
		t.Logf("drift %v: %+v", c.drift, got)
		for name, v := range map[string][3]float64{
			"one revision": {got.one, c.want.one, 0.05}, "two": {got.two, c.want.two, 0.05}, "three or four": {got.more, c.want.more, 0.03},
			"bare": {got.bare, c.want.bare, 0.001}, "sidecar": {got.sidecar, c.want.sidecar, 0.01}, "own annotation": {got.handover, c.want.handover, 0.01},
		} {
			if c.drift == 0 {
				v[2] = 0
			}
			if math.Abs(v[0]-v[1]) > v[2]+1e-9 {
				t.Errorf("drift %v: share of %s is %.3f, want %.3f", c.drift, name, v[0], v[1])
			}
		}
	}
}

// Ensures that every pod has at least 600 bytes that no sibling has, that drift scales them, and that clones differ in
// name, uid and version alone.
func TestGenerator_Drift_OwnBytes(t *testing.T) {
	mean1 := 0
	for _, drift := range []float64{1, 0, 0.5, 2} {
		g := workload.New(workload.Options{Pods: 200, Drift: new(drift)})
		type sibling struct {
			pod    *corev1.Pod
			raw    []byte
			leaves map[string]string
		}
		siblings := map[string][]sibling{}
		var own, compressed []int
		for o := range g.All(workload.Pods) {
			p := sibling{o.(*corev1.Pod), encoded(t, o), leaves(t, o)}
			set := owner(p.pod)
			others := siblings[set]
			if set != "" && len(others) > 0 {
				// The last sixteen stand for all: which sibling is the nearest is chance.
				least := math.MaxInt
				for _, q := range others[max(0, len(others)-16):] {
					least = min(least, ownBytes(p.leaves, q.leaves))
				}
				own = append(own, least)
				compressed = append(compressed, deflated(t, p.raw, others[len(others)-1].raw))
				if drift == 0 {
					sameButIdentity(t, p.pod.DeepCopy(), others[0].pod.DeepCopy())
				}
			}
			siblings[set] = append(others, p)
		}
		t.Logf("drift %v: own bytes: %s", drift, quantiles(own))
		t.Logf("drift %v: deflated against a sibling: %s", drift, quantiles(compressed))
		switch m := mean(own); drift {
		case 1:
			mean1 = m
			if own[0] < 600 {
				t.Errorf("a pod has only %d bytes of its own", own[0])
			}
		case 0.5:
			if m < mean1*35/100 || m > mean1*75/100 {
				t.Errorf("drift 0.5: %d own bytes on average, %d at drift 1", m, mean1)
			}
		case 2:
			if m < mean1*15/10 || m > mean1*25/10 {
				t.Errorf("drift 2: %d own bytes on average, %d at drift 1", m, mean1)
			}
		}
	}
}

func sameButIdentity(t *testing.T, a, b *corev1.Pod) {
	t.Helper()
	if a.Name == b.Name || a.UID == b.UID || a.ResourceVersion == b.ResourceVersion {
		t.Errorf("%s and %s share their identity", a.Name, b.Name)
	}
	b.Name, b.UID, b.ResourceVersion = a.Name, a.UID, a.ResourceVersion
	if string(encoded(t, a)) != string(encoded(t, b)) {
		t.Errorf("%s is not a clone", a.Name)
	}
}

// Ensures that pods have the parts that pods have: containers, labels, managers, volumes, tolerations, probes, status.
func TestGenerator_Pods_Shape(t *testing.T) {
	g := workload.New(workload.Options{Pods: 4000})
	containers, managers, labels := map[int]int{}, map[int]int{}, map[int]int{}
	for o := range g.All(workload.Pods) {
		p := o.(*corev1.Pod)
		containers[len(p.Spec.Containers)]++
		managers[len(p.ManagedFields)]++
		labels[len(p.Labels)]++
		if len(p.Spec.Volumes) < 2 || len(p.Spec.Tolerations) < 2 || p.Spec.Containers[0].ReadinessProbe == nil ||
			len(p.Spec.Containers[0].Env) < 3 || len(p.Status.ContainerStatuses) != len(p.Spec.Containers) ||
			len(p.Status.InitContainerStatuses) != len(p.Spec.InitContainers) || len(p.Status.Conditions) < 4 || p.Status.PodIP == "" {
			t.Fatalf("pod %s lacks a part: %v", p.Name, p)
		}
		for _, m := range p.ManagedFields {
			if !json.Valid(m.FieldsV1.GetRawBytes()) {
				t.Fatalf("pod %s: fields of %s are not JSON: %s", p.Name, m.Manager, m.FieldsV1.GetRawString())
			}
		}
	}
	t.Logf("containers %v, managers %v, labels %v", containers, managers, labels)
	for name, c := range map[string]struct {
		counts   map[int]int
		min, max int
	}{"containers": {containers, 1, 4}, "managers": {managers, 2, 4}, "labels": {labels, 6, 12}} {
		for n := range c.counts {
			if n < c.min || n > c.max {
				t.Errorf("%d pods have %d %s", c.counts[n], n, name)
			}
		}
		for n := c.min; n <= min(c.max, 4); n++ {
			if c.counts[n] == 0 {
				t.Errorf("no pod has %d %s", n, name)
			}
		}
	}
}
