package tarn_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

// What is there comes as initial adds, what happens then as it happens; the store is ahead of the handler.
func TestInformer_Subscribe_Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		src.Add(widget("b/two", "n1", 2))
		i := newInformer(t, src)
		r, s := subscribe(t, i)
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/one 1 initial, added b/two 2 initial")
		expect(t, "informer synced", i.HasSynced(), true)
		expect(t, "handler synced", s.HasSynced(), true)

		src.Update(widget("a/one", "n1", 10))
		src.Add(widget("c/three", "n2", 3))
		src.Delete("b/two")
		expect(t, "events", r.take(), "updated a/one 1>10, added c/three 3, deleted b/two 2")
		w, ok, err := i.Get("a/one")
		if err != nil || !ok || w.Spec.Size != 10 {
			t.Errorf("Get: %v %v %v", w, ok, err)
		}
		if _, ok, _ := i.Get("b/two"); ok {
			t.Error("the deleted object is still there")
		}
		stop()
	})
}

// A handler that is added late first gets every stored object, with no gap and no repetition; one that is removed gets
// nothing any more, also when removed twice, and of two equal handlers only the named one goes.
func TestInformer_Subscribe_LateAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		r := &recorder{}
		first, _ := i.Subscribe(r)
		stop := run(t, i)
		expect(t, "first", r.take(), "added a/one 1 initial")
		src.Update(widget("a/one", "n1", 2))
		synctest.Wait()
		second, _ := i.Subscribe(r)
		expect(t, "both", r.take(), "updated a/one 1>2, added a/one 2 initial")
		expect(t, "late handler synced", second.HasSynced(), true)
		src.Update(widget("a/one", "n1", 3))
		expect(t, "both follow", r.take(), "updated a/one 2>3, updated a/one 2>3")
		first.Remove()
		first.Remove()
		if err := first.RemoveAndWait(t.Context()); err != nil {
			t.Error(err)
		}
		src.Update(widget("a/one", "n1", 4))
		expect(t, "one is left", r.take(), "updated a/one 3>4")
		stop()
	})
}

// RemoveAndWait waits for the running call; asked for by the handler itself it is an error, not a deadlock.
func TestSubscription_RemoveAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		entered, leave := make(chan struct{}), make(chan struct{})
		var s *tarn.Subscription
		var own error
		s, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(ctx context.Context, _ tarn.Event[*Widget]) {
			close(entered)
			<-leave
			own = s.RemoveAndWait(ctx)
		}))
		stop := run(t, i)
		<-entered
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.RemoveAndWait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the handler runs: %v", err)
		}
		close(leave)
		if err := s.RemoveAndWait(t.Context()); err != nil {
			t.Error(err)
		}
		if own == nil || !strings.Contains(own.Error(), "own end") {
			t.Errorf("from the handler itself: %v", own)
		}
		stop()
	})
}

// Case 31: after a lost watch, an object with a new version is an update for everybody; one with the same version only
// reaches handlers that asked for resync. Deletions come before adds and updates.
func TestInformer_Relist_Case31(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/gone", "n1", 0))
		src.Add(widget("a/x", "n1", 1))
		src.Add(widget("a/y", "n1", 1))
		i := newInformer(t, src)
		plain, _ := subscribe(t, i)
		resyncing, _ := subscribe(t, i, tarn.Resync(time.Hour))
		stop := run(t, i)
		synctest.Wait()
		plain.take()
		resyncing.take()

		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		synctest.Wait()
		src.Update(widget("a/x", "n1", 2))
		src.Delete("a/gone")
		src.Add(widget("a/new", "n1", 3))
		src.Expire()
		src.OnRequest(nil)
		time.Sleep(2 * time.Minute) // fake time: the backoff
		expect(t, "plain", plain.take(), "deleted a/gone 0 unknown, added a/new 3, updated a/x 1>2")
		expect(t, "resyncing", resyncing.take(), "deleted a/gone 0 unknown, added a/new 3, updated a/x 1>2, sync a/y 1")
		stop()
	})
}

// A recreated object that a relist finds under the same key is another one: the old is deleted, the new one added.
func TestInformer_Relist_OtherUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/x", "n1", 1))
		i := newInformer(t, src)
		r, _ := subscribe(t, i)
		stop := run(t, i)
		r.take()
		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		src.Delete("a/x")
		src.Add(widget("a/x", "n1", 2))
		src.Expire()
		src.OnRequest(nil)
		time.Sleep(2 * time.Minute)
		expect(t, "events", r.take(), "deleted a/x 1 unknown, added a/x 2")
		stop()
	})
}

// Case 32: with a slow handler the informer is synced early, the handler only after its last initial add has returned.
func TestInformer_HasSynced_Case32(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			src.Add(widget("a/"+n, "n1", 1))
		}
		i := newInformer(t, src)
		r := &recorder{block: make(chan struct{})}
		s, _ := i.Subscribe(r)
		stop := run(t, i)
		for n := range 5 {
			synctest.Wait()
			if !i.HasSynced() || s.HasSynced() {
				t.Fatalf("after %d calls: informer %v, handler %v", n, i.HasSynced(), s.HasSynced())
			}
			r.block <- struct{}{}
		}
		synctest.Wait()
		select {
		case <-s.Synced():
		default:
			t.Error("not synced after the fifth add returned")
		}
		if got := r.take(); strings.Count(got, "initial") != 5 {
			t.Errorf("all five are initial: %s", got)
		}
		stop()
	})
}

// An empty collection syncs informer and handlers, and a handler's panic in the last initial add counts as returned.
func TestInformer_HasSynced_EmptyAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInformer(t, newSource())
		_, s := subscribe(t, i)
		stop := run(t, i)
		synctest.Wait()
		expect(t, "synced", i.HasSynced() && s.HasSynced(), true)
		stop()

		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		var reported []error
		i = newInformer(t, src, tarn.OnError(func(err error) { reported = append(reported, err) }))
		var calls []string
		s, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) {
			calls = append(calls, e.Key)
			if e.Key == "a/one" {
				panic("oh")
			}
		}), tarn.SubscriberName("fragile"))
		stop = run(t, i)
		synctest.Wait()
		expect(t, "synced after the panic", s.HasSynced(), true)
		src.Add(widget("a/two", "n1", 1))
		synctest.Wait()
		expect(t, "the next event still comes", calls, []string{"a/one", "a/two"})
		expect(t, "reported with its name", reported, []string{"fragile: handler: panic: oh"})
		expect(t, "counted", s.Status().Panics, 1)
		stop()
	})
}

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
		time.Sleep(2 * time.Minute)
		expect(t, "tombstone", r.take(), "deleted a/small 11 unknown")
		stop()
	})
}

// Case 35: a handler that blocks for ever delays nobody else and does not grow without bound; its backlog shows, and once
// released it gets the newest state of every key.
func TestInformer_Blocked_Case35(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, rounds = 50, 400
		src := newSource()
		i := newInformer(t, src)
		blocked := &recorder{block: make(chan struct{})}
		s, _ := i.Subscribe(blocked, tarn.Backlog(1000, 0))
		var free atomic.Int64
		_, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(context.Context, tarn.Event[*Widget]) { free.Add(1) }))
		stop := run(t, i)
		synctest.Wait()
		name := func(n int) string { return "a/" + string(rune('A'+n%26)) + string(rune('a'+n/26)) }
		for n := range keys {
			src.Add(widget(name(n), "n", 0))
		}
		for round := 1; round <= rounds; round++ {
			for n := range keys {
				src.Update(widget(name(n), "n", round))
			}
			synctest.Wait()
			if b := s.Status().Backlog; b > 1000+keys {
				t.Fatalf("backlog of %d", b)
			}
		}
		expect(t, "the other handler", free.Load(), keys*(rounds+1))
		if c := s.Status().Conflated; c < keys*(rounds-30) {
			t.Errorf("only %d conflated", c)
		}
		close(blocked.block)
		events := strings.Split(blocked.take(), ", ")
		newest := map[string]string{}
		for _, e := range events {
			f := strings.Fields(e)
			newest[f[1]] = f[2][strings.Index(f[2], ">")+1:]
		}
		expect(t, "keys seen", len(newest), keys)
		for key, size := range newest {
			if size != "400" {
				t.Errorf("%s ended at %s", key, size)
			}
		}
		expect(t, "backlog", s.Status().Backlog, 0)
		stop()
	})
}

// Case 36: no right to list, or no such resource: waiting for sync says so and why, in one line; it syncs by itself when
// that changes.
func TestInformer_WaitSynced_Case36(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New("no rights"))
		src.OnRequest(func(context.Context, tarntest.Request) error { return forbidden })
		i := newInformer(t, src)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := i.WaitSynced(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "call Run") {
			t.Errorf("before Run: %v", err)
		}
		stop := run(t, i)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		err = i.WaitSynced(ctx)
		cancel()
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not a 403 and a deadline: %v", err)
		}
		for _, part := range []string{"not synced: widgets", "no rights", "attempts", "retrying in"} {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("no %q in one line: %v", part, err)
			}
		}
		src.OnRequest(nil)
		if err := tarn.WaitSynced(t.Context(), i, i); err != nil {
			t.Error(err)
		}
		expect(t, "objects", i.Len(), 1)
		stop()
	})
}

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

func collect(t *testing.T, seq func(func(*Widget, error) bool)) (names []string) {
	t.Helper()
	for w, err := range seq {
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, w.Name)
	}
	return names
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

// Several conditions are answered from one state; a label selector and a namespace need no decoding.
func TestInformer_List_Conditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1, "app", "web"))
		src.Add(widget("a/two", "n2", 1, "app", "web"))
		src.Add(widget("b/one", "n1", 1, "app", "db"))
		i := newInformer(t, src, tarn.IndexField("node", "spec.node"), tarn.IndexLabel("app", "app"))
		stop := run(t, i)
		synctest.Wait()
		expect(t, "two indexes", collect(t, i.List(tarn.Indexed("node", "n1"), tarn.Indexed("app", "web"))), []string{"one"})
		expect(t, "namespace", collect(t, i.List(tarn.InNamespace("a"))), []string{"one", "two"})
		expect(t, "labels", collect(t, i.List(tarn.HasLabels("app!=web"))), []string{"one"})
		for _, err := range i.List(tarn.HasLabels("a b")) {
			if err == nil {
				t.Error("a selector that cannot be read is an error")
			}
		}
		values, err := i.IndexValues("node")
		expect(t, "index values", values, []string{"n1", "n2"})
		expect(t, "no error", err, nil)
		field, ok, err := i.Field("b/one", "spec.node")
		if !ok || err != nil || !slices.Equal(field, []string{"n1"}) {
			t.Errorf("Field: %v %v %v", field, ok, err)
		}
		l := i.Lister()
		if _, err := l.Namespace("a").Get("three"); !apierrors.IsNotFound(err) {
			t.Errorf("lister: %v", err)
		}
		got, err := l.Namespace("a").List(nil)
		expect(t, "lister", len(got), 2)
		expect(t, "no error", err, nil)
		old := i.Snapshot()
		src.Delete("a/one")
		synctest.Wait()
		if _, ok := old.Object("a/one"); !ok {
			t.Error("a snapshot changed")
		}
		stop()
	})
}

// Only decides what is kept: an object that stops to qualify is deleted.
func TestInformer_Only(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/big", "n1", 10))
		src.Add(widget("a/small", "n1", 1))
		i := newInformer(t, src, tarn.Only(func(w *Widget) bool { return w.Spec.Size >= 10 }))
		r, _ := subscribe(t, i)
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/big 10 initial")
		src.Update(widget("a/big", "n1", 2))
		src.Update(widget("a/small", "n1", 12))
		expect(t, "transitions", r.take(), "deleted a/big 2, added a/small 12")
		expect(t, "stored", i.Len(), 1)
		stop()
	})
}

// Resync hands out every stored object each period, rounded to the grid of the smallest period asked for before start.
func TestInformer_Resync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		quick, _ := subscribe(t, i, tarn.Resync(time.Millisecond)) // a second at least
		never, _ := subscribe(t, i)
		stop := run(t, i)
		synctest.Wait()
		late, _ := subscribe(t, i, tarn.Resync(2500*time.Millisecond)) // rounded up to three
		quick.take()
		never.take()
		expect(t, "late", late.take(), "added a/one 1 initial")
		time.Sleep(3100 * time.Millisecond)
		expect(t, "quick", quick.take(), "sync a/one 1, sync a/one 1, sync a/one 1")
		expect(t, "late", late.take(), "sync a/one 1")
		expect(t, "never", never.take(), "")
		stop()
	})
}

// Run may be called again: what is stored is kept and brought up to date, subscriptions go on from where they were. Two
// runs at once are an error.
func TestInformer_Run_Again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/gone", "n1", 1))
		src.Add(widget("a/kept", "n1", 1))
		src.Add(widget("a/same", "n1", 1))
		i := newInformer(t, src)
		r, s := subscribe(t, i)
		stop := run(t, i)
		r.take()
		if err := i.Run(t.Context()); !errors.Is(err, tarn.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		stop()
		src.Update(widget("a/kept", "n1", 2))
		src.Delete("a/gone")
		expect(t, "still stored", i.Len(), 3)
		stop = run(t, i)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "the difference", r.take(), "deleted a/gone 1 unknown, updated a/kept 1>2")
		expect(t, "handler synced", s.HasSynced(), true)
		stop()
	})
}

// Values that are read are private: changing one changes nothing that others see.
func TestInformer_Get_Private(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range [][]tarn.Option{nil, {tarn.Live()}} {
			src := newSource()
			src.Add(widget("a/one", "n1", 1, "app", "web"))
			i := newInformer(t, src, layout...)
			stop := run(t, i)
			synctest.Wait()
			w, _, _ := i.Get("a/one")
			w.Spec.Size, w.Labels["app"] = 99, "changed"
			w, _, _ = i.Get("a/one")
			if w.Spec.Size != 1 || w.Labels["app"] != "web" {
				t.Errorf("the cache was changed: %+v", w)
			}
			stop()
		}
	})
}

// Mistakes in the options are errors that say what is wrong, before anything runs.
func TestNew_Errors(t *testing.T) {
	codec := tarntest.JSON[Widget]()
	for name, tc := range map[string]struct {
		option tarn.Option
		want   string
	}{
		"wrong path":       {tarn.IndexField("node", "spec.nodeName"), "nodeName"},
		"function of type": {tarn.IndexFunc("x", func(string) ([]string, error) { return nil, nil }), "takes string"},
		"predicate":        {tarn.Only(func(int) bool { return true }), "takes int"},
		"hub options":      {tarn.Namespace("a"), "hub"},
		"index twice":      {func() tarn.Option { return nil }(), ""},
	} {
		options := []tarn.Option{tc.option}
		if tc.option == nil {
			options = []tarn.Option{tarn.IndexLabel("a", "x"), tarn.IndexLabel("a", "y")}
			tc.want = "exists"
		}
		_, err := tarn.New[*Widget](newSource(), codec, options...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	i := newInformer(t, newSource())
	if _, err := i.Subscribe(nil); err == nil {
		t.Error("no handler is an error")
	}
	if _, err := i.Subscribe(&recorder{}, tarn.WhereLabels("a b")); err == nil {
		t.Error("a selector that cannot be read is an error")
	}
	if _, err := i.Subscribe(&recorder{}, tarn.Where(func(int) bool { return true })); err == nil {
		t.Error("a filter of another type is an error")
	}
}
