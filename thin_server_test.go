//go:build devcluster

package tarn_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

// Ensures that slim types, thinned objects of a Go type and thinned unstructured ones are what the server has, in the
// fields that they have, from both encodings, by list, streaming list and watch.
func TestFor_Server_Thin(t *testing.T) {
	cluster := devcluster.Start(t)
	fill(t, cluster, workload.New(workload.Options{Seed: 5, Pods: 300, CustomObjects: 40}))
	truth := plainPods(t, cluster.Config())
	client := kubernetes.NewForConfigOrDie(cluster.Config())
	some := "" // which is changed later
	for key := range truth {
		some = max(some, key)
	}
	namespace, name, _ := strings.Cut(some, "/")
	for how, options := range map[string][]tarn.Option{"list": {tarn.NoStreamingList()}, "streaming": nil} {
		t.Run(how, func(t *testing.T) {
			hub := newHub(t, cluster.Config())
			lite, err := tarn.For[*podLite](hub, append(options, tarn.Resource("pods"), tarn.Keep("metadata", "spec.nodeName", "spec.containers[*].image"))...)
			must(t, err)
			thin, err := tarn.For[*corev1.Pod](hub, append(options, tarn.Drop("metadata.managedFields", "status"), tarn.Partial())...)
			must(t, err)
			loose, err := tarn.For[*unstructured.Unstructured](hub, append(options, tarn.Resource("pods"), tarn.Keep("spec.nodeName"), tarn.Partial())...)
			must(t, err)
			for _, i := range []interface {
				inStep(t *testing.T)
			}{running[*podLite]{lite}, running[*corev1.Pod]{thin}, running[*unstructured.Unstructured]{loose}} {
				i.inStep(t)
			}
			check := func(want *corev1.Pod) {
				t.Helper()
				key := want.Namespace + "/" + want.Name
				l, ok, err := lite.Get(key)
				if err != nil || !ok || l.UID != want.UID || l.Labels["step"] != want.Labels["step"] || l.Spec.NodeName != want.Spec.NodeName ||
					len(l.Spec.Containers) != len(want.Spec.Containers) || l.Spec.Containers[0].Image != want.Spec.Containers[0].Image || len(l.ManagedFields) != len(want.ManagedFields) {
					t.Fatalf("slim: %+v, %v, want %+v", l, err, want)
				}
				p, _, err := thin.Get(key)
				if err != nil || p.ManagedFields != nil || p.Status.Phase != "" || p.Labels["step"] != want.Labels["step"] || len(p.Spec.Volumes) != len(want.Spec.Volumes) || !tarn.IsPartial(p) {
					t.Fatalf("thin: %+v, %v, want %+v", p, err, want)
				}
				u, _, err := loose.Get(key)
				if err != nil || u.GetKind() != "Pod" || u.GetLabels()["step"] != want.Labels["step"] || len(u.Object["spec"].(map[string]any)) > 1 || u.Object["status"] != nil || !tarn.IsPartial(u) {
					t.Fatalf("unstructured: %v, %v", u, err)
				}
			}
			if lite.Len() != 300 {
				t.Fatalf("%d pods", lite.Len())
			}
			for _, want := range truth {
				check(want)
			}
			patch := []byte(`{"metadata":{"labels":{"step":"` + how + `"}}}`)
			changed, err := client.CoreV1().Pods(namespace).Patch(t.Context(), name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
			must(t, err)
			wait(t, "the change", 30*time.Second, func() bool {
				a, _, _ := lite.Get(some)
				b, _, _ := thin.Get(some)
				c, _, _ := loose.Get(some)
				return a.ResourceVersion == changed.ResourceVersion && b.ResourceVersion == changed.ResourceVersion && c.GetResourceVersion() == changed.ResourceVersion
			})
			check(changed)
			truth[some] = changed
			if st := lite.Status(); st.Bytes > 300*6000 || st.Kept.Alone+st.Kept.Siblings != 300 {
				t.Errorf("%d bytes are kept of 300 pods: %+v", st.Bytes, st.Kept)
			}
		})
	}
}

// running is an informer that is run and waited for.
type running[T any] struct{ i *tarn.Informer[T] }

func (r running[T]) inStep(t *testing.T) {
	t.Helper()
	run(t, r.i)
	synced(t, r.i)
}
