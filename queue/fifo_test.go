package queue_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

func TestFIFO_Pop_Sequences(t *testing.T) {
	// A FIFO hands out the newest value of each key once, in the order in which keys joined the line.
	a, b, c := func(v int) pod { return pod{"a", v} }, func(v int) pod { return pod{"b", v} }, func(v int) pod { return pod{"c", v} }
	for name, c := range map[string]struct {
		do   func(q *queue.FIFO[pod]) error
		want []pod
	}{
		"Update is Add": {
			func(q *queue.FIFO[pod]) error { return errors.Join(q.Update(a(1)), q.Add(b(1)), q.Update(a(2))) },
			[]pod{a(2), b(1)},
		},
		"a deleted key is skipped": {
			func(q *queue.FIFO[pod]) error { return errors.Join(q.Add(a(1)), q.Add(b(1)), q.Delete(a(1))) },
			[]pod{b(1)},
		},
		"deleted and added again it keeps its place and is popped once": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(1)), q.Add(b(1)), q.DeleteKey("a"), q.Add(a(2)))
			},
			[]pod{a(2), b(1)},
		},
		"AddIfNotPresent keeps what is pending": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(2)), q.AddIfNotPresent(a(1)), q.AddIfNotPresent(b(1)))
			},
			[]pod{a(2), b(1)},
		},
		"AddIfNotPresent of a deleted key puts it in": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(2)), q.Add(b(1)), q.DeleteKey("a"), q.AddIfNotPresent(a(1)))
			},
			[]pod{a(1), b(1)},
		},
		"Replace makes it exactly the list, in its order": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(1)), q.Add(b(1)), q.Replace([]pod{c(1), b(2), c(2)}, "1"))
			},
			[]pod{c(2), b(2)},
		},
		"Replace forgets the place of a deleted key": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(1)), q.DeleteKey("a"), q.Replace([]pod{b(1)}, "1"), q.Add(a(2)))
			},
			[]pod{b(1), a(2)},
		},
		"Resync leaves each value in line once": {
			func(q *queue.FIFO[pod]) error {
				return errors.Join(q.Add(a(1)), q.Add(b(1)), q.DeleteKey("b"), q.Resync())
			},
			[]pod{a(1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.NewFIFO(keyOf)
			must(t, c.do(q))
			equal(t, "popped", drain[pod](t, q), c.want)
		})
	}
}

func TestFIFO_Get(t *testing.T) {
	// Get, GetByKey, List and ListKeys give the pending values: not what was popped or deleted.
	q := queue.NewFIFO(keyOf)
	must(t, q.Replace([]pod{{"gone", 1}, {"a", 1}, {"deleted", 1}, {"b", 1}}, "1"))
	_, err := q.Pop(nothing[pod])
	must(t, err)
	must(t, q.DeleteKey("deleted"))
	must(t, q.Update(pod{"a", 2}))
	equal(t, "keys", sorted(q.ListKeys()), []string{"a", "b"})
	equal(t, "number", len(q.List()), 2)
	got, exists, err := q.Get(pod{"a", 0})
	equal(t, "Get", []any{got, exists, err}, []any{pod{"a", 2}, true, nil})
	for _, key := range []string{"gone", "deleted"} {
		got, exists, err = q.GetByKey(key)
		equal(t, key, []any{got, exists, err}, []any{pod{}, false, nil})
	}
}

func TestFIFO_Requeue(t *testing.T) {
	// A FIFO's item that is put back gives way to what happened to its key meanwhile; else it joins the line at the end.
	for name, c := range map[string]struct {
		meanwhile func(q *queue.FIFO[pod]) error
		want      []pod
	}{
		"nothing":             {func(*queue.FIFO[pod]) error { return nil }, []pod{{"b", 1}, {"a", 1}}},
		"a newer value":       {func(q *queue.FIFO[pod]) error { return q.Update(pod{"a", 2}) }, []pod{{"b", 1}, {"a", 2}}},
		"its place":           {func(q *queue.FIFO[pod]) error { return errors.Join(q.Add(pod{"a", 2}), q.Add(pod{"c", 1})) }, []pod{{"b", 1}, {"a", 2}, {"c", 1}}},
		"deleted":             {func(q *queue.FIFO[pod]) error { return q.DeleteKey("a") }, []pod{{"b", 1}}},
		"deleted and added":   {func(q *queue.FIFO[pod]) error { return errors.Join(q.DeleteKey("a"), q.Add(pod{"a", 2})) }, []pod{{"b", 1}, {"a", 2}}},
		"added and deleted":   {func(q *queue.FIFO[pod]) error { return errors.Join(q.Add(pod{"a", 2}), q.DeleteKey("a")) }, []pod{{"b", 1}}},
		"replaced away":       {func(q *queue.FIFO[pod]) error { return q.Replace([]pod{{"c", 1}}, "2") }, []pod{{"c", 1}}},
		"replaced":            {func(q *queue.FIFO[pod]) error { return q.Replace([]pod{{"a", 3}}, "2") }, []pod{{"a", 3}}},
		"AddIfNotPresent":     {func(q *queue.FIFO[pod]) error { return q.AddIfNotPresent(pod{"a", 3}) }, []pod{{"b", 1}, {"a", 3}}},
		"another key deleted": {func(q *queue.FIFO[pod]) error { return q.DeleteKey("b") }, []pod{{"a", 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			q := queue.NewFIFO(keyOf)
			must(t, q.Add(pod{"a", 1}))
			must(t, q.Add(pod{"b", 1}))
			_, err := q.Pop(func(pod, bool) error { return errors.Join(c.meanwhile(q), queue.ErrRequeue{}) })
			must(t, err)
			equal(t, "popped", drain[pod](t, q), c.want)
		})
	}
}

func TestFIFO_Requeue_AfterAnotherWasDropped(t *testing.T) {
	// A deletion while one key is processed concerns that key and that time only: later items can be put back.
	q := queue.NewFIFO(keyOf)
	must(t, q.Add(pod{"a", 1}))
	must(t, q.Add(pod{"b", 1}))
	_, err := q.Pop(func(pod, bool) error { return q.DeleteKey("a") })
	must(t, err)
	_, err = q.Pop(func(pod, bool) error { return queue.ErrRequeue{} })
	must(t, err)
	equal(t, "popped", drain[pod](t, q), []pod{{"b", 1}})
}
