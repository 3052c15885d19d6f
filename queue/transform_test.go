package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/queue"
)

func TestDeltaFIFO_Transform_Once(t *testing.T) {
	// A transform runs once per object received, before it is queued; what AddIfNotPresent and a requeue put back, what
	// Resync makes and tombstones are left alone. ReplacedAsSync does not change that.
	for _, asSync := range []bool{false, true} {
		s := newStore(pod{"s", 100}, pod{"gone", 100})
		q := newDelta(queue.Options[pod]{
			KnownObjects:   s,
			ReplacedAsSync: asSync,
			Transform:      func(p pod) (pod, error) { p.version += 10; return p, nil },
		})
		must(t, q.Add(pod{"a", 1}))
		_, err := q.Pop(func(deltas, bool) error { return queue.ErrRequeue{} })
		must(t, err)
		must(t, q.Update(pod{"a", 2}))
		must(t, q.Delete(pod{"a", 3}))
		must(t, q.AddIfNotPresent(deltas{{Type: queue.Added, Object: pod{"b", 1}}}))
		must(t, q.DeleteTombstone("b", pod{"b", 2}))
		must(t, q.Resync())
		must(t, q.Replace([]pod{{"s", 1}, {"a", 4}}, "1"))
		want := "[Added a@11, Updated a@12, Deleted a@13, Replaced a@14][Added b@1, Deleted? b@2][Sync gone@100, Deleted? gone@100][Sync s@100, Replaced s@11]"
		if asSync {
			want = strings.ReplaceAll(want, "Replaced", "Sync")
		}
		equal(t, "popped", show(drain[deltas](t, q)...), want)
	}
}

func TestDeltaFIFO_Transform_Error(t *testing.T) {
	// A transform that fails makes the call fail with the key and the cause, and nothing changes.
	boom := errors.New("boom")
	q := newDelta(queue.Options[pod]{Transform: func(p pod) (pod, error) {
		if p.name == "bad" {
			return p, boom
		}
		return p, nil
	}})
	for _, err := range []error{q.Add(pod{"bad", 1}), q.Replace([]pod{{"a", 1}, {"bad", 1}}, "1")} {
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), `"bad"`) {
			t.Error(err)
		}
	}
	if q.HasSynced() || len(q.ListKeys()) != 0 {
		t.Error("something changed")
	}
}

func TestCase08_TransformWithResync(t *testing.T) {
	// Case 8: the transform is not idempotent, the queue is resynced every 5 ms for a second, readers run in parallel: the
	// transform ran once per object received and never on a Sync.
	synctest.Test(t, func(t *testing.T) {
		s := newStore()
		var calls atomic.Int32
		q := newDelta(queue.Options[pod]{KnownObjects: s, Transform: func(p pod) (pod, error) {
			calls.Add(1)
			p.version = -p.version
			return p, nil
		}})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		every := func(d time.Duration, do func()) {
			wg.Go(func() {
				tick := time.NewTicker(d)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						do()
					case <-stop:
						return
					}
				}
			})
		}
		every(5*time.Millisecond, func() { must(t, q.Resync()) })
		every(time.Millisecond, func() { q.List(); q.ListKeys(); _, _, _ = q.GetByKey("p1") })
		syncs := 0
		wg.Go(func() {
			for {
				_, err := q.Pop(func(ds deltas, initial bool) error {
					for _, d := range ds {
						if d.Object.version >= 0 {
							t.Errorf("%v was transformed other than once", d)
						}
						if d.Type == queue.Sync {
							syncs++
						}
					}
					return s.apply(ds, initial)
				})
				if err != nil {
					return
				}
			}
		})
		const received = 300
		for i := range received {
			must(t, q.Update(pod{fmt.Sprintf("p%d", i%7), i + 1}))
			if i%3 == 0 {
				time.Sleep(10 * time.Millisecond) // fake time
			}
		}
		close(stop)
		synctest.Wait()
		q.Close()
		wg.Wait()
		if calls.Load() != received || syncs == 0 {
			t.Fatalf("%d calls for %d objects, %d syncs", calls.Load(), received, syncs)
		}
	})
}
