//go:build devcluster

package tarn_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// Ensures (case 16) that Run returns at once while the informer is in a long backoff, and while a server does not
// answer the request for a list.
func TestCase16_Server_EndDuringBackoff(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for mode, options := range modes {
		for name, fault := range map[string]func(*stage) func(*subject) bool{
			"refused": func(st *stage) func(*subject) bool {
				st.proxy.Refuse()
				return func(u *subject) bool { return u.Status().Scopes[0].Phase == reflector.Waiting.String() }
			},
			"starting": func(st *stage) func(*subject) bool {
				rule := st.proxy.Add(faultproxy.Rule{Match: isConfigMaps, Answer: hang})
				return func(*subject) bool { return rule.Hits() > 0 }
			},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
				reached := fault(st)
				u := st.inform(append(options, tarn.Backoff(func() time.Duration { return 30 * time.Second }))...)
				wait(t, "stuck", 20*time.Second, func() bool { return reached(u) })
				began := time.Now()
				u.stop()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("Run returned after %v", took)
				}
			})
		}
	}
}

// Ensures (case 21) that a Table, here from the real server because the user's transport asks for one, is never stored:
// as a list it is an error, in a watch it is reported and skipped, and the version stays.
func TestCase21_Server_Table(t *testing.T) {
	t.Parallel()
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			asks := &tableTransport{}
			asks.on.Store(true)
			cfg := st.proxy.Config()
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { asks.next = next; return asks })
			u := st.informAs(cfg, options...)
			u.says("a Table", is(source.ErrTable))
			if u.HasSynced() || u.Len() > 0 {
				t.Fatalf("synced %v, with %d objects", u.HasSynced(), u.Len())
			}
			asks.on.Store(false)
			st.proxy.Cut() // a streaming list of Tables would wait for its end for 30 s
			u.inStep()

			before, v := len(u.said()), u.version()
			asks.on.Store(true)
			st.proxy.Cut()
			st.put("a", "second")
			wait(t, "reported a Table in the watch", 20*time.Second, func() bool {
				for _, err := range u.said()[before:] {
					if errors.Is(err, source.ErrTable) {
						return true
					}
				}
				return false
			})
			if u.version() != v || u.Len() != 2 {
				t.Errorf("at version %s with %d objects, want %s with 2", u.version(), u.Len(), v)
			}
			asks.on.Store(false)
			st.proxy.Cut()
			u.inStep()
		})
	}
}

// tableTransport asks for Tables while it is on.
type tableTransport struct {
	next http.RoundTripper
	on   atomic.Bool
}

func (a *tableTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.on.Load() && strings.HasSuffix(r.URL.Path, "/"+configMaps) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	}
	return a.next.RoundTrip(r)
}

func (a *tableTransport) WrappedRoundTripper() http.RoundTripper { return a.next }

// Ensures (case 25) that a transform which fails for one object of a watch is reported with its key, and the object is
// kept and marked; nothing is listed because of it; its next event and the next relist try it again.
func TestCase25_Server_OneBadObject(t *testing.T) {
	t.Parallel()
	bad := errors.New("does not fit")
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			var strict atomic.Bool
			strict.Store(true)
			u := st.inform(append(options, tarn.Transform(func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				if strict.Load() && m.Data["value"] == "bad" {
					return nil, bad
				}
				return m, nil
			}))...)
			u.inStep()
			st.reads(mode, "0")
			versions := map[string]string{st.ns + "/a": st.put("a", "bad"), st.ns + "/b": st.put("b", "bad")}
			st.put("c", "good") // behind the bad ones
			u.inStep()
			u.says("the key", func(err error) bool { return errors.Is(err, bad) && strings.Contains(err.Error(), st.ns+"/a") })
			failed := u.Status().Failed
			for _, f := range failed {
				if !errors.Is(f.Err, bad) || versions[f.Key] != f.Version {
					t.Errorf("failed: %+v", f)
				}
			}
			if len(failed) != 2 {
				t.Fatalf("%d objects failed, want 2: %+v", len(failed), failed)
			}
			st.put("a", "good")
			u.inStep()
			if failed := u.Status().Failed; len(failed) != 1 || failed[0].Key != st.ns+"/b" {
				t.Errorf("after a good event of a, there failed %+v", failed)
			}
			st.calls()
			strict.Store(false)
			v := u.version()
			st.expire()
			wait(t, "the relist tried again", 20*time.Second, func() bool { return len(u.Status().Failed) == 0 })
			st.calls("watch@" + v)
			st.reads(mode, v)
			u.inStep()
			n := 0
			for _, err := range u.said() {
				if errors.Is(err, bad) {
					n++
				}
			}
			if n != 2 {
				t.Errorf("reported %d times, want once for each of 2 versions: %v", n, u.said())
			}
		})
	}
}

// define makes a custom resource of example.com whose objects may hold anything, and returns those of the stage's namespace.
func define(t *testing.T, st *stage, plural, kind string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(devcluster.Shared(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + ".example.com"},
		"spec": map[string]any{
			"group": "example.com", "scope": "Namespaced", "names": map[string]any{"plural": plural, "kind": kind},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			}},
		},
	}}
	if _, err := definitions.Create(t.Context(), definition, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := definitions.Delete(context.Background(), definition.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	return client.Resource(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: plural}).Namespace(st.ns)
}

// Ensures (case 39) that a custom resource whose stored JSON does not fit the Go type is an error with its key, listed or
// watched, and that every other object syncs.
func TestCase39_Server_BadObject(t *testing.T) {
	t.Parallel()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	gizmos := define(t, st, "gizmos", "Gizmo")
	create := func(name string, size any) {
		t.Helper()
		gizmo := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": map[string]any{"name": name}, "spec": map[string]any{"size": size},
		}}
		wait(t, name, 20*time.Second, func() bool { // the definition takes a moment
			_, err := gizmos.Create(t.Context(), gizmo, metav1.CreateOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	create("bad-listed", "many")
	create("good-listed", int64(1))
	running := map[string]*tarn.Informer[*Widget]{}
	for mode, options := range modes {
		for layout, also := range map[string][]tarn.Option{"raw": nil, "live": {tarn.Live()}} {
			options := append(slices.Concat(options, also), tarn.Resource("gizmos.example.com"), tarn.Namespace(st.ns))
			i, err := tarn.For[*Widget](newHub(t, st.proxy.Config()), options...)
			if err != nil {
				t.Fatal(err)
			}
			run(t, i)
			running[mode+"/"+layout] = i
		}
	}
	for _, i := range running {
		synced(t, i)
	}
	create("bad-watched", "more")
	create("good-watched", int64(2))
	for name, i := range running {
		wait(t, name+": all of them", 20*time.Second, func() bool { return i.Len() == 4 })
		good, bad := map[string]int{}, ""
		for w, err := range i.All() {
			if err != nil {
				bad += err.Error() + "\n"
				continue
			}
			good[w.Name] = w.Spec.Size
		}
		expect(t, name+": good", good, map[string]int{"good-listed": 1, "good-watched": 2})
		var failed []string
		for _, f := range i.Status().Failed {
			failed = append(failed, f.Key)
		}
		expect(t, name+": failed", failed, []string{st.ns + "/bad-listed", st.ns + "/bad-watched"})
		for _, key := range failed {
			if !strings.Contains(bad, key) {
				t.Errorf("%s: %s is not named in %q", name, key, bad)
			}
		}
	}
}
