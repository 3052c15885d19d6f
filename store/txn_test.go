package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// write puts objects into a scope and deletes keys, as one change.
func write(t testing.TB, s *store.Store, scope store.Scope, puts []*object.Object, deletes ...string) {
	t.Helper()
	var batch []*store.Prepared
	for _, o := range puts {
		p, err := s.Prepare(o)
		must(t, err)
		batch = append(batch, p)
	}
	must(t, s.Write(batch, func(tx *store.Txn) error {
		for _, p := range batch {
			tx.Put(p, scope)
		}
		for _, key := range deletes {
			tx.Delete(key)
		}
		return nil
	}))
}

// showChanges writes changes as "+new", "old>new" and "-old".
func showChanges(changes []store.Change) string {
	var out []string
	for _, c := range changes {
		switch {
		case c.Old.IsZero():
			out = append(out, "+"+show(c.New.Object()))
		case c.New.IsZero():
			out = append(out, "-"+show(c.Old.Object()))
		default:
			out = append(out, show(c.Old.Object())+">"+show(c.New.Object()))
		}
	}
	return strings.Join(out, " ")
}

// Ensures that everything done in one Write is published together, that the transaction sees its own changes and nobody
// else does, and that it tells what changed.
func TestStore_Write_Batch(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		must(t, s.Replace([]*object.Object{obj("a", "1", "p"), obj("b", "2", "p")}, "2"))
		before := s.Snapshot()
		var batch []*store.Prepared
		for _, o := range []*object.Object{obj("a", "3", "q"), obj("c", "4", "p"), obj("c", "5", "q")} {
			p, err := s.Prepare(o)
			must(t, err)
			want(t, "Prepared", p.Key()+" "+show(p.Ref().Object()), o.Key+" "+show(o))
			batch = append(batch, p)
		}
		must(t, s.Write(batch, func(tx *store.Txn) error {
			for _, p := range batch {
				tx.Put(p, 0)
			}
			if !tx.Delete("b") || tx.Delete("b") || tx.Delete("nope") {
				t.Error("Delete does not say whether there was something")
			}
			want(t, "Get", show(tx.Get("c").Object()), "c@5[q]")
			if !tx.Get("b").IsZero() {
				t.Error("a deleted object is still there")
			}
			tx.SetVersion(0, "5")
			if s.Snapshot() != before || tx.Seq() != before.Seq()+1 {
				t.Error("something was published too early")
			}
			want(t, "Changes", showChanges(tx.Changes()), "a@1[p]>a@3[q] +c@4[p] c@4[p]>c@5[q] -b@2[p]")
			return nil
		}))
		after := s.Snapshot()
		want(t, "All", showSeq(after.All()), "a@3[q] c@5[q]")
		want(t, "version", after.Version(), "5")
		wantBy(t, s, "v", "p", "")
		wantBy(t, s, "v", "q", "a@3[q] c@5[q]")
		if after.Seq() != before.Seq()+1 {
			t.Errorf("one Write took %d numbers", after.Seq()-before.Seq())
		}
	})
}

// Ensures that a Write that fails, panics or does nothing publishes nothing, and that the store works on as if it had
// not been.
func TestStore_Write_RolledBack(t *testing.T) {
	s := store.New(store.Options{Indexers: store.Indexers{"v": byValue}})
	write(t, s, 0, []*object.Object{obj("a", "1", "p"), obj("b", "2", "p"), obj("c", "3", "p")})
	write(t, s, 0, nil, "b")
	before := s.Snapshot()
	for range 3 {
		p, err := s.Prepare(obj("new", "4", "q"))
		must(t, err)
		mess := func(tx *store.Txn) {
			tx.Delete("a")
			tx.Put(p, 0)
			tx.DropScope(0)
			tx.SetVersion(0, "9")
			tx.Attach("x")
		}
		if err := s.Write([]*store.Prepared{p}, func(tx *store.Txn) error { mess(tx); return errFunc }); !errors.Is(err, errFunc) {
			t.Errorf("Write: %v, want the function's error", err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = s.Write([]*store.Prepared{p}, func(tx *store.Txn) error { mess(tx); panic("boom") })
		}()
		must(t, s.Write(nil, func(tx *store.Txn) error { tx.Delete("nope"); tx.DropScope(7); return nil }))
	}
	if s.Snapshot() != before {
		t.Error("something was published")
	}
	wantBy(t, s, "v", "p", "a@1[p] c@3[p]")
	stageEquals(t, s, obj("a", "1", "p"), obj("c", "3", "p"), obj("d", "4", "p"))
}

// Ensures that a Put of what the batch does not have is refused, because its index values could be out of date.
func TestTxn_Put_NotInBatch(t *testing.T) {
	s := store.New(store.Options{})
	p, err := s.Prepare(obj("a", "1"))
	must(t, err)
	defer func() {
		if recover() == nil || s.Snapshot().Len() != 0 {
			t.Error("Put accepted it")
		}
		must(t, s.Add(obj("a", "1"))) // the lock is free
	}()
	_ = s.Write(nil, func(tx *store.Txn) error { tx.Put(p, 0); return nil })
}

// Ensures that snapshot and attachment are taken together: a log whose length is attached always fits the state.
func TestTxn_Attach_Atomic(t *testing.T) {
	s := store.New(store.Options{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; i <= 2000; i++ {
			p, _ := s.Prepare(obj(fmt.Sprint(i), fmt.Sprint(i)))
			_ = s.Write([]*store.Prepared{p}, func(tx *store.Txn) error {
				n, _ := tx.Attached().(int)
				tx.Attach(n + 1)
				tx.Put(p, 0)
				return nil
			})
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		snap := s.Snapshot()
		if n, _ := snap.Attached().(int); n != snap.Len() {
			t.Fatalf("%d objects with %d attached", snap.Len(), n)
		}
	}
}

// Ensures that each scope has its own objects, version and freshness; that an object can move between scopes; that direct
// updates leave it in its scope; and that a scope is dropped alone.
func TestTxn_Scope_Separate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := store.New(store.Options{Indexers: store.Indexers{"v": byValue}})
		start := time.Now()
		write(t, s, 1, []*object.Object{obj("a/x", "1", "p"), obj("a/y", "2", "p")})
		write(t, s, 2, []*object.Object{obj("b/x", "3", "p"), obj("b/y", "4", "p")})
		must(t, s.Write(nil, func(tx *store.Txn) error { tx.SetVersion(1, "10"); return nil }))
		time.Sleep(time.Minute) // fake time
		must(t, s.Write(nil, func(tx *store.Txn) error { tx.SetVersion(2, "20"); tx.SetVersion(3, "30"); return nil }))
		check := func(scope store.Scope, n int, version string, updated time.Time) {
			t.Helper()
			if got := s.Snapshot().Scope(scope); got.Len != n || got.Version != version || !got.Updated.Equal(updated) {
				t.Errorf("scope %d: %d objects at %q, updated %v; want %d at %q, %v",
					scope, got.Len, got.Version, got.Updated, n, version, updated)
			}
		}
		check(0, 0, "", time.Time{})
		check(1, 2, "10", start)
		check(2, 2, "20", start.Add(time.Minute))
		check(3, 0, "30", start.Add(time.Minute))

		must(t, s.Update(obj("a/x", "", "q")))                       // stays in scope 1
		write(t, s, 1, []*object.Object{obj("b/y", "21", "p")})      // moves to scope 1
		must(t, s.Add(obj("new", "5", "q")))                         // goes to scope 0
		must(t, s.Replace(append(s.List(), obj("r", "6", "q")), "")) // moves nothing
		check(1, 3, "10", start)
		check(2, 1, "20", start.Add(time.Minute))
		must(t, s.Write(nil, func(tx *store.Txn) error {
			seen := ""
			for key, ref := range tx.Scope(1) {
				seen += key + "@" + ref.Version() + " "
				tx.Delete("b/y") // the loop goes by what was there when it started
			}
			want(t, "Scope(1)", seen, "a/x@ a/y@2 b/y@21 ")
			tx.DropScope(1)
			return nil
		}))
		check(1, 0, "", time.Time{})
		want(t, "List", show(s.List()...), "b/x@3[p] new@5[q] r@6[q]")
		wantBy(t, s, "v", "p", "b/x@3[p]")
	})
}
