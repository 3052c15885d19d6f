package queue_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

func TestDeltaFIFO_Replace_Tombstones(t *testing.T) {
	// Replace queues a Replaced per element, then a tombstone for each key that is known or pending and not listed, with the
	// newest object at hand.
	run(t, map[string]onPop{
		"one per element": {
			known: []pod{{"a", 1}},
			do:    func(q *queue.DeltaFIFO[pod]) error { return q.Replace([]pod{{"b", 1}, {"a", 1}}, "1") },
			want:  "[Replaced b@1][Replaced a@1]",
		},
		"duplicates": {
			do:   func(q *queue.DeltaFIFO[pod]) error { return q.Replace([]pod{{"a", 1}, {"a", 2}}, "1") },
			want: "[Replaced a@1, Replaced a@2]",
		},
		"known": {
			known: []pod{{"a", 1}, {"b", 1}},
			do:    func(q *queue.DeltaFIFO[pod]) error { return q.Replace([]pod{{"c", 1}}, "1") },
			want:  "[Replaced c@1][Deleted? a@1][Deleted? b@1]",
		},
		"known and pending: the newest pending object": {
			known: []pod{{"a", 1}},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Update(pod{"a", 2}), q.Replace(nil, "1")) },
			want:  "[Updated a@2, Deleted? a@2]",
		},
		"pending, no known store": {
			unknown: true,
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Add(pod{"a", 1}), q.Update(pod{"a", 2}), q.Replace([]pod{{"b", 1}}, "1"))
			},
			want: "[Added a@1, Updated a@2, Deleted? a@2][Replaced b@1]",
		},
		"a real Deleted stays and swallows the tombstone": {
			known: []pod{{"a", 1}},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Delete(pod{"a", 2}), q.Replace(nil, "1")) },
			want:  "[Deleted a@2]",
		},
		"twice": {
			known: []pod{{"a", 1}},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Replace(nil, "1"), q.Replace(nil, "2")) },
			want:  "[Deleted? a@1]",
		},
		"none at hand": {
			unknown: true,
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(
					q.AddIfNotPresent(deltas{{Type: queue.Deleted, Key: "a", FinalStateUnknown: true, NoObject: true}}),
					q.Replace(nil, "1"),
				)
			},
			want: "[Deleted? a]",
		},
		"nothing pending but a bare tombstone: the known object": {
			known: []pod{{"a", 1}},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(
					q.AddIfNotPresent(deltas{{Type: queue.Deleted, Key: "a", FinalStateUnknown: true, NoObject: true}}),
					q.Replace(nil, "1"),
				)
			},
			want: "[Deleted? a@1]",
		},
		"a Replaced behind a pending Deleted is kept": {
			known: []pod{{"a", 1}},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Delete(pod{"a", 2}), q.Replace([]pod{{"a", 3}}, "1"))
			},
			want: "[Deleted a@2, Replaced a@3]",
		},
	})
}

func TestDeltaFIFO_Replace_ReplacedAsSync(t *testing.T) {
	// With ReplacedAsSync, Replaced is reported as Sync, but goes by the rules of a Replaced: it is kept behind a pending
	// Deleted and beside something pending.
	q := newDelta(queue.Options[pod]{KnownObjects: newStore(pod{"a", 1}), ReplacedAsSync: true})
	must(t, q.Delete(pod{"a", 2}))
	must(t, q.Add(pod{"b", 1}))
	must(t, q.Replace([]pod{{"a", 3}, {"b", 2}}, "1"))
	got, _, _ := q.GetByKey("a")
	equal(t, "Get", show(got), "[Deleted a@2, Sync a@3]")
	equal(t, "popped", show(drain[deltas](t, q)...), "[Deleted a@2, Sync a@3][Added b@1, Sync b@2]")
}

func TestCase01_ReplaceForgetsPending(t *testing.T) {
	// Case 1: known is empty, Add(O) is pending, a Replace lacks it: pops the Added, then a tombstone with the latest queued
	// O, and the store ends empty.
	s := newStore()
	q := newDelta(queue.Options[pod]{KnownObjects: s})
	must(t, q.Add(pod{"o", 1}))
	must(t, q.Update(pod{"o", 2}))
	must(t, q.Replace(nil, "3"))
	got, err := q.Pop(s.apply)
	must(t, err)
	equal(t, "popped", show(got), "[Added o@1, Updated o@2, Deleted? o@2]")
	equal(t, "store", s.pods, map[string]pod{})
}

func TestCase02_ReplacedBehindDeleted(t *testing.T) {
	// Case 2: X at version 1 is known, Delete(X) is pending, a relist brings X at version 2: the consumer sees the delete,
	// then the object again, and X at 2 ends in the store; with Replaced reported as Sync, too.
	for _, asSync := range []bool{false, true} {
		s := newStore(pod{"x", 1})
		q := newDelta(queue.Options[pod]{KnownObjects: s, ReplacedAsSync: asSync})
		must(t, q.Delete(pod{"x", 1}))
		must(t, q.Replace([]pod{{"x", 2}}, "2"))
		_, err := q.Pop(s.apply)
		must(t, err)
		equal(t, "store", s.pods, map[string]pod{"x": {"x", 2}})
	}
}

func TestCase06_DeleteOfNothing(t *testing.T) {
	// Case 6: a Delete of a key neither pending nor known queues nothing; Delete twice queues one Deleted.
	s := newStore(pod{"b", 1})
	q := newDelta(queue.Options[pod]{KnownObjects: s})
	must(t, q.Delete(pod{"a", 1}))
	must(t, q.Delete(pod{"b", 1}))
	must(t, q.Delete(pod{"b", 1}))
	equal(t, "popped", show(drain[deltas](t, q)...), "[Deleted b@1]")
}

func TestCase09_TombstoneOfTransformed(t *testing.T) {
	// Case 9: a relist finds an object gone: the tombstone carries it as transformed and is not transformed again, whether
	// it was pending or known.
	s := newStore()
	q := newDelta(queue.Options[pod]{KnownObjects: s, Transform: func(p pod) (pod, error) { p.version *= 2; return p, nil }})
	must(t, q.Add(pod{"known", 1}))
	_, err := q.Pop(s.apply)
	must(t, err)
	must(t, q.Add(pod{"pending", 3}))
	must(t, q.Replace(nil, "1"))
	equal(t, "popped", show(drain[deltas](t, q)...), "[Added pending@6, Deleted? pending@6][Deleted? known@2]")
}
