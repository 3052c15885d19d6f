package queue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

type (
	deltas = queue.Deltas[pod]
	delta  = queue.Delta[pod]
)

func newDelta(o queue.Options[pod]) *queue.DeltaFIFO[pod] { return queue.NewDeltaFIFO(keyOf, o) }

// show writes deltas as "Added a@1", tombstones as "Deleted? a@1" or "Deleted? a".
func show(items ...deltas) string {
	var b strings.Builder
	for _, item := range items {
		sep := "["
		for _, d := range item {
			b.WriteString(sep + d.Type.String())
			if d.FinalStateUnknown {
				b.WriteString("?")
			}
			fmt.Fprintf(&b, " %s", d.Key)
			switch {
			case d.NoObject && d.Object != pod{}:
				b.WriteString(" with an object in spite of NoObject")
			case !d.NoObject && d.Object.name != d.Key:
				b.WriteString(" with the object of " + d.Object.name)
			case !d.NoObject:
				fmt.Fprintf(&b, "@%d", d.Object.version)
			}
			sep = ", "
		}
		b.WriteString("]")
	}
	return b.String()
}

// onPop is one sequence against a DeltaFIFO and what it then hands out.
type onPop struct {
	known []pod
	// unknown leaves the known store out.
	unknown bool
	do      func(q *queue.DeltaFIFO[pod]) error
	want    string
}

func run(t *testing.T, cases map[string]onPop) {
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			o := queue.Options[pod]{KnownObjects: newStore(c.known...)}
			if c.unknown {
				o = queue.Options[pod]{}
			}
			q := newDelta(o)
			must(t, c.do(q))
			equal(t, "popped", show(drain[deltas](t, q)...), c.want)
		})
	}
}

func TestDeltaFIFO_Pop_Lists(t *testing.T) {
	// Pop hands over everything that happened to a key since it was last popped, the oldest first, keys in line order.
	run(t, map[string]onPop{
		"all types": {
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Add(pod{"a", 1}), q.Add(pod{"b", 1}), q.Update(pod{"a", 2}), q.Delete(pod{"a", 3}), q.Replace([]pod{{"a", 4}, {"b", 1}}, "4"))
			},
			want: "[Added a@1, Updated a@2, Deleted a@3, Replaced a@4][Added b@1, Replaced b@1]",
		},
		"Resync": {
			known: []pod{{"a", 1}, {"b", 1}, {"c", 1}},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Delete(pod{"b", 2}), q.Update(pod{"c", 2}), q.Resync(), q.Resync())
			},
			want: "[Deleted b@2][Updated c@2][Sync a@1]",
		},
		"Resync without a known store": {
			unknown: true,
			do:      func(q *queue.DeltaFIFO[pod]) error { return q.Resync() },
			want:    "",
		},
		"AddIfNotPresent": {
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(
					q.Add(pod{"a", 1}),
					q.AddIfNotPresent(deltas{{Type: queue.Updated, Key: "a", Object: pod{"a", 9}}}),
					q.AddIfNotPresent(deltas{{Type: queue.Added, Object: pod{"b", 1}}, {Type: queue.Updated, Object: pod{"b", 2}}}),
					q.AddIfNotPresent(deltas{{Type: queue.Deleted, Key: "c", FinalStateUnknown: true, NoObject: true}}),
				)
			},
			want: "[Added a@1][Added b@1, Updated b@2][Deleted? c]",
		},
	})
}

func TestDeltaFIFO_Pop_StartsAnew(t *testing.T) {
	// What was popped is not handed out again with what comes later.
	q := newDelta(queue.Options[pod]{})
	must(t, q.Add(pod{"a", 1}))
	_, err := q.Pop(nothing[deltas])
	must(t, err)
	must(t, q.Update(pod{"a", 2}))
	equal(t, "popped", show(drain[deltas](t, q)...), "[Updated a@2]")
}

func TestDeltaFIFO_Delete_Sequences(t *testing.T) {
	// Case 6 and its kind: adjacent Deleted collapse, the one with a real final state wins, and a Delete that concerns
	// nothing pending or known does nothing.
	x := pod{"x", 1}
	run(t, map[string]onPop{
		"neither pending nor known": {
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Delete(x), q.DeleteKey("y"), q.DeleteTombstone("z", x))
			},
			want: "",
		},
		"twice": {
			known: []pod{x},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Delete(pod{"x", 2}), q.Delete(pod{"x", 3})) },
			want:  "[Deleted x@3]",
		},
		"pending": {
			do:   func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Add(x), q.Delete(pod{"x", 2})) },
			want: "[Added x@1, Deleted x@2]",
		},
		"no known store, nothing pending": {
			unknown: true,
			do:      func(q *queue.DeltaFIFO[pod]) error { return q.Delete(x) },
			want:    "",
		},
		"no known store, pending": {
			unknown: true,
			do:      func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Add(x), q.Delete(pod{"x", 2})) },
			want:    "[Added x@1, Deleted x@2]",
		},
		"real, then tombstone": {
			known: []pod{x},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Delete(pod{"x", 2}), q.DeleteTombstone("x", x))
			},
			want: "[Deleted x@2]",
		},
		"tombstone, then real": {
			known: []pod{x},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.DeleteKey("x"), q.Delete(pod{"x", 2})) },
			want:  "[Deleted x@2]",
		},
		"tombstone, then tombstone": {
			known: []pod{x},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.DeleteKey("x"), q.DeleteTombstone("x", pod{"x", 2}))
			},
			want: "[Deleted? x@2]",
		},
		"the key only, pending": {
			known: []pod{x},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Update(pod{"x", 2}), q.DeleteKey("x")) },
			want:  "[Updated x@2, Deleted? x@2]",
		},
		"not adjacent": {
			known: []pod{x},
			do: func(q *queue.DeltaFIFO[pod]) error {
				return errors.Join(q.Delete(pod{"x", 2}), q.Add(pod{"x", 3}), q.Delete(pod{"x", 4}))
			},
			want: "[Deleted x@2, Added x@3, Deleted x@4]",
		},
		"in a list put in": {
			do: func(q *queue.DeltaFIFO[pod]) error {
				return q.AddIfNotPresent(deltas{
					{Type: queue.Deleted, Key: "x", FinalStateUnknown: true, NoObject: true},
					{Type: queue.Deleted, Object: x},
				})
			},
			want: "[Deleted x@1]",
		},
		"Resync never puts a Sync behind a Deleted": {
			known: []pod{x},
			do:    func(q *queue.DeltaFIFO[pod]) error { return errors.Join(q.Delete(pod{"x", 2}), q.Resync()) },
			want:  "[Deleted x@2]",
		},
	})
}

// brokenStore is a known store that cannot be read.
type brokenStore struct{}

var errBroken = errors.New("broken store")

func (brokenStore) ListKeys() []string                 { return []string{"a"} }
func (brokenStore) GetByKey(string) (pod, bool, error) { return pod{}, false, errBroken }

func TestDeltaFIFO_KnownFails(t *testing.T) {
	// Where the known store cannot tell, deletions are queued rather than lost, and Resync fails with the cause.
	q := newDelta(queue.Options[pod]{KnownObjects: brokenStore{}})
	err := q.Resync()
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `"a"`) {
		t.Fatal(err)
	}
	must(t, q.Delete(pod{"b", 1}))
	must(t, q.Replace(nil, "1"))
	equal(t, "popped", show(drain[deltas](t, q)...), "[Deleted b@1][Deleted? a]")
}

func TestCase07_ResyncKeyError(t *testing.T) {
	// Case 7: Resync meets a stored object whose key function fails: the error wraps the cause, names object and key, and
	// nothing is queued.
	s := newStore(pod{"a", 1})
	s.pods["b"] = pod{version: 4711}
	q := newDelta(queue.Options[pod]{KnownObjects: s})
	err := q.Resync()
	var keyErr *queue.KeyError
	if !errors.Is(err, errNoName) || !errors.As(err, &keyErr) || !strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), "4711") {
		t.Fatal(err)
	}
	equal(t, "pending", q.ListKeys(), []string{})
}

func TestDeltaFIFO_AddIfNotPresent_Errors(t *testing.T) {
	// An empty list of deltas is an error that errors.Is recognises, one of two keys is an error; neither changes anything.
	q := newDelta(queue.Options[pod]{})
	for _, ds := range []deltas{nil, {}} {
		if err := q.AddIfNotPresent(ds); !errors.Is(err, queue.ErrNoDeltas) {
			t.Errorf("empty list: %v", err)
		}
	}
	err := q.AddIfNotPresent(deltas{{Type: queue.Added, Key: "a", Object: pod{"a", 1}}, {Type: queue.Added, Key: "b", Object: pod{"b", 1}}})
	if err == nil || !strings.Contains(err.Error(), `"a"`) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("two keys: %v", err)
	}
	if q.HasSynced() || len(q.ListKeys()) != 0 {
		t.Error("something changed")
	}
}

func TestDeltaFIFO_Get_Copies(t *testing.T) {
	// Get, GetByKey and List give copies of the pending lists; what is put in is copied, too.
	q := newDelta(queue.Options[pod]{})
	mine := deltas{{Type: queue.Added, Key: "a", Object: pod{"a", 1}}}
	must(t, q.AddIfNotPresent(mine))
	got, exists, err := q.Get(pod{"a", 0})
	equal(t, "Get", []any{show(got), exists, err}, []any{"[Added a@1]", true, nil})
	byKey, _, _ := q.GetByKey("a")
	list := q.List()
	for _, ds := range []deltas{mine, got, byKey, list[0]} {
		ds[0].Type = queue.Sync
	}
	equal(t, "keys", q.ListKeys(), []string{"a"})
	got, exists, err = q.GetByKey("b")
	equal(t, "another", []any{got, exists, err}, []any{deltas(nil), false, nil})
	equal(t, "popped", show(drain[deltas](t, q)...), "[Added a@1]")
}

func TestDeltas_OldestNewest(t *testing.T) {
	// Oldest and Newest point at the ends of a list; an empty one has none.
	ds := deltas{{Key: "a"}, {Key: "b"}, {Key: "c"}}
	if ds.Oldest() != &ds[0] || ds.Newest() != &ds[2] || deltas(nil).Oldest() != nil || deltas(nil).Newest() != nil {
		t.Fatal("not the ends")
	}
}

func TestDeltaFIFO_AcceptAfterClose(t *testing.T) {
	// With AcceptAfterClose, mutations go on after Close, and Pop hands out what they put in.
	q := newDelta(queue.Options[pod]{AcceptAfterClose: true})
	q.Close()
	if _, err := q.Pop(nothing[deltas]); !errors.Is(err, queue.ErrClosed) {
		t.Fatal(err)
	}
	must(t, q.Add(pod{"a", 1}))
	equal(t, "popped", show(drain[deltas](t, q)...), "[Added a@1]")
}

func TestDeltaType_String(t *testing.T) {
	// Each type has its name; an unknown one shows its number.
	for typ, want := range map[queue.DeltaType]string{
		queue.Added: "Added", queue.Updated: "Updated", queue.Deleted: "Deleted", queue.Replaced: "Replaced", queue.Sync: "Sync", 0: "DeltaType(0)",
	} {
		equal(t, want, typ.String(), want)
	}
}
