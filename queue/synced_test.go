package queue_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

func TestQueue_HasSynced_FirstMutation(t *testing.T) {
	// HasSynced is false at first and true from the first mutation on, unless that is a Replace of something or a Resync.
	both(t, testFirstMutation[pod], testFirstMutation[queue.Deltas[pod]])
}

func testFirstMutation[I any](t *testing.T, k kind[I]) {
	for name, c := range map[string]struct {
		call func(q queue.Queue[pod, I]) error
		want bool
	}{
		"none":                 {func(queue.Queue[pod, I]) error { return nil }, false},
		"Add":                  {func(q queue.Queue[pod, I]) error { return q.Add(pod{"a", 1}) }, true},
		"Update":               {func(q queue.Queue[pod, I]) error { return q.Update(pod{"a", 1}) }, true},
		"Delete of nothing":    {func(q queue.Queue[pod, I]) error { return q.Delete(pod{"a", 1}) }, true},
		"DeleteKey":            {func(q queue.Queue[pod, I]) error { return q.DeleteKey("a") }, true},
		"AddIfNotPresent":      {func(q queue.Queue[pod, I]) error { return q.AddIfNotPresent(k.item(pod{"a", 1})) }, true},
		"Resync":               {func(q queue.Queue[pod, I]) error { return q.Resync() }, false},
		"Replace":              {func(q queue.Queue[pod, I]) error { return q.Replace([]pod{{"a", 1}}, "1") }, false},
		"Replace with nothing": {func(q queue.Queue[pod, I]) error { return q.Replace(nil, "1") }, true},
		"Add, then Replace": {func(q queue.Queue[pod, I]) error {
			return errors.Join(q.Add(pod{"a", 1}), q.Replace([]pod{{"a", 1}, {"b", 1}}, "1"))
		}, true},
		"Resync, then Replace": {func(q queue.Queue[pod, I]) error {
			return errors.Join(q.Resync(), q.Replace([]pod{{"a", 1}}, "1"))
		}, false},
		"Replace, then Add": {func(q queue.Queue[pod, I]) error {
			return errors.Join(q.Replace([]pod{{"a", 1}}, "1"), q.Add(pod{"b", 1}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := k.make()
			must(t, c.call(q))
			if q.HasSynced() != c.want || closed(q.Synced()) != c.want {
				t.Fatalf("HasSynced %v, channel closed %v, want %v", q.HasSynced(), closed(q.Synced()), c.want)
			}
		})
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestQueue_HasSynced_AfterProcessReturned(t *testing.T) {
	// With a Replace first, HasSynced turns true when the process of its last key has returned, not before; it stays true,
	// also when another Replace comes. What arrived since the Replace does not count, nor as part of the initial list.
	both(t, testAfterProcess[pod], testAfterProcess[queue.Deltas[pod]])
}

func testAfterProcess[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Replace([]pod{{"a", 1}, {"b", 1}}, "1"))
	must(t, q.Add(pod{"c", 1}))
	pop := func(wantInitial bool) {
		t.Helper()
		_, err := q.Pop(func(_ I, initial bool) error {
			if initial != wantInitial || q.HasSynced() == wantInitial {
				t.Errorf("initial %v, HasSynced %v, want initial %v", initial, q.HasSynced(), wantInitial)
			}
			return nil
		})
		must(t, err)
	}
	pop(true)
	pop(true)
	if !q.HasSynced() || !closed(q.Synced()) {
		t.Fatal("not synced")
	}
	pop(false)
	must(t, q.Replace([]pod{{"a", 2}}, "2"))
	pop(false)
}

func TestQueue_HasSynced_Requeue(t *testing.T) {
	// A key that was put back has not been processed: it stays part of the initial list. One that arrived later is not.
	both(t, testSyncedRequeue[pod], testSyncedRequeue[queue.Deltas[pod]])
}

func testSyncedRequeue[I any](t *testing.T, k kind[I]) {
	for name, meanwhile := range map[string]func(q queue.Queue[pod, I]) error{
		"alone":    func(queue.Queue[pod, I]) error { return nil },
		"newer":    func(q queue.Queue[pod, I]) error { return q.Add(pod{"a", 2}) },
		"replaced": func(q queue.Queue[pod, I]) error { return q.Replace([]pod{{"a", 2}, {"b", 1}}, "2") },
	} {
		t.Run(name, func(t *testing.T) {
			q := k.make()
			must(t, q.Replace([]pod{{"a", 1}}, "1"))
			must(t, q.Add(pod{"b", 1}))
			_, err := q.Pop(func(I, bool) error { return errors.Join(meanwhile(q), queue.ErrRequeue{}) })
			must(t, err)
			if q.HasSynced() {
				t.Fatal("synced by a requeue")
			}
			for range 2 {
				_, err = q.Pop(func(item I, initial bool) error {
					if want := k.pod(item).name == "a"; initial != want {
						t.Errorf("%v: initial %v", item, initial)
					}
					return nil
				})
				must(t, err)
			}
			if !q.HasSynced() {
				t.Fatal("not synced")
			}
		})
	}
}

func TestCase03_DuplicateInFirstReplace(t *testing.T) {
	// Case 3: the first Replace holds one key twice; after one Pop the queue has synced.
	both(t, testDuplicate[pod], testDuplicate[queue.Deltas[pod]])
}

func testDuplicate[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Replace([]pod{{"a", 1}, {"a", 2}}, "1"))
	item, err := q.Pop(nothing[I])
	must(t, err)
	equal(t, "newest", k.pod(item), pod{"a", 2})
	if !q.HasSynced() {
		t.Fatal("not synced")
	}
}

func TestCase04_SyntheticDeletesCount(t *testing.T) {
	// Case 4: known holds a and b, the first mutation is a Replace that lacks both: synced only when their tombstones, too,
	// have been processed.
	q := queue.NewDeltaFIFO(keyOf, queue.Options[pod]{KnownObjects: newStore(pod{"a", 1}, pod{"b", 1})})
	must(t, q.Replace([]pod{{"c", 1}}, "1"))
	for i := range 3 {
		_, err := q.Pop(func(_ queue.Deltas[pod], initial bool) error {
			if q.HasSynced() || !initial {
				t.Errorf("pop %d: synced %v, initial %v", i, q.HasSynced(), initial)
			}
			return nil
		})
		must(t, err)
	}
	if !q.HasSynced() {
		t.Fatal("not synced")
	}
}

func TestDeltaFIFO_HasSynced_ReplaceWhileRunning(t *testing.T) {
	// A Resync may come before the first Replace: a key whose Sync is then being processed counts with what the Replace
	// queued for it, also if the running item is put back or nothing remains of the deletion.
	for name, c := range map[string]struct {
		list   []pod
		result error
		forget bool
		want   int // pops until synced
	}{
		"listed":             {[]pod{{"a", 2}}, nil, false, 1},
		"listed, requeued":   {[]pod{{"a", 2}}, queue.ErrRequeue{}, false, 1},
		"missing":            {nil, nil, false, 1},
		"missing, requeued":  {nil, queue.ErrRequeue{}, false, 1},
		"missing, forgotten": {nil, nil, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(pod{"a", 1})
			q := newDelta(queue.Options[pod]{KnownObjects: s})
			must(t, q.Resync())
			_, err := q.Pop(func(deltas, bool) error {
				if c.forget {
					delete(s.pods, "a")
				}
				return errors.Join(q.Replace(c.list, "2"), c.result)
			})
			must(t, err)
			for range c.want {
				if q.HasSynced() {
					t.Fatal("synced before the Replace was processed")
				}
				_, err := q.Pop(nothing[deltas])
				must(t, err)
			}
			if !q.HasSynced() {
				t.Fatal("not synced")
			}
		})
	}
}

func TestFIFO_HasSynced_DeletedOrReplacedAway(t *testing.T) {
	// In a FIFO, a key of the first Replace also counts when it was deleted or replaced away; added again, it is not part
	// of the initial list any more.
	for name, gone := range map[string]func(q *queue.FIFO[pod]) error{
		"Delete":    func(q *queue.FIFO[pod]) error { return q.Delete(pod{"b", 1}) },
		"DeleteKey": func(q *queue.FIFO[pod]) error { return q.DeleteKey("b") },
		"twice":     func(q *queue.FIFO[pod]) error { return errors.Join(q.DeleteKey("b"), q.DeleteKey("b")) },
		"Replace":   func(q *queue.FIFO[pod]) error { return q.Replace([]pod{{"a", 2}}, "2") },
		"and back":  func(q *queue.FIFO[pod]) error { return errors.Join(q.DeleteKey("b"), q.Add(pod{"b", 2})) },
		"by its pops": func(q *queue.FIFO[pod]) error {
			_, err := q.Pop(nothing[pod])
			return errors.Join(err, q.DeleteKey("b"), q.Add(pod{"a", 2}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.NewFIFO(keyOf)
			must(t, q.Replace([]pod{{"a", 1}, {"b", 1}}, "1"))
			must(t, gone(q))
			_, err := q.Pop(nothing[pod])
			must(t, err)
			if !q.HasSynced() {
				t.Fatal("not synced")
			}
		})
	}
}

func TestFIFO_HasSynced_DeletedWhileRunning(t *testing.T) {
	// A key of the first Replace that is deleted while it is processed counts, even if process wants it back.
	for name, gone := range map[string]func(q *queue.FIFO[pod]) error{
		"Delete":  func(q *queue.FIFO[pod]) error { return q.Delete(pod{"a", 1}) },
		"Replace": func(q *queue.FIFO[pod]) error { return q.Replace(nil, "2") },
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.NewFIFO(keyOf)
			must(t, q.Replace([]pod{{"a", 1}}, "1"))
			_, err := q.Pop(func(pod, bool) error { return errors.Join(gone(q), queue.ErrRequeue{}) })
			must(t, err)
			if !q.HasSynced() {
				t.Fatal("not synced")
			}
			equal(t, "left", drain[pod](t, q), []pod(nil))
		})
	}
}
