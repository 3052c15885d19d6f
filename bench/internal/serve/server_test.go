package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/bench/internal/serve"
	"github.com/tarn-dev/tarn/internal/workload"
)

// start serves a collection until the test ends.
func start(t *testing.T, spec serve.Spec) (*rest.Config, serve.Client) {
	t.Helper()
	s, err := serve.New(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(s)
	t.Cleanup(func() {
		h.CloseClientConnections()
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		h.Close()
	})
	return &rest.Config{Host: h.URL}, serve.Client{URL: h.URL}
}

// reader reads a collection in one encoding; object makes what it holds comparable.
type reader struct {
	list  func(metav1.ListOptions) (items []metav1.Object, meta metav1.ListInterface, err error)
	watch func(metav1.ListOptions) (watch.Interface, error)
}

// typed reads protobuf, untyped JSON.
func typed(t *testing.T, cfg *rest.Config) reader {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("")
	return reader{
		func(o metav1.ListOptions) (items []metav1.Object, _ metav1.ListInterface, _ error) {
			l, err := pods.List(t.Context(), o)
			if err != nil {
				return nil, nil, err
			}
			for i := range l.Items {
				items = append(items, &l.Items[i])
			}
			return items, l, nil
		},
		func(o metav1.ListOptions) (watch.Interface, error) { return pods.Watch(t.Context(), o) },
	}
}

func untyped(t *testing.T, cfg *rest.Config, kind workload.Kind) reader {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(kind.GVR())
	return reader{
		func(o metav1.ListOptions) (items []metav1.Object, _ metav1.ListInterface, _ error) {
			l, err := objects.List(t.Context(), o)
			if err != nil {
				return nil, nil, err
			}
			for i := range l.Items {
				items = append(items, &l.Items[i])
			}
			return items, l, nil
		},
		func(o metav1.ListOptions) (watch.Interface, error) { return objects.Watch(t.Context(), o) },
	}
}

// initial reads the initial events of a streaming list, up to the bookmark, whose version it returns.
func (r reader) initial(t *testing.T) (w watch.Interface, items []metav1.Object, version string) {
	t.Helper()
	yes := true
	w, err := r.watch(metav1.ListOptions{SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	for e := range w.ResultChan() {
		o := e.Object.(metav1.Object)
		switch e.Type {
		case watch.Added:
			items = append(items, o)
		case watch.Bookmark:
			if o.GetAnnotations()[metav1.InitialEventsAnnotationKey] != "true" {
				t.Fatalf("bookmark without the annotation: %v", o)
			}
			return w, items, o.GetResourceVersion()
		default:
			t.Fatalf("%s among the initial events", e.Type)
		}
	}
	t.Fatal("no bookmark")
	return nil, nil, ""
}

// Ensures that a list, the pages of a list and a streaming list hold the same objects at the same version, which are the
// generator's, in both encodings.
func TestServer_Lists_Agree(t *testing.T) {
	const n = 70
	for _, kind := range []workload.Kind{workload.Pods, workload.CustomObjects} {
		cfg, _ := start(t, serve.Spec{Kind: kind, Objects: n, Drift: 1, JSON: true, Protobuf: kind == workload.Pods})
		readers := map[string]reader{"json": untyped(t, cfg, kind)}
		if kind == workload.Pods {
			readers["protobuf"] = typed(t, cfg)
		}
		for name, r := range readers {
			t.Run(fmt.Sprint(kind, " ", name), func(t *testing.T) {
				whole, meta, err := r.list(metav1.ListOptions{})
				if err != nil || len(whole) != n {
					t.Fatalf("%d objects, %v", len(whole), err)
				}
				var paged []metav1.Object
				for token, more := "", true; more; more = token != "" {
					page, m, err := r.list(metav1.ListOptions{Limit: 30, Continue: token})
					if err != nil || m.GetResourceVersion() != meta.GetResourceVersion() {
						t.Fatalf("page at %q: version %q, %v", token, m.GetResourceVersion(), err)
					}
					paged = append(paged, page...)
					token = m.GetContinue()
				}
				_, streamed, version := r.initial(t)
				if version != meta.GetResourceVersion() {
					t.Errorf("the streaming list is at %s, the list at %s", version, meta.GetResourceVersion())
				}
				// Typed items of a list carry no kind, those of a watch do.
				for _, all := range [][]metav1.Object{whole, paged, streamed} {
					for _, o := range all {
						if p, ok := o.(*corev1.Pod); ok {
							p.TypeMeta = metav1.TypeMeta{}
						}
					}
				}
				if diff := cmp.Diff(whole, paged); diff != "" {
					t.Errorf("pages: %s", diff)
				}
				if diff := cmp.Diff(whole, streamed); diff != "" {
					t.Errorf("streaming list: %s", diff)
				}
				made := map[string]types.UID{}
				for o := range workload.New(workload.Options{Pods: n, CustomObjects: n}).All(kind) {
					made[keyOf(o)] = o.GetUID()
				}
				versions := map[string]bool{}
				for i, o := range whole {
					if made[keyOf(o)] != o.GetUID() {
						t.Errorf("%s is not one of the generator's", keyOf(o))
					}
					if i > 0 && keyOf(whole[i-1]) >= keyOf(o) {
						t.Errorf("%s comes before %s: lists are in the order of keys", keyOf(whole[i-1]), keyOf(o))
					}
					versions[o.GetResourceVersion()] = true
				}
				if len(versions) != n {
					t.Errorf("%d versions of %d objects", len(versions), n)
				}
			})
		}
	}
}

func keyOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

// Ensures that a burst comes to watches complete, in order and with the sentinel behind it, also where it is longer than
// what was made in advance, and that a list afterwards has the same objects.
func TestServer_Burst_InOrder(t *testing.T) {
	const n, burst = 20, 130
	cfg, control := start(t, serve.Spec{Kind: workload.Pods, Objects: n, Drift: 1, Burst: 50, Protobuf: true})
	r := typed(t, cfg)
	w, items, last := r.initial(t)
	state := map[string]string{}
	for _, o := range items {
		state[keyOf(o)] = o.GetResourceVersion()
	}
	sentinel, err := control.Burst(t.Context(), burst, 0)
	if err != nil {
		t.Fatal(err)
	}
	modified := 0
	for e := range w.ResultChan() {
		o := e.Object.(metav1.Object)
		key := o.GetNamespace() + "/" + o.GetName()
		if o.GetResourceVersion() <= last {
			t.Fatalf("version %s after %s", o.GetResourceVersion(), last)
		}
		last = o.GetResourceVersion()
		_, known := state[key]
		state[key] = last
		if e.Type == watch.Added && key == sentinel {
			break
		}
		if modified++; e.Type != watch.Modified || !known {
			t.Fatalf("%s %s", e.Type, key)
		}
	}
	if modified != burst {
		t.Errorf("%d modifications of %d", modified, burst)
	}
	whole, _, err := r.list(metav1.ListOptions{})
	if err != nil || len(whole) != len(state) {
		t.Fatalf("%d objects, %v", len(whole), err)
	}
	for _, o := range whole {
		if key := o.GetNamespace() + "/" + o.GetName(); state[key] != o.GetResourceVersion() {
			t.Errorf("%s is %s in the list, %s by the watch", key, o.GetResourceVersion(), state[key])
		}
	}
}

// Ensures that a burst can be kept to few objects.
func TestServer_Burst_Set(t *testing.T) {
	cfg, control := start(t, serve.Spec{Kind: workload.Pods, Objects: 50, Drift: 1, Burst: 50, Protobuf: true})
	w, _, _ := typed(t, cfg).initial(t)
	sentinel, err := control.Burst(t.Context(), 40, 4)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for e := range w.ResultChan() {
		o := e.Object.(metav1.Object)
		if keyOf(o) == sentinel {
			break
		}
		seen[o.GetName()]++
	}
	if len(seen) != 4 {
		t.Errorf("%d objects were modified: %v", len(seen), seen)
	}
}

// Ensures that a relist ends watches with 410, refuses the versions before it, and shows as changed what it says.
func TestServer_Relist(t *testing.T) {
	cfg, control := start(t, serve.Spec{Kind: workload.Pods, Objects: 250, Drift: 1, Protobuf: true})
	r := typed(t, cfg)
	w, items, version := r.initial(t)
	before := map[string]string{}
	for _, o := range items {
		before[string(o.GetUID())] = o.GetResourceVersion()
	}
	changed, err := control.Relist(t.Context())
	if err != nil || changed == 0 || changed > 3 {
		t.Fatalf("%d changed, %v", changed, err)
	}
	expired := func(w watch.Interface) {
		t.Helper()
		e, ok := <-w.ResultChan()
		if !ok || e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Fatalf("%v %v", e, ok)
		}
	}
	expired(w)
	if w, err = r.watch(metav1.ListOptions{ResourceVersion: version}); err != nil {
		t.Fatal(err)
	}
	expired(w)
	_, items, version = r.initial(t)
	differ := slices.DeleteFunc(items, func(o metav1.Object) bool { return before[string(o.GetUID())] == o.GetResourceVersion() })
	if len(differ) != changed {
		t.Errorf("%d objects differ, %d changed", len(differ), changed)
	}
	if err := control.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	items, _, err = r.list(metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range items {
		if before[string(o.GetUID())] != o.GetResourceVersion() {
			t.Errorf("%s is not as at first", o.GetName())
		}
	}
	if w, err = r.watch(metav1.ListOptions{ResourceVersion: version}); err != nil {
		t.Fatal(err)
	}
	expired(w)
}

// Ensures that secrets have the random data that the benchmark promises, and that they do not repeat.
func TestServer_Secrets(t *testing.T) {
	cfg, _ := start(t, serve.Spec{Kind: workload.Secrets, Objects: 40, JSON: true})
	items, _, err := untyped(t, cfg, workload.Secrets).list(metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, o := range items {
		data, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "data", "key")
		if len(data) < 4096*4/3 || seen[data] {
			t.Fatalf("%d bytes of base64, repeated: %v", len(data), seen[data])
		}
		seen[data] = true
	}
}

// Ensures that requests that cannot be answered are refused, and not answered with something else.
func TestServer_Refused(t *testing.T) {
	cfg, control := start(t, serve.Spec{Kind: workload.Pods, Objects: 3, Protobuf: true})
	if _, _, err := untyped(t, cfg, workload.Pods).list(metav1.ListOptions{}); !apierrors.IsNotAcceptable(err) {
		t.Errorf("JSON that was not made: %v", err)
	}
	r := typed(t, cfg)
	if _, _, err := r.list(metav1.ListOptions{LabelSelector: "a=b"}); !apierrors.IsBadRequest(err) {
		t.Errorf("selector: %v", err)
	}
	if _, _, err := r.list(metav1.ListOptions{Continue: "x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("token: %v", err)
	}
	if _, err := control.Burst(t.Context(), -1, 0); err == nil {
		t.Error("a burst of -1")
	}
	if _, err := serve.New(t.Context(), serve.Spec{Kind: workload.CustomObjects, Objects: 1, Protobuf: true}); err == nil {
		t.Error("custom objects in protobuf")
	}
	if _, err := serve.New(t.Context(), serve.Spec{}); err == nil {
		t.Error("no objects")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := serve.New(ctx, serve.Spec{Kind: workload.Pods, Objects: 5000, Protobuf: true}); err == nil {
		t.Error("made after the end")
	}
}
