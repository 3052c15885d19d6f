package controller_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/controller"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/queue"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gadget is what the tests' collections hold.
type gadget struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func newGadget(name string, size int) *gadget {
	return &gadget{ObjectMeta: metav1.ObjectMeta{Name: name}, Size: size}
}

func newSource(names ...string) *tarntest.Source {
	src := tarntest.NewSource(tarntest.JSON[gadget]())
	for _, name := range names {
		src.Add(newGadget(name, 1))
	}
	return src
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[V any](t *testing.T, what string, got, want V) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// known lets a queue read a store.
type known struct{ *store.Store }

func (k known) GetByKey(key string) (*object.Object, bool, error) {
	obj, exists := k.Store.GetByKey(key)
	return obj, exists, nil
}

func newQueue(s *store.Store) *queue.DeltaFIFO[*object.Object] {
	return queue.NewDeltaFIFO(
		func(o *object.Object) (string, error) { return o.Key, nil },
		queue.Options[*object.Object]{KnownObjects: known{s}},
	)
}

func apply(s *store.Store, d controller.Delta) error {
	if d.Type == queue.Deleted {
		return s.Delete(d.Object)
	}
	return s.Update(d.Object)
}

func keys(s *store.Store) []string { k := s.ListKeys(); slices.Sort(k); return k }

// pass lets fake time pass, and all that happens meanwhile.
func pass(d time.Duration) {
	time.Sleep(d) // fake time: it takes none
	synctest.Wait()
}

// start runs a controller until the function that it returns is called, which waits for the end.
func start(t *testing.T, c *controller.Controller) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- c.Run(ctx) }()
	synctest.Wait()
	return func() {
		t.Helper()
		cancel()
		must(t, <-done)
	}
}

func TestController_Run(t *testing.T) {
	// Run fills the queue from the source and processes what comes out until the context ends; then the queue is closed
	// and source and reflector are at rest. It has synced when the first list has been processed.
	synctest.Test(t, func(t *testing.T) {
		src, s := newSource("a", "b"), store.New(store.Options{})
		q := newQueue(s)
		var initials []bool
		c := controller.New(controller.Config{
			Queue: q, ListerWatcher: src,
			Process: func(ds controller.Deltas, initial bool) error {
				initials = append(initials, initial)
				for _, d := range ds {
					must(t, apply(s, d))
				}
				return nil
			},
		})
		if c.HasSynced() {
			t.Fatal("synced before Run")
		}
		stop := start(t, c)
		<-c.Synced()
		if !c.HasSynced() {
			t.Fatal("not synced")
		}
		src.Add(newGadget("c", 1))
		src.Delete("a")
		synctest.Wait()
		equal(t, "stored", keys(s), []string{"b", "c"})
		equal(t, "initial", initials, []bool{true, true, false, false})
		equal(t, "version", c.LastSyncResourceVersion(), src.Version())
		stop()
		if lists, watches := src.Open(); lists+watches > 0 {
			t.Fatalf("%d lists and %d watches are open", lists, watches)
		}
		if err := q.Add(&object.Object{Meta: object.Meta{Key: "x"}}); !errors.Is(err, queue.ErrClosed) {
			t.Fatalf("the queue is open: %v", err)
		}
		if err := c.Run(t.Context()); !errors.Is(err, controller.ErrRan) {
			t.Fatalf("second Run: %v", err)
		}
	})
}

func TestController_Run_Twice(t *testing.T) {
	// A second Run is an error while the first runs, too, and does not disturb it.
	synctest.Test(t, func(t *testing.T) {
		c := controller.New(controller.Config{
			Queue: newQueue(store.New(store.Options{})), ListerWatcher: newSource("a"),
			Process: func(controller.Deltas, bool) error { return nil },
		})
		stop := start(t, c)
		if err := c.Run(t.Context()); !errors.Is(err, controller.ErrRan) {
			t.Fatal(err)
		}
		stop()
	})
}

func TestController_Run_QueueClosed(t *testing.T) {
	// If somebody else closes the queue, Run processes what is left and says so, and nothing is left running.
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(store.New(store.Options{}))
		n := 0
		c := controller.New(controller.Config{
			Queue: q, ListerWatcher: newSource("a", "b"),
			Process: func(controller.Deltas, bool) error { n++; q.Close(); return nil },
		})
		if err := c.Run(t.Context()); !errors.Is(err, queue.ErrClosed) || n != 2 {
			t.Fatalf("error %v after %d items", err, n)
		}
	})
}

func TestController_Run_Panic(t *testing.T) {
	// A panic in Process passes through Run, which has stopped the reflector by then.
	synctest.Test(t, func(t *testing.T) {
		src, q := newSource("a"), newQueue(store.New(store.Options{}))
		c := controller.New(controller.Config{
			Queue: q, ListerWatcher: src,
			Process: func(controller.Deltas, bool) error { panic("boom") },
		})
		func() {
			defer func() { equal(t, "panic", recover(), any("boom")) }()
			_ = c.Run(t.Context())
		}()
		if lists, watches := src.Open(); lists+watches > 0 || !errors.Is(q.Resync(), queue.ErrClosed) {
			t.Fatal("something goes on")
		}
	})
}

func TestController_Resync(t *testing.T) {
	// Every resync period, what is known is processed again, if ShouldResync says yes.
	synctest.Test(t, func(t *testing.T) {
		s := store.New(store.Options{})
		var should atomic.Bool
		syncs := 0
		c := controller.New(controller.Config{
			Queue: newQueue(s), ListerWatcher: newSource("a"),
			Process: func(ds controller.Deltas, _ bool) error {
				for _, d := range ds {
					must(t, apply(s, d))
					if d.Type == queue.Sync {
						syncs++
					}
				}
				return nil
			},
			Reflector: reflector.Options{ResyncPeriod: time.Minute, ShouldResync: should.Load},
		})
		stop := start(t, c)
		pass(150 * time.Second)
		equal(t, "syncs while ShouldResync says no", syncs, 0)
		should.Store(true)
		pass(2 * time.Minute)
		equal(t, "syncs", syncs, 2)
		stop()
	})
}

func TestController_Error(t *testing.T) {
	// Without RetryOnError, an item whose Process fails is reported once and gone; the next one comes.
	synctest.Test(t, func(t *testing.T) {
		boom := errors.New("boom")
		var log []string
		c := controller.New(controller.Config{
			Queue: newQueue(store.New(store.Options{})), ListerWatcher: newSource("a", "b"),
			Process: func(ds controller.Deltas, _ bool) error {
				log = append(log, ds.Newest().Key)
				return boom
			},
			ErrorHandler: func(key string, err error) { log = append(log, key+": "+err.Error()) },
		})
		stop := start(t, c)
		pass(time.Hour)
		equal(t, "processed", log, []string{"a", "a: boom", "b", "b: boom"})
		if !c.HasSynced() {
			t.Fatal("not synced")
		}
		stop()
	})
}

func TestController_RetryOnError(t *testing.T) {
	// With RetryOnError a failed item goes back with a growing wait, ahead of newer deltas for its key and without those
	// that were applied; other keys go on meanwhile, and it has synced only when the item was processed.
	synctest.Test(t, func(t *testing.T) {
		src := newSource("a", "b")
		began := time.Now()
		var fail atomic.Bool
		fail.Store(true)
		var log []string
		c := controller.New(controller.Config{
			Queue: newQueue(store.New(store.Options{})), ListerWatcher: src,
			Process: func(ds controller.Deltas, _ bool) error {
				var what []string
				for _, d := range ds {
					what = append(what, d.Type.String()+" "+d.Key+"@"+d.Object.Version)
				}
				log = append(log, fmt.Sprint(time.Since(began), " ", strings.Join(what, ", ")))
				switch {
				case ds.Newest().Key != "a" || !fail.Load():
					return nil
				case len(ds) > 1: // the first is applied, the second fails
					return queue.ErrRequeue{Err: errors.New("boom"), Applied: 1}
				}
				return errors.New("boom")
			},
			RetryOnError: true,
			ErrorHandler: func(key string, err error) { log = append(log, key+": "+err.Error()) },
		})
		stop := start(t, c)
		pass(150 * time.Millisecond)
		src.Update(newGadget("a", 2)) // while the second wait runs
		src.Update(newGadget("b", 2))
		pass(800 * time.Millisecond)
		if c.HasSynced() {
			t.Fatal("synced while the first item is being retried")
		}
		fail.Store(false)
		pass(time.Hour)
		equal(t, "processed", strings.Join(log, "\n"), strings.Join([]string{
			"0s Replaced a@2", "a: boom",
			"0s Replaced b@3",
			"100ms Replaced a@2", "a: boom",
			"150ms Updated b@5",
			// Progress starts the waits anew.
			"300ms Replaced a@2, Updated a@4", "a: boom",
			"400ms Updated a@4", "a: boom",
			"600ms Updated a@4", "a: boom",
			"1s Updated a@4",
		}, "\n"))
		if !c.HasSynced() {
			t.Fatal("not synced")
		}
		stop()
	})
}

func TestController_RetryOnError_AllApplied(t *testing.T) {
	// An item that reports an error with all its deltas applied does not come back.
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := controller.New(controller.Config{
			Queue: newQueue(store.New(store.Options{})), ListerWatcher: newSource("a"),
			Process: func(ds controller.Deltas, _ bool) error {
				n++
				return queue.ErrRequeue{Err: errors.New("boom"), Applied: len(ds)}
			},
			RetryOnError: true,
			RetryBackoff: func(int) time.Duration { return time.Second },
		})
		stop := start(t, c)
		pass(time.Hour)
		equal(t, "calls", n, 1)
		stop()
	})
}

func TestController_RetryBackoff(t *testing.T) {
	// The default waits double up to 30 s; those that are set are asked with the number of failures of the key.
	for name, c := range map[string]struct {
		backoff func(int) time.Duration
		want    []time.Duration
	}{
		"default": {nil, []time.Duration{
			100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond,
			1600 * time.Millisecond, 3200 * time.Millisecond, 6400 * time.Millisecond, 12800 * time.Millisecond,
			25600 * time.Millisecond, 30 * time.Second, 30 * time.Second, 30 * time.Second,
		}},
		"set": {func(failures int) time.Duration { return time.Duration(failures) * time.Second }, []time.Duration{time.Second, 2 * time.Second, 3 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at []time.Time
				done := make(chan struct{})
				ctrl := controller.New(controller.Config{
					Queue: newQueue(store.New(store.Options{})), ListerWatcher: newSource("a"),
					Process: func(controller.Deltas, bool) error {
						if at = append(at, time.Now()); len(at) > len(c.want) {
							close(done)
							return nil
						}
						return errors.New("boom")
					},
					RetryOnError: true,
					RetryBackoff: c.backoff,
				})
				stop := start(t, ctrl)
				<-done
				var waits []time.Duration
				for i := 1; i < len(at); i++ {
					waits = append(waits, at[i].Sub(at[i-1]))
				}
				equal(t, "waits", waits, c.want)
				stop()
			})
		})
	}
}
