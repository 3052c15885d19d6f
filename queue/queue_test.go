package queue_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/queue"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pod is what the tests queue.
type pod struct {
	name    string
	version int
}

var errNoName = errors.New("pod without a name")

func keyOf(p pod) (string, error) {
	if p.name == "" {
		return "", errNoName
	}
	return p.name, nil
}

// store is a known store that the tests' process functions keep.
type store struct {
	mu   sync.Mutex
	pods map[string]pod
}

func newStore(pods ...pod) *store {
	s := &store{pods: map[string]pod{}}
	for _, p := range pods {
		s.pods[p.name] = p
	}
	return s
}

func (s *store) ListKeys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.pods))
	for k := range s.pods {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (s *store) GetByKey(key string) (pod, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.pods[key]
	return p, ok, nil
}

// apply is a process function.
func (s *store) apply(deltas queue.Deltas[pod], _ bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range deltas {
		if d.Type == queue.Deleted {
			delete(s.pods, d.Key)
		} else {
			s.pods[d.Key] = d.Object
		}
	}
	return nil
}

func nothing[I any](I, bool) error { return nil }

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

// drain pops what is pending and returns it in order. It closes the queue.
func drain[I any](t *testing.T, q interface {
	Pop(queue.ProcessFunc[I]) (I, error)
	Close()
},
) (items []I) {
	t.Helper()
	q.Close()
	for {
		item, err := q.Pop(nothing[I])
		if errors.Is(err, queue.ErrClosed) {
			return items
		}
		must(t, err)
		items = append(items, item)
	}
}

// kind runs a test of what both queues promise against one of them.
type kind[I any] struct {
	make func() queue.Queue[pod, I]
	item func(p pod) I
	// pod is the newest pod in an item.
	pod func(item I) pod
}

var (
	fifo = kind[pod]{
		make: func() queue.Queue[pod, pod] { return queue.NewFIFO(keyOf) },
		item: func(p pod) pod { return p },
		pod:  func(p pod) pod { return p },
	}
	deltaFIFO = kind[queue.Deltas[pod]]{
		make: func() queue.Queue[pod, queue.Deltas[pod]] {
			return queue.NewDeltaFIFO(keyOf, queue.Options[pod]{KnownObjects: newStore()})
		},
		item: func(p pod) queue.Deltas[pod] {
			return queue.Deltas[pod]{{Type: queue.Added, Key: p.name, Object: p}}
		},
		pod: func(ds queue.Deltas[pod]) pod { return ds.Newest().Object },
	}
)

func both(t *testing.T, fifoTest func(*testing.T, kind[pod]), deltaTest func(*testing.T, kind[queue.Deltas[pod]])) {
	t.Run("FIFO", func(t *testing.T) { fifoTest(t, fifo) })
	t.Run("DeltaFIFO", func(t *testing.T) { deltaTest(t, deltaFIFO) })
}

func TestQueue_KeyError(t *testing.T) {
	// A key function that fails makes each call fail with its cause and the object's name, and nothing changes.
	both(t, testKeyError[pod], testKeyError[queue.Deltas[pod]])
}

func testKeyError[I any](t *testing.T, k kind[I]) {
	bad := pod{version: 4711}
	for name, call := range map[string]func(q queue.Queue[pod, I]) error{
		"Add":             func(q queue.Queue[pod, I]) error { return q.Add(bad) },
		"Update":          func(q queue.Queue[pod, I]) error { return q.Update(bad) },
		"Delete":          func(q queue.Queue[pod, I]) error { return q.Delete(bad) },
		"AddIfNotPresent": func(q queue.Queue[pod, I]) error { return q.AddIfNotPresent(k.item(bad)) },
		"Replace":         func(q queue.Queue[pod, I]) error { return q.Replace([]pod{{"b", 1}, bad}, "1") },
		"Get":             func(q queue.Queue[pod, I]) error { _, _, err := q.Get(bad); return err },
	} {
		t.Run(name, func(t *testing.T) {
			q := k.make()
			err := call(q)
			var keyErr *queue.KeyError
			if !errors.Is(err, errNoName) || !errors.As(err, &keyErr) || !strings.Contains(err.Error(), "4711") {
				t.Fatalf("error %v", err)
			}
			if q.HasSynced() {
				t.Fatal("a failed call counted as the first mutation")
			}
			equal(t, "pending", q.ListKeys(), []string{})
		})
	}
}

func TestKeyError_Error_Long(t *testing.T) {
	// The text of a key error stays short, however large the object.
	err := &queue.KeyError{Object: strings.Repeat("ü", 10_000), Err: errNoName}
	if s := err.Error(); len(s) > 300 || !strings.Contains(s, errNoName.Error()) {
		t.Fatalf("%d bytes: %.400s", len(s), s)
	}
}

func TestQueue_Pop_BlocksWhileEmpty(t *testing.T) {
	// Pop waits while nothing is pending and returns what then arrives.
	both(t, testPopBlocks[pod], testPopBlocks[queue.Deltas[pod]])
}

func testPopBlocks[I any](t *testing.T, k kind[I]) {
	synctest.Test(t, func(t *testing.T) {
		q := k.make()
		popped := make(chan pod, 1)
		go func() {
			item, err := q.Pop(nothing[I])
			if err != nil {
				t.Error(err)
			}
			popped <- k.pod(item)
		}()
		synctest.Wait()
		if len(popped) > 0 {
			t.Fatal("popped from an empty queue")
		}
		must(t, q.Add(pod{"a", 1}))
		equal(t, "popped", <-popped, pod{"a", 1})
	})
}

func TestQueue_Pop_NeverOverlaps(t *testing.T) {
	// However many goroutines pop, one process function runs at a time, and each item is popped once.
	both(t, testPopNeverOverlaps[pod], testPopNeverOverlaps[queue.Deltas[pod]])
}

func testPopNeverOverlaps[I any](t *testing.T, k kind[I]) {
	const items, poppers = 500, 8
	q := k.make()
	var inside, most, total atomic.Int32
	var wg sync.WaitGroup
	for range poppers {
		wg.Go(func() {
			for {
				_, err := q.Pop(func(I, bool) error {
					most.Store(max(most.Load(), inside.Add(1)))
					runtime.Gosched()
					inside.Add(-1)
					total.Add(1)
					return nil
				})
				if errors.Is(err, queue.ErrClosed) {
					return
				}
			}
		})
	}
	for i := range items {
		must(t, q.Add(pod{fmt.Sprint(i), 1}))
	}
	q.Close()
	wg.Wait()
	if most.Load() != 1 || total.Load() != items {
		t.Fatalf("%d at once, %d of %d items", most.Load(), total.Load(), items)
	}
}

func TestQueue_Pop_ProducersGoOn(t *testing.T) {
	// While process runs, others can fill and read the queue; process itself can, too.
	both(t, testProducersGoOn[pod], testProducersGoOn[queue.Deltas[pod]])
}

func testProducersGoOn[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Add(pod{"a", 1}))
	_, err := q.Pop(func(I, bool) error {
		done := make(chan error)
		go func() { done <- q.Add(pod{"b", 1}) }()
		return errors.Join(<-done, q.Update(pod{"a", 2}))
	})
	must(t, err)
	keys := q.ListKeys()
	slices.Sort(keys)
	equal(t, "pending", keys, []string{"a", "b"})
}

func TestQueue_Pop_Error(t *testing.T) {
	// An item whose process fails is returned with the error and is gone.
	both(t, testPopError[pod], testPopError[queue.Deltas[pod]])
}

func testPopError[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Replace([]pod{{"a", 1}}, "1"))
	boom := errors.New("boom")
	item, err := q.Pop(func(I, bool) error { return boom })
	equal(t, "item", k.pod(item), pod{"a", 1})
	if !errors.Is(err, boom) || len(q.ListKeys()) != 0 || !q.HasSynced() {
		t.Fatalf("error %v, pending %v, synced %v", err, q.ListKeys(), q.HasSynced())
	}
}

func TestQueue_Pop_Panic(t *testing.T) {
	// A panic of process passes through Pop; the queue stays usable and the item counts as processed.
	both(t, testPopPanic[pod], testPopPanic[queue.Deltas[pod]])
}

func testPopPanic[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Replace([]pod{{"a", 1}}, "1"))
	func() {
		defer func() { equal(t, "panic", recover(), any("boom")) }()
		_, _ = q.Pop(func(I, bool) error { panic("boom") })
	}()
	if !q.HasSynced() {
		t.Fatal("not synced")
	}
	must(t, q.Add(pod{"b", 1}))
	item, err := q.Pop(nothing[I])
	must(t, err)
	equal(t, "next", k.pod(item), pod{"b", 1})
}

func TestQueue_PopContext(t *testing.T) {
	// PopContext stops waiting when its context ends, for an item or for another's process; it pops nothing when the
	// context has ended before.
	both(t, testPopContext[pod], testPopContext[queue.Deltas[pod]])
}

func testPopContext[I any](t *testing.T, k kind[I]) {
	synctest.Test(t, func(t *testing.T) {
		q := k.make()
		cause := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer cancel()
		if _, err := q.PopContext(ctx, nothing[I]); !errors.Is(err, cause) {
			t.Fatalf("empty: %v", err)
		}
		must(t, q.Add(pod{"a", 1}))
		if _, err := q.PopContext(ctx, nothing[I]); !errors.Is(err, cause) {
			t.Fatalf("ended before: %v", err)
		}
		ctx, cancel = context.WithTimeoutCause(t.Context(), time.Minute, cause)
		defer cancel()
		item, err := q.PopContext(ctx, func(I, bool) error {
			must(t, q.Add(pod{"b", 1}))
			other := make(chan error)
			go func() {
				_, err := q.PopContext(ctx, nothing[I])
				other <- err
			}()
			if err := <-other; !errors.Is(err, cause) {
				t.Errorf("behind another's process: %v", err)
			}
			return nil
		})
		must(t, err)
		equal(t, "item", k.pod(item), pod{"a", 1})
		equal(t, "left", q.ListKeys(), []string{"b"})
	})
}

func sorted[V cmp.Ordered](vs []V) []V { slices.Sort(vs); return vs }
