//go:build devcluster

package tarn_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
	"github.com/tarn-dev/tarn/internal/workload"
)

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
	i, err := tarn.For[T](hub, append(byLayout(options), tarn.Backoff(func() time.Duration { return 50 * time.Millisecond }))...)
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

// change has the churn program change the cluster, and adds what was accepted to done as it goes.
func change(t *testing.T, program string, group *sync.WaitGroup, done *atomic.Int64, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	group.Go(func() {
		var last int64
		for lines := bufio.NewScanner(out); lines.Scan(); {
			n, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				t.Error(err)
			}
			done.Add(n - last)
			last = n
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("churn %q: %v", args, err)
		}
	})
}

// churnProgram builds the churn program without the race detector.
func churnProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "churn")
	if out, err := exec.Command("go", "build", "-o", program, "./internal/workload/churn").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
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
			decoded := watchAll[*corev1.Pod](t, hub, tarn.Live()) // the other layout; its 410s are not counted
			objects := watchAll[*unstructured.Unstructured](t, hub, tarn.GVR(workload.CustomObjects.GVR()), count)
			synced(t, pods.i)
			synced(t, decoded.i)
			synced(t, objects.i)

			// Most changes are written past the API server, which can tell of more than it can be asked for; some go through it.
			program := churnProgram(t)
			var churn sync.WaitGroup
			var done [2]atomic.Int64
			for n, kind := range []string{"-custom=false", "-custom=true"} {
				seed := []string{kind, "-kubeconfig", cluster.Kubeconfig(), "-seed=5", "-pods=1000", "-objects=300"}
				direct := []string{"-etcd", cluster.EtcdURL(), "-rate=1500", fmt.Sprintf("-total=%d", changes-throughAPI)}
				change(t, program, &churn, &done[n], append(direct, seed...))
				change(t, program, &churn, &done[n], append([]string{"-rate=20", fmt.Sprintf("-total=%d", throughAPI)}, seed...))
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
					decoded.subscribe(t, nil)
					objects.subscribe(t, nil)
				}
			}
			<-finished
			truth := plainPods(t, cluster.Config())
			pods.check(t, "pods", truth)
			decoded.check(t, "pods, decoded", truth)
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
