package queue_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/queue"
)

// whileRunning is what happens to the key a while it is processed, and what is then pending.
type whileRunning struct {
	known []pod
	// item is what is being processed; by default Updated a@2.
	item deltas
	do   func(q *queue.DeltaFIFO[pod]) error
	// after is what is pending when process applied the item, failed without applying it, or put it back.
	applied, failed, requeued string
}

func TestDeltaFIFO_WhileRunning(t *testing.T) {
	// What arrives for a key while it is processed takes effect as if it came just after process returned: deletions go by
	// what is known then, and a requeued item goes ahead of it.
	type dq = *queue.DeltaFIFO[pod]
	a := func(v int) pod { return pod{"a", v} }
	deleted := deltas{{Type: queue.Deleted, Key: "a", Object: a(2)}}
	for name, c := range map[string]whileRunning{
		"nothing": {
			do: func(dq) error { return nil }, applied: "", failed: "", requeued: "[Updated a@2]",
		},
		"Update": {
			do: func(q dq) error { return q.Update(a(3)) }, applied: "[Updated a@3]", failed: "[Updated a@3]", requeued: "[Updated a@2, Updated a@3]",
		},
		"Delete of a new object": {
			do: func(q dq) error { return q.Delete(a(3)) }, applied: "[Deleted a@3]", failed: "", requeued: "[Updated a@2, Deleted a@3]",
		},
		"Delete of a known object": {
			known: []pod{a(1)},
			do:    func(q dq) error { return q.Delete(a(3)) }, applied: "[Deleted a@3]", failed: "[Deleted a@3]", requeued: "[Updated a@2, Deleted a@3]",
		},
		"Delete of a deleted object": {
			known: []pod{a(1)}, item: deleted,
			do: func(q dq) error { return q.Delete(a(3)) }, applied: "", failed: "[Deleted a@3]", requeued: "[Deleted a@3]",
		},
		"DeleteKey of a deleted object": {
			known: []pod{a(1)}, item: deleted,
			do: func(q dq) error { return q.DeleteKey("a") }, applied: "", failed: "[Deleted? a@1]", requeued: "[Deleted a@2]",
		},
		"Delete and Add of a deleted object": {
			known: []pod{a(1)}, item: deleted,
			do: func(q dq) error { return errors.Join(q.Delete(a(3)), q.Add(a(4))) }, applied: "[Added a@4]", failed: "[Deleted a@3, Added a@4]", requeued: "[Deleted a@3, Added a@4]",
		},
		"Replace without it": {
			do: func(q dq) error { return q.Replace(nil, "3") }, applied: "[Deleted? a@2]", failed: "", requeued: "[Updated a@2, Deleted? a@2]",
		},
		"Replace without a known object": {
			known: []pod{a(1)},
			do:    func(q dq) error { return q.Replace(nil, "3") }, applied: "[Deleted? a@2]", failed: "[Deleted? a@1]", requeued: "[Updated a@2, Deleted? a@2]",
		},
		"Replace without a deleted object": {
			known: []pod{a(1)}, item: deleted,
			do: func(q dq) error { return q.Replace(nil, "3") }, applied: "", failed: "[Deleted? a@1]", requeued: "[Deleted a@2]",
		},
		"Update, then Replace without it": {
			do: func(q dq) error { return errors.Join(q.Update(a(3)), q.Replace(nil, "3")) }, applied: "[Updated a@3, Deleted? a@3]", failed: "[Updated a@3, Deleted? a@3]", requeued: "[Updated a@2, Updated a@3, Deleted? a@3]",
		},
		"Replace with it": {
			do: func(q dq) error { return q.Replace([]pod{a(3)}, "3") }, applied: "[Replaced a@3]", failed: "[Replaced a@3]", requeued: "[Updated a@2, Replaced a@3]",
		},
		"Resync": {
			known: []pod{a(1)},
			do:    func(q dq) error { return q.Resync() }, applied: "", failed: "", requeued: "[Updated a@2]",
		},
		"AddIfNotPresent": {
			do: func(q dq) error { return q.AddIfNotPresent(deltas{{Type: queue.Updated, Object: a(3)}}) }, applied: "[Updated a@3]", failed: "[Updated a@3]", requeued: "[Updated a@2, Updated a@3]",
		},
		"Delete, then AddIfNotPresent, then Delete": {
			known: []pod{a(1)}, item: deleted,
			do: func(q dq) error {
				return errors.Join(q.Delete(a(3)), q.AddIfNotPresent(deltas{{Type: queue.Updated, Object: a(4)}}), q.Delete(a(5)))
			},
			applied: "[Updated a@4, Deleted a@5]", failed: "[Deleted a@5]", requeued: "[Deleted a@5]",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, outcome := range []string{"applied before", "applied after", "failed", "requeued"} {
				s := newStore(c.known...)
				q := newDelta(queue.Options[pod]{KnownObjects: s})
				item := c.item
				if item == nil {
					item = deltas{{Type: queue.Updated, Key: "a", Object: a(2)}}
				}
				must(t, q.AddIfNotPresent(item))
				failure := errors.New("failed")
				want := c.applied
				_, err := q.Pop(func(ds deltas, initial bool) error {
					if outcome == "applied before" {
						must(t, s.apply(ds, initial))
					}
					must(t, c.do(q))
					switch outcome {
					case "applied after":
						must(t, s.apply(ds, initial))
					case "failed":
						want = c.failed
						return failure
					case "requeued":
						want = c.requeued
						return queue.ErrRequeue{Err: failure}
					}
					return nil
				})
				if wantErr := outcome == "failed" || outcome == "requeued"; errors.Is(err, failure) != wantErr {
					t.Fatalf("%s: error %v", outcome, err)
				}
				equal(t, outcome, show(drain[deltas](t, q)...), want)
			}
		})
	}
}

func TestDeltaFIFO_WhileRunning_NoKnownStore(t *testing.T) {
	// Without a known store, a deletion of the key that is being processed is queued unless the item already ended in one.
	for name, c := range map[string]struct {
		before func(q *queue.DeltaFIFO[pod]) error
		during func(q *queue.DeltaFIFO[pod]) error
		want   string
	}{
		"Delete":        {func(*queue.DeltaFIFO[pod]) error { return nil }, func(q *queue.DeltaFIFO[pod]) error { return q.Delete(pod{"a", 2}) }, "[Deleted a@2]"},
		"DeleteKey":     {func(*queue.DeltaFIFO[pod]) error { return nil }, func(q *queue.DeltaFIFO[pod]) error { return q.DeleteKey("a") }, "[Deleted? a@1]"},
		"Replace":       {func(*queue.DeltaFIFO[pod]) error { return nil }, func(q *queue.DeltaFIFO[pod]) error { return q.Replace(nil, "1") }, "[Deleted? a@1]"},
		"Delete, twice": {func(q *queue.DeltaFIFO[pod]) error { return q.Delete(pod{"a", 2}) }, func(q *queue.DeltaFIFO[pod]) error { return q.Delete(pod{"a", 3}) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := newDelta(queue.Options[pod]{})
			must(t, q.Add(pod{"a", 1}))
			must(t, c.before(q))
			_, err := q.Pop(func(deltas, bool) error { return c.during(q) })
			must(t, err)
			equal(t, "popped", show(drain[deltas](t, q)...), c.want)
		})
	}
}

func TestErrRequeue_Forms(t *testing.T) {
	// A process function may return ErrRequeue by value, by pointer or wrapped; Pop returns its Err.
	cause := errors.New("cause")
	for name, c := range map[string]struct{ give, want error }{
		"value":   {queue.ErrRequeue{Err: cause}, cause},
		"pointer": {&queue.ErrRequeue{Err: cause}, cause},
		"wrapped": {errors.Join(errors.New("more"), queue.ErrRequeue{Err: cause}), cause},
		"no Err":  {queue.ErrRequeue{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := newDelta(queue.Options[pod]{})
			must(t, q.Add(pod{"a", 1}))
			got, err := q.Pop(func(deltas, bool) error { return c.give })
			if err != c.want { //nolint:errorlint // it is that very error
				t.Fatalf("error %v, want %v", err, c.want)
			}
			equal(t, "returned", show(got), "[Added a@1]")
			got[0].Type = queue.Sync // what Pop returned is the caller's, not the queue's
			equal(t, "popped again", show(drain[deltas](t, q)...), "[Added a@1]")
		})
	}
	if (queue.ErrRequeue{Err: cause}).Error() != "requeue: cause" || (queue.ErrRequeue{}).Error() != "requeue" || !errors.Is(queue.ErrRequeue{Err: cause}, cause) {
		t.Error("text or unwrapping")
	}
}

func TestErrRequeue_Applied(t *testing.T) {
	// Deltas that were applied do not come back; with all of them applied the item counts as processed.
	for applied, want := range map[int]string{
		-1: "[Replaced a@1, Updated a@2, Updated a@3]",
		0:  "[Replaced a@1, Updated a@2, Updated a@3]",
		1:  "[Updated a@2, Updated a@3]",
		2:  "[Updated a@3]",
		9:  "[Updated a@3]",
	} {
		q := newDelta(queue.Options[pod]{})
		must(t, q.Replace([]pod{{"a", 1}}, "1"))
		must(t, q.Update(pod{"a", 2}))
		_, err := q.Pop(func(deltas, bool) error {
			return errors.Join(q.Update(pod{"a", 3}), queue.ErrRequeue{Applied: applied})
		})
		must(t, err)
		if q.HasSynced() != (applied >= 2) {
			t.Errorf("applied %d: HasSynced %v", applied, q.HasSynced())
		}
		equal(t, "popped", show(drain[deltas](t, q)...), want)
	}
}

func TestErrRequeue_After(t *testing.T) {
	// With After, the key stays out of line that long, with what arrives for it; other keys go on.
	both(t, testAfter[pod], testAfter[queue.Deltas[pod]])
}

func testAfter[I any](t *testing.T, k kind[I]) {
	synctest.Test(t, func(t *testing.T) {
		q := k.make()
		must(t, q.Replace([]pod{{"a", 1}, {"b", 1}}, "1"))
		start := time.Now()
		pop := func(err error) (pod, time.Duration) {
			item, popErr := q.Pop(func(I, bool) error { return err })
			must(t, popErr)
			return k.pod(item), time.Since(start)
		}
		pop(queue.ErrRequeue{After: time.Minute})
		must(t, q.Add(pod{"a", 2}))
		equal(t, "keys", sorted(q.ListKeys()), []string{"a", "b"})
		if p, d := pop(nil); p.name != "b" || d != 0 || q.HasSynced() {
			t.Fatalf("%v after %v", p, d)
		}
		if p, d := pop(nil); p != (pod{"a", 2}) || d != time.Minute || !q.HasSynced() {
			t.Fatalf("%v after %v", p, d)
		}
		// The key joined the line by itself: the timer of the first wait must not end the second.
		must(t, q.Add(pod{"a", 3}))
		pop(queue.ErrRequeue{After: time.Minute})
		must(t, q.Replace([]pod{{"a", 4}}, "2"))
		_, d := pop(queue.ErrRequeue{After: 2 * time.Minute})
		if _, again := pop(nil); again != d+2*time.Minute {
			t.Fatalf("popped after %v and %v", d, again)
		}
	})
}

func TestErrRequeue_After_Close(t *testing.T) {
	// Close ends the wait of a key that was put back: Pop hands it out at once.
	both(t, testAfterClose[pod], testAfterClose[queue.Deltas[pod]])
}

func testAfterClose[I any](t *testing.T, k kind[I]) {
	synctest.Test(t, func(t *testing.T) {
		q := k.make()
		must(t, q.Add(pod{"a", 1}))
		_, err := q.Pop(func(I, bool) error { return queue.ErrRequeue{After: time.Hour} })
		must(t, err)
		start := time.Now()
		if items := drain[I](t, q); len(items) != 1 || time.Since(start) != 0 {
			t.Fatalf("%v after %v", items, time.Since(start))
		}
	})
}

func TestFIFO_Requeue_AfterDeleted(t *testing.T) {
	// A key that waits to come back and is deleted does not come; added again, it still waits.
	synctest.Test(t, func(t *testing.T) {
		for _, again := range []bool{false, true} {
			q := queue.NewFIFO(keyOf)
			must(t, q.Add(pod{"a", 1}))
			_, err := q.Pop(func(pod, bool) error { return queue.ErrRequeue{After: time.Minute} })
			must(t, err)
			must(t, q.DeleteKey("a"))
			if again {
				must(t, q.Add(pod{"a", 2}))
			}
			time.AfterFunc(time.Hour, q.Close)
			start := time.Now()
			got, err := q.Pop(nothing[pod])
			if again {
				must(t, err)
				equal(t, "popped", []any{got, time.Since(start)}, []any{pod{"a", 2}, time.Minute})
			} else if !errors.Is(err, queue.ErrClosed) {
				t.Fatal(got, err)
			}
		}
		time.Sleep(2 * time.Hour) // fake time: let the timers end
	})
}
