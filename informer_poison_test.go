package tarn_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

// Case 39 and 25: an object that does not fit the type is that object's error, with its key, in status and once per
// version to the error handler; every other object is there.
func TestInformer_Poison_Case39(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range [][]tarn.Option{nil, {tarn.Live()}} {
			src := newSource()
			src.Add(widget("a/good", "n1", 1))
			bad := []byte(`{"metadata":{"namespace":"a","name":"bad"},"spec":{"size":"many"}}`)
			src.Add(bad)
			var reported []error
			i := newInformer(t, src, append(layout, tarn.OnError(func(err error) { reported = append(reported, err) }))...)
			r, _ := subscribe(t, i)
			stop := run(t, i)
			expect(t, "events", r.take(), "added a/bad error initial, added a/good 1 initial")
			var keys []string
			var errs []error
			for w, err := range i.All() {
				if err != nil {
					errs = append(errs, err)
					continue
				}
				keys = append(keys, w.Name)
			}
			expect(t, "good ones", keys, []string{"good"})
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), "a/bad") {
				t.Errorf("errors: %v", errs)
			}
			expect(t, "reported once", len(reported), 1)
			if st := i.Status(); len(st.Failed) != 1 || st.Failed[0].Key != "a/bad" || st.Objects != 2 {
				t.Errorf("status: %+v", st)
			}
			src.Update(bad)
			expect(t, "a new version", r.take(), "updated a/bad error>error")
			synctest.Wait()
			expect(t, "reported once per version", len(reported), 2)
			src.Update(widget("a/bad", "n1", 7))
			expect(t, "it recovers", r.take(), "updated a/bad error>7")
			expect(t, "no failure left", len(i.Status().Failed), 0)
			stop()
		}
	})
}

// Case 25: a transform that fails for one object keeps it as it came and marked; it is tried again at the next event and
// at each relist; the rest goes on, without a relist loop.
func TestInformer_Transform_Case25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/bad", "n1", 13))
		src.Add(widget("a/good", "n1", 1))
		var broken atomic.Bool
		broken.Store(true)
		var reported []error
		i := newInformer(t, src, tarn.Transform(func(w *Widget) (*Widget, error) {
			if w.Spec.Size == 13 && broken.Load() {
				return nil, errors.New("thirteen")
			}
			w.Spec.Node = "transformed"
			return w, nil
		}), tarn.IndexField("node", "spec.node"), tarn.OnError(func(err error) { reported = append(reported, err) }))
		r, _ := subscribe(t, i)
		stop := run(t, i)
		expect(t, "events", r.take(), "added a/bad 13 initial, added a/good 1 initial")
		if len(reported) != 1 || !strings.Contains(reported[0].Error(), "a/bad") || !strings.Contains(reported[0].Error(), "thirteen") {
			t.Errorf("reported: %v", reported)
		}
		expect(t, "lists", len(src.Requests(tarntest.ListVerb)), 0) // one streaming list, no relist
		expect(t, "transformed", len(collect(t, i.By("node", "transformed"))), 1)

		broken.Store(false)
		src.Disconnect(errors.New("cut"))
		src.Add(widget("a/other", "n1", 2))
		src.Expire()
		time.Sleep(2 * time.Minute)
		expect(t, "tried again at a relist", r.take(), "updated a/bad 13>13, added a/other 2")
		expect(t, "no failure left", len(i.Status().Failed), 0)
		expect(t, "transformed", len(collect(t, i.By("node", "transformed"))), 3)
		stop()
	})
}

// Case 27: an index function that fails or panics leaves that object out of its index, reported once per version; the
// object is stored and in the other index.
func TestInformer_Index_Case27(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/bad", "n1", -1))
		src.Add(widget("a/worse", "n1", -2))
		src.Add(widget("a/good", "n1", 1))
		var reported []error
		i := newInformer(t, src, tarn.IndexField("node", "spec.node"), tarn.IndexFunc("size", func(w *Widget) ([]string, error) {
			switch w.Spec.Size {
			case -1:
				return nil, errors.New("negative")
			case -2:
				panic("more negative")
			}
			return []string{"ok"}, nil
		}), tarn.OnError(func(err error) { reported = append(reported, err) }))
		stop := run(t, i)
		synctest.Wait()
		expect(t, "by node", collect(t, i.By("node", "n1")), []string{"bad", "good", "worse"})
		expect(t, "by size", collect(t, i.By("size", "ok")), []string{"good"})
		expect(t, "reported", len(reported), 2)
		expect(t, "failed", len(i.Status().Failed), 2)
		if _, ok, err := i.Get("a/bad"); !ok || err != nil {
			t.Errorf("a marked object can be read: %v %v", ok, err)
		}
		for _, err := range i.By("nodes", "n1") {
			if !errors.Is(err, store.ErrUnknownIndex) {
				t.Errorf("unknown index: %v", err)
			}
		}
		stop()
	})
}
