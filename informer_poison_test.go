package tarn_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
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

// Ensures that who only reads, by key or through an iterator, learns of an object that does not decode and marks it: once.
func TestInformer_Poison_Read(t *testing.T) {
	for name, read := range map[string]func(i *tarn.Informer[*Widget]) (errs []error){
		"Get":  func(i *tarn.Informer[*Widget]) []error { _, _, err := i.Get("a/bad"); return []error{err} },
		"View": func(i *tarn.Informer[*Widget]) []error { _, _, err := i.View("a/bad"); return []error{err} },
		"All": func(i *tarn.Informer[*Widget]) (errs []error) {
			for _, err := range i.All() {
				if err != nil {
					errs = append(errs, err)
				}
			}
			return errs
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource()
				src.Add([]byte(`{"metadata":{"namespace":"a","name":"bad"},"spec":{"size":"many"}}`))
				src.Add(widget("a/good", "n1", 1))
				var reported []error
				i := newInformer(t, src, tarn.OnError(func(err error) { reported = append(reported, err) }))
				stop := run(t, i)
				synctest.Wait()
				if looked := len(i.Status().Failed) + len(reported); looked > 0 && !*live { // live looks when it comes
					t.Errorf("nobody has looked, but it has failed")
				}
				for range 2 {
					if errs := read(i); len(errs) != 1 || errs[0] == nil || !strings.Contains(errs[0].Error(), "a/bad") {
						t.Errorf("read %v", errs)
					}
					expect(t, "reported", len(reported), 1)
					if failed := i.Status().Failed; len(failed) != 1 || failed[0].Key != "a/bad" {
						t.Errorf("failed: %+v", failed)
					}
				}
				stop()
			})
		})
	}
}

// Ensures that a predicate, or a filter, that panics keeps the object, or delivers the change, and is reported with the
// key, in each layout.
func TestInformer_Predicates_Panic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range [][]tarn.Option{nil, {tarn.Live()}} {
			src := newSource()
			src.Add(widget("a/bad", "n1", 13))
			src.Add(widget("a/good", "n1", 1))
			src.Add(widget("a/small", "n1", 0))
			picky := func(w *Widget) bool {
				if w.Spec.Size == 13 {
					panic("thirteen")
				}
				return w.Spec.Size > 0
			}
			var reported []error
			note := tarn.OnError(func(err error) { reported = append(reported, err) })
			only := newInformer(t, src, append(layout, tarn.Only(picky), note)...)
			r, _ := subscribe(t, only)
			stop := run(t, only)
			expect(t, "kept", r.take(), "added a/bad 13 initial, added a/good 1 initial")
			if len(reported) != 1 || !strings.Contains(reported[0].Error(), "a/bad: predicate: panic: thirteen") {
				t.Errorf("reported: %v", reported)
			}
			expect(t, "failed", len(only.Status().Failed), 1)
			src.Update(widget("a/bad", "n1", 1))
			expect(t, "recovered", r.take(), "updated a/bad 13>1")
			expect(t, "failed", len(only.Status().Failed), 0)
			stop()

			src.Update(widget("a/bad", "n1", 13))
			reported = nil
			where := newInformer(t, src, append(layout, note)...)
			r, _ = subscribe(t, where, tarn.Where(picky))
			stop = run(t, where)
			expect(t, "delivered", r.take(), "added a/bad 13 initial, added a/good 1 initial")
			if len(reported) != 1 || !strings.Contains(reported[0].Error(), "filter: a/bad: panic: thirteen") {
				t.Errorf("reported: %v", reported)
			}
			expect(t, "the object itself is good", len(where.Status().Failed), 0)
			stop()
		}
	})
}

// Ensures that an event whose object has no key is reported, and everything else goes on without a relist.
func TestInformer_NoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		var reported []error
		i := newInformer(t, src, tarn.OnError(func(err error) { reported = append(reported, err) }))
		r, _ := subscribe(t, i)
		stop := run(t, i)
		r.take()
		for _, event := range []source.EventType{source.Added, source.Modified, source.Deleted} {
			src.Send(source.Event{Type: event, Object: &object.Object{Meta: object.Meta{UID: "u", Version: "2"}}})
		}
		src.Add(widget("a/one", "n1", 1))
		expect(t, "the rest goes on", r.take(), "added a/one 1")
		expect(t, "reported", len(reported), 3)
		for _, err := range reported {
			if !errors.Is(err, store.ErrNoKey) {
				t.Error(err)
			}
		}
		expect(t, "requests", len(src.Requests(tarntest.WatchVerb))+len(src.Requests(tarntest.ListVerb)), 1)
		stop()
	})
}
