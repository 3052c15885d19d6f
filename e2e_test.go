//go:build devcluster

package tarn_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
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
}) {
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

// Ensures that 5,000 pods and 500 custom objects mirrored by list, by paged list and by streaming list are what a plain
// GET returns, in both encodings and both layouts.
func TestInformer_Server_SameAsGet(t *testing.T) {
	for name, options := range servers {
		t.Run(name, func(t *testing.T) {
			cluster := devcluster.Start(t, options...)
			g := workload.New(workload.Options{Seed: 11, Pods: 5000, CustomObjects: 500})
			fill(t, cluster, g)
			pods, objects := plainPods(t, cluster.Config()), plainObjects(t, cluster.Config())
			if len(pods) != 5000 || len(objects) != 500 {
				t.Fatalf("the server has %d pods and %d custom objects", len(pods), len(objects))
			}
			for how, options := range map[string][]tarn.Option{
				"list": {tarn.NoStreamingList(), tarn.PageSize(-1)}, "paged": {tarn.NoStreamingList(), tarn.PageSize(500)},
				"streaming": nil, "live": {tarn.Live()},
			} {
				t.Run(how, func(t *testing.T) {
					hub := newHub(t, cluster.Config())
					p, err := tarn.For[*corev1.Pod](hub, options...)
					if err != nil {
						t.Fatal(err)
					}
					o, err := tarn.For[*unstructured.Unstructured](hub, append(options, tarn.GVR(workload.CustomObjects.GVR()))...)
					if err != nil {
						t.Fatal(err)
					}
					run(t, p)
					run(t, o)
					synced(t, p)
					synced(t, o)
					mustEqual(t, p, pods)
					mustEqual(t, o, objects)
				})
			}
		})
	}
}

// replay is a handler that keeps a copy of the collection from nothing but its events, and checks that each fits.
type replay[T any] struct {
	mu       sync.Mutex
	versions map[string]string
	uids     map[string]string
	wrong    []string
	events   atomic.Int64
	slow     func()
}

func newReplay[T any](slow func()) *replay[T] {
	return &replay[T]{versions: map[string]string{}, uids: map[string]string{}, slow: slow}
}

func (r *replay[T]) Handle(_ context.Context, e tarn.Event[T]) {
	r.events.Add(1)
	if r.slow != nil {
		r.slow()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.versions[e.Key]
	complain := func(why string) {
		if len(r.wrong) < 5 {
			r.wrong = append(r.wrong, fmt.Sprintf("%s %s: %s", e.Type, e.Key, why))
		}
	}
	if e.Type == tarn.Added {
		if ok {
			complain("known already")
		}
	} else {
		switch {
		case !ok:
			complain("not known")
		case e.Before().Version != known || e.Before().UID != r.uids[e.Key]:
			complain(fmt.Sprintf("from %s, but saw %s last", e.Before().Version, known))
		}
	}
	if e.Type == tarn.Deleted {
		delete(r.versions, e.Key)
		delete(r.uids, e.Key)
		return
	}
	r.versions[e.Key], r.uids[e.Key] = e.After().Version, e.After().UID
}

// matches reports whether what the events add up to is what the mirror holds.
func matches[T any](r *replay[T], i *tarn.Informer[T]) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.versions) != i.Len() {
		return false
	}
	for key, version := range r.versions {
		if o, ok := i.Object(key); !ok || o.Version != version {
			return false
		}
	}
	return true
}

// watched is one informer under test, with three subscriptions: one from the start, one that falls behind, one late.
type watched[T versioned] struct {
	i       *tarn.Informer[T]
	handler []*replay[T]
	subs    []*tarn.Subscription
}

func watchAll[T versioned](t *testing.T, hub *tarn.Hub, options ...tarn.Option) *watched[T] {
	t.Helper()
	w := &watched[T]{}
	i, err := tarn.For[T](hub, append(options, tarn.Backoff(func() time.Duration { return 50 * time.Millisecond }))...)
	if err != nil {
		t.Fatal(err)
	}
	w.i = i
	w.subscribe(t, nil)
	w.subscribe(t, slowly(), tarn.Backlog(200, 0))
	run(t, i)
	return w
}

// slowly makes a handler lag: every now and then it takes a while.
func slowly() func() {
	n := 0
	return func() {
		if n++; n%100 == 0 {
			time.Sleep(100 * time.Millisecond) // the handler's own work, not a wait for something
		}
	}
}

func (w *watched[T]) subscribe(t *testing.T, slow func(), options ...tarn.SubscribeOption) {
	t.Helper()
	r := newReplay[T](slow)
	s, err := w.i.Subscribe(r, options...)
	if err != nil {
		t.Fatal(err)
	}
	w.handler, w.subs = append(w.handler, r), append(w.subs, s)
}

func (w *watched[T]) check(t *testing.T, name string, truth map[string]T) {
	t.Helper()
	wait(t, name+" in step", time.Minute, func() bool { return sameVersions(w.i, truth) })
	mustEqual(t, w.i, truth)
	for n, r := range w.handler {
		wait(t, fmt.Sprintf("%s: subscription %d", name, n), time.Minute, func() bool { return matches(r, w.i) })
		st := w.subs[n].Status()
		t.Logf("%s: subscription %d: %d events, %d conflated", name, n, r.events.Load(), st.Conflated)
		for _, wrong := range r.wrong {
			t.Errorf("%s: subscription %d: %s", name, n, wrong)
		}
	}
}

// Ensures that after 50,000 random changes in each encoding, with forced disconnects, real 410s and server restarts, the
// mirror is what the server has, and what each subscription was told adds up to the mirror.
func TestInformer_Server_Turmoil(t *testing.T) {
	const changes, throughAPI, disconnects, expiries = 50_000, 500, 20, 5
	for name, options := range servers {
		t.Run(name, func(t *testing.T) {
			cluster := devcluster.Start(t, options...)
			g := workload.New(workload.Options{Seed: 5, Pods: 1000, CustomObjects: 300})
			fill(t, cluster, g)
			proxy, err := faultproxy.New(cluster.Config(), faultproxy.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(proxy.Close)
			hub := newHub(t, proxy.Config())
			var expired atomic.Int64
			count := tarn.OnError(func(err error) {
				if isExpired(err) {
					expired.Add(1)
				}
			})
			pods := watchAll[*corev1.Pod](t, hub, count)
			objects := watchAll[*unstructured.Unstructured](t, hub, tarn.GVR(workload.CustomObjects.GVR()), count)
			synced(t, pods.i)
			synced(t, objects.i)

			// Most changes are written past the API server, which can tell of more than it can be asked for; some go through it.
			var churn sync.WaitGroup
			var done [2]atomic.Int64
			direct, etcd := cluster.Config(), cluster.EtcdURL()
			change := func(n int, o workload.ChurnOptions, total int) {
				o.Mix = workload.Mix{Status: 50, Label: 15, Annotation: 10, Spec: 5, Delete: 10, Create: 10}
				for accepted := 0; accepted < total && t.Context().Err() == nil; {
					before, last := accepted, accepted
					o.Limit, o.Seed = total-accepted, uint64(total-accepted)
					o.Progress = func(c workload.ChurnCounts) {
						accepted = before + c.Accepted()
						done[n].Add(int64(accepted - last))
						last = accepted
					}
					if _, err := workload.Churn(t.Context(), direct, g, o); err != nil {
						t.Error(err)
						return
					}
				}
			}
			for n, kind := range []workload.Kind{workload.Pods, workload.CustomObjects} {
				churn.Go(func() {
					change(n, workload.ChurnOptions{Rate: 1000, Kind: kind, EtcdURL: etcd}, changes-throughAPI)
				})
				churn.Go(func() { change(n, workload.ChurnOptions{Rate: 20, Kind: kind}, throughAPI) })
			}
			finished := make(chan struct{})
			go func() { churn.Wait(); close(finished) }()

			for step := range disconnects { // spread over the changes
				wait(t, "changes", 3*time.Minute, func() bool {
					return done[0].Load()+done[1].Load() >= int64(2*changes*(step+1)/(disconnects+2))
				})
				proxy.Cut()
				if step%4 == 3 { // five times: the informers miss changes, and the history that they missed
					proxy.Refuse()
					missed := done[0].Load() + done[1].Load()
					wait(t, "changes that are missed", time.Minute, func() bool { return done[0].Load()+done[1].Load() > missed+100 })
					if _, err := cluster.Compact(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := cluster.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
					if err := proxy.Heal(); err != nil {
						t.Fatal(err)
					}
				}
				if step == 6 || step == 14 {
					if err := cluster.Restart(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				t.Logf("step %d: %d and %d changes", step, done[0].Load(), done[1].Load())
				if step == disconnects/2 {
					pods.subscribe(t, nil)
					objects.subscribe(t, nil)
				}
			}
			<-finished
			pods.check(t, "pods", plainPods(t, cluster.Config()))
			objects.check(t, "custom objects", plainObjects(t, cluster.Config()))
			t.Logf("%d and %d changes, %d times 410", done[0].Load(), done[1].Load(), expired.Load())
			if n := expired.Load(); n < expiries {
				t.Errorf("only %d real 410s, want %d", n, expiries)
			}
			for _, s := range []*tarn.Subscription{pods.subs[1], objects.subs[1]} {
				if s.Status().Conflated == 0 {
					t.Error("the slow subscription was never conflated: nothing was tested")
				}
			}
		})
	}
}

func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
