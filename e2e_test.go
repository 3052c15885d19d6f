//go:build devcluster

package tarn_test

import (
	"context"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

// wait polls a condition of a real server, which no fake clock can hurry.
func wait(t *testing.T, what string, most time.Duration, ok func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.Now().Add(most)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, most)
		}
		<-ticker.C
	}
}

// plainPods and plainObjects are the truth: one GET through client-go.
func plainPods(t *testing.T, cfg *rest.Config) map[string]*corev1.Pod {
	t.Helper()
	cfg.QPS = -1
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	hc, err := rest.HTTPClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer hc.CloseIdleConnections()
	list, err := kubernetes.NewForConfigOrDie(cfg).CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pods := make(map[string]*corev1.Pod, len(list.Items))
	for n := range list.Items {
		pods[list.Items[n].Namespace+"/"+list.Items[n].Name] = &list.Items[n]
	}
	return pods
}

func plainObjects(t *testing.T, cfg *rest.Config) map[string]*unstructured.Unstructured {
	t.Helper()
	cfg.QPS = -1
	list, err := dynamic.NewForConfigOrDie(cfg).Resource(workload.CustomObjects.GVR()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	objects := make(map[string]*unstructured.Unstructured, len(list.Items))
	for n := range list.Items {
		objects[list.Items[n].GetNamespace()+"/"+list.Items[n].GetName()] = &list.Items[n]
	}
	return objects
}

// version is what every Kubernetes object has.
type versioned interface {
	comparable
	metav1.Object
}

// sameVersions reports whether the mirror holds exactly these objects at these versions.
func sameVersions[T versioned](i *tarn.Informer[T], truth map[string]T) bool {
	if i.Len() != len(truth) {
		return false
	}
	objects, err := i.Objects()
	if err != nil {
		return false
	}
	for o := range objects {
		if want, ok := truth[o.Key]; !ok || want.GetResourceVersion() != o.Version || string(want.GetUID()) != o.UID {
			return false
		}
	}
	return true
}

// mustEqual compares every value that the mirror decodes with the truth.
func mustEqual[T versioned](t *testing.T, i *tarn.Informer[T], truth map[string]T) {
	t.Helper()
	seen := 0
	for v, err := range i.All() {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		if want := truth[v.GetNamespace()+"/"+v.GetName()]; !reflect.DeepEqual(v, want) {
			t.Fatalf("%s/%s differs:\n got %+v\nwant %+v", v.GetNamespace(), v.GetName(), v, want)
		}
	}
	if seen != len(truth) {
		t.Fatalf("%d objects, want %d", seen, len(truth))
	}
}

func quiet() tarn.HubOption { return tarn.WithLogger(slog.New(slog.DiscardHandler)) }

func newHub(t *testing.T, cfg *rest.Config, options ...tarn.HubOption) *tarn.Hub {
	t.Helper()
	hub, err := tarn.NewHub(cfg, append([]tarn.HubOption{quiet()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

func synced(t *testing.T, i interface {
	WaitSynced(context.Context) error
},
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := i.WaitSynced(ctx); err != nil {
		t.Fatal(err)
	}
}

// servers are the API servers that tarn has to work with: the newest, and one that acts as 1.34 without streaming lists.
var servers = map[string][]devcluster.Option{"newest": nil, "as-1.34": {devcluster.Emulate134()}}

// fill stores the generator's pods and custom objects; their namespaces and definition go through the API.
func fill(t *testing.T, cluster *devcluster.Cluster, g *workload.Generator) {
	t.Helper()
	definitions := workload.New(workload.Options{Pods: -1, CustomObjects: -1})
	err := workload.Fill(t.Context(), cluster.Config(), definitions, workload.FillOptions{Kinds: []workload.Kind{workload.CustomObjects}})
	if err == nil {
		err = workload.Store(t.Context(), cluster.EtcdURL(), g, workload.Pods, workload.CustomObjects)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// readings counts the requests for the pods by how they read them.
type readings struct {
	next http.RoundTripper
	mu   sync.Mutex
	of   map[string]int
}

func (r *readings) RoundTrip(q *http.Request) (*http.Response, error) {
	if strings.HasSuffix(q.URL.Path, "/pods") {
		how := "list"
		switch query := q.URL.Query(); {
		case query.Has("sendInitialEvents"):
			how = "stream"
		case query.Has("watch"):
			how = "watch"
		case query.Has("continue"):
			how = "page"
		}
		r.mu.Lock()
		r.of[how]++
		r.mu.Unlock()
	}
	return r.next.RoundTrip(q)
}

func (r *readings) WrappedRoundTripper() http.RoundTripper { return r.next }

// Ensures that 5,000 pods and 500 custom objects mirrored by list, by paged list and by streaming list are what a plain
// GET returns, in both encodings and both layouts, and that they were read that way.
func TestInformer_Server_SameAsGet(t *testing.T) {
	plain := []tarn.Option{tarn.NoStreamingList(), tarn.PageSize(-1)}
	type way struct {
		options []tarn.Option
		want    string // the requests for the pods, but the watch
	}
	pages := map[string]way{"paged": {[]tarn.Option{tarn.NoStreamingList(), tarn.PageSize(500)}, "map[list:1 page:9]"}}
	uncached := devcluster.WithoutWatchCache()
	for name, server := range map[string]struct {
		options []devcluster.Option
		ways    map[string]way
	}{
		"newest": {servers["newest"], map[string]way{
			"list": {plain, "map[list:1]"}, "streaming": {nil, "map[stream:1]"}, "live": {[]tarn.Option{tarn.Live()}, "map[stream:1]"},
		}},
		"as-1.34": {servers["as-1.34"], map[string]way{
			"list": {plain, "map[list:1]"}, "streaming": {nil, "map[list:1 stream:1]"}, "live": {[]tarn.Option{tarn.Live()}, "map[list:1 stream:1]"},
		}},
		// A server that has a cache answers the first list from it, and then in one piece.
		"newest, uncached":  {append(servers["newest"], uncached), pages},
		"as-1.34, uncached": {append(servers["as-1.34"], uncached), pages},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := devcluster.Start(t, server.options...)
			g := workload.New(workload.Options{Seed: 11, Pods: 5000, CustomObjects: 500})
			fill(t, cluster, g)
			pods, objects := plainPods(t, cluster.Config()), plainObjects(t, cluster.Config())
			if len(pods) != 5000 || len(objects) != 500 {
				t.Fatalf("the server has %d pods and %d custom objects", len(pods), len(objects))
			}
			for how, way := range server.ways {
				t.Run(how, func(t *testing.T) {
					read := &readings{of: map[string]int{}}
					cfg := cluster.Config()
					cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { read.next = next; return read })
					hub := newHub(t, cfg)
					p, err := tarn.For[*corev1.Pod](hub, way.options...)
					if err != nil {
						t.Fatal(err)
					}
					o, err := tarn.For[*unstructured.Unstructured](hub, append(slices.Clone(way.options), tarn.GVR(workload.CustomObjects.GVR()))...)
					if err != nil {
						t.Fatal(err)
					}
					run(t, p)
					run(t, o)
					synced(t, p)
					synced(t, o)
					mustEqual(t, p, pods)
					mustEqual(t, o, objects)
					read.mu.Lock()
					defer read.mu.Unlock()
					delete(read.of, "watch")
					expect(t, "read by", read.of, way.want)
				})
			}
		})
	}
}

// Ensures that a name and a type that do not fit each other are told by the wait for sync, with both.
func TestFor_Server_OtherKind(t *testing.T) {
	hub := newHub(t, devcluster.Shared(t).Config())
	i, err := tarn.For[*corev1.Pod](hub, tarn.Resource("cm"))
	if err != nil {
		t.Fatal(err)
	}
	run(t, i)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	wait(t, "the failure", time.Minute, func() bool { return i.Status().Scopes[0].Err != nil })
	cancel()
	if err := i.WaitSynced(ctx); err == nil || !strings.Contains(err.Error(), "ConfigMap") || !strings.Contains(err.Error(), "*v1.Pod") {
		t.Errorf("%v", err)
	}
}
