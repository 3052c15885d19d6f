package workload_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
)

// Ensures that each modification changes what its kind says and nothing that it must not, that deletes and creates
// alternate, and that every kind comes up.
func TestGenerator_Change_Kinds(t *testing.T) {
	g := workload.New(workload.Options{Pods: 400})
	for _, kind := range []workload.Kind{workload.Pods, workload.CustomObjects} {
		seen := map[workload.ChangeKind]int{}
		for i := range 8 {
			before := workload.Change{Kind: workload.Create, Object: g.Object(kind, i)}
			if !bytes.Equal(encoded(t, before.Object), encoded(t, g.Change(kind, i, 0).Object)) {
				t.Fatalf("%s %d: modification 0 is not the object itself", kind, i)
			}
			for n := 1; n <= 60; n++ {
				c := g.Change(kind, i, n)
				if !bytes.Equal(encoded(t, c.Object), encoded(t, g.Change(kind, i, n).Object)) {
					t.Fatalf("%s %d: modification %d does not repeat", kind, i, n)
				}
				seen[c.Kind]++
				checkChange(t, fmt.Sprintf("%s %d: modification %d, %s", kind, i, n, c.Kind), before, c)
				before = c
			}
		}
		t.Log(kind, seen)
		for c := workload.StatusChange; c <= workload.Create; c++ {
			if seen[c] == 0 {
				t.Errorf("%s: no %s among the modifications", kind, c)
			}
		}
	}
}

func checkChange(t *testing.T, what string, before, after workload.Change) {
	t.Helper()
	a, b := before.Object, after.Object
	if order, ok := object.CompareVersions(a.GetResourceVersion(), b.GetResourceVersion()); !ok || order >= 0 {
		t.Errorf("%s: version %s after %s", what, b.GetResourceVersion(), a.GetResourceVersion())
	}
	if (after.Kind == workload.Create) != (before.Kind == workload.Delete) {
		t.Errorf("%s follows a %s", what, before.Kind)
	}
	if (after.Kind == workload.Create) == (a.GetUID() == b.GetUID()) {
		t.Errorf("%s: uid %s after %s", what, b.GetUID(), a.GetUID())
	}
	la, lb := leaves(t, a), leaves(t, b)
	changed := func(prefix string) bool {
		for path := range la {
			if _, ok := lb[path]; !ok && strings.HasPrefix(path, prefix) {
				return true
			}
		}
		for path, v := range lb {
			if la[path] != v && strings.HasPrefix(path, prefix) {
				return true
			}
		}
		return false
	}
	parts := map[workload.ChangeKind]string{
		workload.LabelChange: "/metadata/labels/", workload.AnnotationChange: "/metadata/annotations/", workload.SpecChange: "/spec/",
		workload.StatusChange: "/status/",
	}
	for kind, part := range parts {
		if after.Kind == workload.Create {
			break
		}
		// Other parts may note the modification in passing: the status names the image and the generation.
		if want := kind == after.Kind; changed(part) != want && (want || part != "/status/") {
			t.Errorf("%s: %s changed: %v", what, part, !want)
		}
	}
}

// Ensures that modifications applied round by round have versions in order, each of them once.
func TestGenerator_Change_VersionsInOrder(t *testing.T) {
	g := workload.New(workload.Options{Pods: 50})
	last := ""
	for n := range 8 {
		for i := range g.Count(workload.Pods) {
			v := g.Change(workload.Pods, i, n).Object.GetResourceVersion()
			if order, ok := object.CompareVersions(last, v); last != "" && (!ok || order >= 0) {
				t.Fatalf("pod %d, modification %d: version %s after %s", i, n, v, last)
			}
			last = v
		}
	}
}

// Ensures that a pod that is made anew starts pending and gets its address with the first change of status, and that a
// restart shows as one.
func TestGenerator_Change_PodLife(t *testing.T) {
	g := workload.New(workload.Options{Pods: 400})
	pending, restarted := 0, 0
	for i := range 100 {
		restarts := int32(0)
		for n := range 40 {
			c := g.Change(workload.Pods, i, n)
			p := c.Object.(*corev1.Pod)
			switch {
			case c.Kind == workload.Create && n > 0:
				pending++
				restarts = 0
				if p.Status.Phase != corev1.PodPending || p.Status.PodIP != "" {
					t.Fatalf("a new pod is %s at %q", p.Status.Phase, p.Status.PodIP)
				}
			case c.Kind == workload.StatusChange:
				if p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
					t.Fatalf("a pod with a status is %s at %q", p.Status.Phase, p.Status.PodIP)
				}
				s := p.Status.ContainerStatuses[0]
				if s.RestartCount > restarts {
					restarted++
					if s.Ready || s.LastTerminationState.Terminated == nil {
						t.Fatalf("restart without a trace: %v", s)
					}
				}
				restarts = s.RestartCount
			}
		}
	}
	if pending == 0 || restarted == 0 {
		t.Errorf("%d new pods, %d restarts", pending, restarted)
	}
}

func ExampleGenerator_All() {
	g := workload.New(workload.Options{Pods: 1000})
	bytes := 0
	for pod := range g.All(workload.Pods) {
		_, raw, err := workload.Encode(pod)
		if err != nil {
			panic(err)
		}
		bytes += len(raw)
	}
	fmt.Println(bytes/1000 > 6500, bytes/1000 < 7500)
	// Output: true true
}
