package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

// Case 25: a transform that fails for one object keeps it as it came and marked; it is tried again at the next event and
// at each relist; the rest goes on, without a relist loop.
func TestInformer_Transform_Case25(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/bad", "n1", 13))
		src.Add(widget("a/good", "n1", 1))
		var broken atomic.Bool
		broken.Store(true)
		var tried atomic.Int32
		var reported []error
		about := func(key string) (n int) {
			synctest.Wait()
			for _, err := range reported {
				if strings.Contains(err.Error(), key) {
					n++
				}
			}
			return n
		}
		i := newInformer(t, src, tarn.Transform(func(w *Widget) (*Widget, error) {
			if w.Spec.Size == 13 && broken.Load() {
				tried.Add(1)
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

		relist := func() {
			src.Disconnect(errors.New("cut"))
			time.Sleep(2 * time.Minute) // fake time: it takes none
		}
		before := tried.Load()
		relist()
		expect(t, "still failing at a relist", r.take(), "")
		expect(t, "tried at the relist", tried.Load(), before+1)
		expect(t, "reported once per version", about("a/bad"), 1)
		src.Update(widget("a/bad", "n1", 13))
		expect(t, "still failing at an event", r.take(), "updated a/bad 13>13")
		expect(t, "tried at the event", tried.Load(), before+2)
		expect(t, "a new version is reported", about("a/bad"), 2)
		expect(t, "failed", len(i.Status().Failed), 1)

		broken.Store(false)
		src.Add(widget("a/other", "n1", 2))
		relist()
		expect(t, "works at a relist", r.take(), "added a/other 2, updated a/bad 13>13")
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
		var calls atomic.Int32
		var reported []error
		i := newInformer(t, src, tarn.IndexField("node", "spec.node"), tarn.IndexFunc("size", func(w *Widget) ([]string, error) {
			calls.Add(1)
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
		src.Disconnect(errors.New("cut"))
		time.Sleep(2 * time.Minute) // fake time: it takes none
		failures := func() (n int) {
			for _, err := range reported {
				if ie := (*store.IndexError)(nil); errors.As(err, &ie) {
					n++
				}
			}
			return n
		}
		expect(t, "calls", calls.Load(), 5) // three objects, and the two that failed again
		expect(t, "after a relist, reported once per version", failures(), 2)
		src.Update(widget("a/bad", "n1", -1))
		synctest.Wait()
		expect(t, "a new version is reported", failures(), 3)
		for _, err := range i.By("nodes", "n1") {
			if !errors.Is(err, store.ErrUnknownIndex) {
				t.Errorf("unknown index: %v", err)
			}
		}
		stop()
	})
}

// Ensures that an object which failed is tried again, and is an update for everybody if it works, although its version and
// its bytes are the same: at a relist, and when the watch repeats it. Case 25.
func TestInformer_Index_Recovers(t *testing.T) {
	for name, again := range map[string]func(src *tarntest.Source, sent *object.Object){
		"relist": func(src *tarntest.Source, _ *object.Object) {
			src.FailNext(tarntest.WatchVerb, errors.New("down"))
			src.Disconnect(errors.New("cut"))
			src.Expire()
		},
		"event": func(src *tarntest.Source, sent *object.Object) {
			src.Send(source.Event{Type: source.Added, Object: sent})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource()
				sent := src.Add(widget("a/bad", "n1", 13))
				src.Add(widget("a/good", "n1", 1))
				var works atomic.Bool
				i := newInformer(t, src, tarn.IndexFunc("size", func(w *Widget) ([]string, error) {
					if w.Spec.Size == 13 && !works.Load() {
						return nil, errors.New("thirteen")
					}
					return []string{"any"}, nil
				}))
				r, _ := subscribe(t, i)
				stop := run(t, i)
				r.take()
				again(src, sent)
				time.Sleep(2 * time.Minute) // fake time: it takes none
				expect(t, "failed again", r.take(), "")
				expect(t, "failed", len(i.Status().Failed), 1)
				works.Store(true)
				again(src, sent)
				time.Sleep(2 * time.Minute) // fake time: it takes none
				expect(t, "works", r.take(), "updated a/bad 13>13")
				expect(t, "failed", len(i.Status().Failed), 0)
				expect(t, "found", collect(t, i.By("size", "any")), []string{"bad", "good"})
				again(src, sent)
				time.Sleep(2 * time.Minute) // fake time: it takes none
				expect(t, "works again", r.take(), "")
				stop()
			})
		})
	}
}

// Ensures that a transform which returns nil, another object, or panics costs that one object its transform and nothing
// else; and that what it was given stays as it was.
func TestInformer_Transform_Misbehaves(t *testing.T) {
	typed := func(f func(*Widget) (*Widget, error)) tarn.Option { return tarn.Transform(f) }
	encoded := func(f func(*object.Object) (*object.Object, error)) tarn.Option { return tarn.Transform(f) }
	for name, tc := range map[string]struct {
		option tarn.Option
		want   string
	}{
		"nil":             {typed(func(*Widget) (*Widget, error) { return nil, nil }), "returned nil"},
		"nil encoded":     {encoded(func(*object.Object) (*object.Object, error) { return nil, nil }), "returned nil"},
		"panic":           {typed(func(*Widget) (*Widget, error) { panic("oh") }), "panic: oh"},
		"renamed":         {typed(func(w *Widget) (*Widget, error) { w.Name = "other"; return w, nil }), "identity"},
		"renamed encoded": {encoded(func(o *object.Object) (*object.Object, error) { o.Key = "a/other"; return o, nil }), "identity"},
		"version":         {typed(func(w *Widget) (*Widget, error) { w.ResourceVersion = "99"; return w, nil }), "version"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource()
				sent := src.Add(widget("a/one", "n1", 1))
				var reported []error
				i := newInformer(t, src, tc.option, tarn.OnError(func(err error) { reported = append(reported, err) }))
				r, _ := subscribe(t, i)
				stop := run(t, i)
				expect(t, "kept as it came", r.take(), "added a/one 1 initial")
				if len(reported) != 1 || !strings.Contains(reported[0].Error(), tc.want) || !strings.Contains(reported[0].Error(), "a/one") {
					t.Errorf("reported: %v", reported)
				}
				expect(t, "failed", len(i.Status().Failed), 1)
				expect(t, "what was sent", sent.Key, "a/one")
				src.Add(widget("a/two", "n1", 2))
				src.Delete("a/one")
				expect(t, "the rest goes on", r.take(), "added a/two 2, deleted a/one 1")
				stop()
			})
		})
	}
}

// Ensures that the status lists many failed objects, sorted, each once, and forgets them as they recover or go.
func TestInformer_Status_ManyFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 2000
		src := newSource()
		key := func(k int) string { return fmt.Sprintf("a/%04d", k) }
		for k := range n {
			src.Add(widget(key(k), "n1", 0))
		}
		reported := 0
		i := newInformer(t, src, tarn.OnError(func(error) { reported++ }), tarn.IndexFunc("size", func(w *Widget) ([]string, error) {
			if w.Spec.Size == 0 {
				return nil, errors.New("no size")
			}
			return nil, nil
		}))
		stop := run(t, i)
		synctest.Wait()
		failed := i.Status().Failed
		expect(t, "failed", len(failed), n)
		expect(t, "reported", reported, n)
		if !slices.IsSortedFunc(failed, func(a, b tarn.FailedObject) int { return strings.Compare(a.Key, b.Key) }) {
			t.Error("not sorted")
		}
		for k := range n {
			if k%2 == 0 {
				src.Delete(key(k))
			} else {
				src.Update(widget(key(k), "n1", 1))
			}
		}
		synctest.Wait()
		expect(t, "failed", len(i.Status().Failed), 0)
		stop()
	})
}

// Ensures that the final state of a deleted object is as transformed as what was stored of it, whether it was deleted, no
// longer qualifies or is found missing; and that each object received is transformed once.
func TestInformer_Transform_FinalState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		for _, name := range []string{"a/deleted", "a/missing", "a/unwanted"} {
			src.Add(widget(name, "secret", 10))
		}
		calls := 0
		i := newInformer(t, src, tarn.Only(func(w *Widget) bool { return w.Spec.Size > 5 }),
			tarn.Transform(func(w *Widget) (*Widget, error) {
				if calls++; w.Spec.Node != "secret" {
					t.Errorf("%s was transformed before", w.Name)
				}
				w.Spec.Node = ""
				return w, nil
			}))
		var events []string
		_, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) {
			w, err := e.New()
			if err != nil || w.Spec.Node != "" {
				t.Errorf("%s %s: %+v %v", e.Type, e.Key, w, err)
			}
			events = append(events, e.Type.String()+" "+e.Key)
		}))
		stop := run(t, i)
		synctest.Wait()
		events = nil
		src.Update(widget("a/unwanted", "secret", 1))
		src.Delete("a/deleted")
		synctest.Wait()
		expect(t, "calls", calls, 5)
		src.FailNext(tarntest.WatchVerb, errors.New("down"))
		src.Disconnect(errors.New("cut"))
		src.Delete("a/missing")
		src.Expire()
		time.Sleep(2 * time.Minute) // fake time: it takes none
		synctest.Wait()
		expect(t, "events", events, "[deleted a/unwanted deleted a/deleted deleted a/missing]")
		stop()
	})
}

// Ensures that what a transform cannot do to an object that is not kept is not said to be kept and marked.
func TestInformer_Only_TransformOfLeftOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		var errs []string
		i := newInformer(t, src, tarn.Only(func(w *Widget) bool { return w.Spec.Size < 10 }),
			tarn.Transform(func(w *Widget) (*Widget, error) {
				if w.Spec.Size >= 10 {
					return nil, fmt.Errorf("too large")
				}
				return w, nil
			}), tarn.OnError(func(err error) { errs = append(errs, err.Error()) }))
		stop := run(t, i)
		synctest.Wait()
		src.Add(widget("a/big", "n1", 10))
		src.Update(widget("a/big", "n1", 11))
		synctest.Wait()
		expect(t, "errors", strings.Join(errs, "; "), "")
		stop()
	})
}
