package tarn_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

// Case 34: a filtering handler sees a missed deletion if it knew the object; one that starts or stops to match is seen as
// added or deleted.
func TestInformer_Where_Case34(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/big", "n1", 10, "app", "web"))
		src.Add(widget("a/small", "n1", 1, "app", "web"))
		src.Add(widget("a/db", "n1", 20, "app", "db"))
		i := newInformer(t, src)
		r, _ := subscribe(t, i, tarn.Where(func(w *Widget) bool { return w.Spec.Size >= 10 }), tarn.WhereLabels("app=web"))
		byMeta, _ := subscribe(t, i, tarn.Where(func(o *object.Object) bool { return o.Name() == "db" }))
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/big 10 initial")
		expect(t, "by metadata", byMeta.take(), "added a/db 20 initial")
		src.Update(widget("a/small", "n1", 11, "app", "web"))
		src.Update(widget("a/big", "n1", 2, "app", "web"))
		expect(t, "transitions", r.take(), "added a/small 11, deleted a/big 2")
		src.Update(widget("a/big", "n1", 3, "app", "web"))
		expect(t, "neither", r.take(), "")
		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		src.Delete("a/small")
		src.Delete("a/big")
		src.Expire()
		src.OnRequest(nil)
		time.Sleep(2 * time.Minute) // fake time: it takes none
		expect(t, "tombstone", r.take(), "deleted a/small 11 unknown")
		stop()
	})
}

// Ensures that an object which does not decode goes through every filter by value, its deletion included, be it missed or
// not: nobody can say that it does not qualify. Case 34.
func TestInformer_Where_Undecodable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range [][]tarn.Option{nil, {tarn.Live()}} {
			src := newSource()
			bad := func(name string) []byte {
				return []byte(`{"metadata":{"namespace":"a","name":"` + name + `"},"spec":{"size":"many"}}`)
			}
			src.Add(bad("deleted"))
			src.Add(bad("missing"))
			i := newInformer(t, src, layout...)
			r, _ := subscribe(t, i, tarn.Where(func(*Widget) bool { return false }))
			stop := run(t, i)
			expect(t, "initial", r.take(), "added a/deleted error initial, added a/missing error initial")
			src.Delete("a/deleted")
			expect(t, "seen", r.take(), "deleted a/deleted error")
			src.FailNext(tarntest.WatchVerb, errors.New("down"))
			src.Disconnect(errors.New("cut"))
			src.Delete("a/missing")
			src.Expire()
			time.Sleep(2 * time.Minute) // fake time: it takes none
			expect(t, "missed", r.take(), "deleted a/missing error unknown")
			stop()
		}
	})
}

// Ensures that a deletion goes to a filtering handler by what it saw last, whatever the final state says.
func TestInformer_Where_FinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		stored := []*object.Object{src.Add(widget("a/big", "n1", 10)), src.Add(widget("a/small", "n1", 1))}
		i := newInformer(t, src)
		r, _ := subscribe(t, i, tarn.Where(func(w *Widget) bool { return w.Spec.Size >= 10 }))
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/big 10 initial")
		for n, size := range []string{"3", "30"} {
			final := *stored[n]
			final.Version = strconv.Itoa(10 + n)
			final.Raw = []byte(`{"metadata":{"namespace":"a","name":"` + final.Name() + `"},"spec":{"size":` + size + `}}`)
			src.Send(source.Event{Type: source.Deleted, Object: &final})
		}
		expect(t, "final states", r.take(), "deleted a/big 3")
		stop()
	})
}
