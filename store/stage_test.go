package store_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// A Stage has the methods that a reflector asks of one.
var _ interface {
	Add(obj *object.Object) error
	Delete(obj *object.Object) error
	Commit(version string, newEpoch bool) error
	Abort()
} = (*store.Stage)(nil)

// commit commits a stage and returns what changed.
func commit(t *testing.T, g *store.Stage, version string, newEpoch bool) (changes string) {
	t.Helper()
	must(t, g.CommitFunc(version, newEpoch, func(tx *store.Txn) error {
		changes = showChanges(tx.Changes())
		return nil
	}))
	return changes
}

// stageEquals stages a list into scope 0 and checks that the store then has exactly that.
func stageEquals(t *testing.T, s *store.Store, list ...*object.Object) {
	t.Helper()
	g := s.Stage(0, false)
	for _, o := range list {
		must(t, g.Add(o))
	}
	must(t, g.Commit("77", false))
	want(t, "List", show(s.List()...), show(list...))
}

// Ensures that a relist touches only what changed, deletions first, as one change, and that nothing is seen before.
func TestStage_Commit_OnlyDifference(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		same, noVersion := obj("same", "1", "p"), obj("unversioned", "", "p")
		write(t, s, 0, []*object.Object{same, noVersion, obj("changed", "2", "p"), obj("gone", "3", "p"), obj("other uid", "4", "p")})
		write(t, s, 1, []*object.Object{obj("other scope", "5", "p")})
		before := s.Snapshot()
		kept := before.Ref("same").Object()
		reborn := obj("other uid", "4", "r")
		reborn.UID = "another"
		g := s.Stage(0, false)
		for _, o := range []*object.Object{obj("new", "9", "q"), obj("same", "1", "p"), reborn, obj("changed", "8", "q"), obj("unversioned", "", "p")} {
			must(t, g.Add(o))
		}
		if s.Snapshot() != before {
			t.Error("something was published before the commit")
		}
		want(t, "changes", commit(t, g, "10", false),
			"-gone@3[p] +new@9[q] other uid@4[p]>other uid@4[r] changed@2[p]>changed@8[q] unversioned@[p]>unversioned@[p]")
		want(t, "All", showSeq(s.Snapshot().All()), "changed@8[q] new@9[q] other scope@5[p] other uid@4[r] same@1[p] unversioned@[p]")
		wantBy(t, s, "v", "q", "changed@8[q] new@9[q]")
		if got, _ := s.GetByKey("same"); layout != store.Lean && got != kept { // lean makes it anew each time
			t.Error("what did not change was replaced")
		}
		want(t, "version", s.Snapshot().Scope(0).Version, "10")
		if s.Snapshot().Seq() != before.Seq()+1 {
			t.Error("the commit was more than one change")
		}
	})
}

// Ensures that the last of several items of a key counts, and that an item can be taken out again.
func TestStage_Add_LastCounts(t *testing.T) {
	p1, p2 := obj("k", "1", "p"), obj("k", "2", "q")
	for name, c := range map[string]struct {
		do   func(g *store.Stage) error
		want string
	}{
		"unchanged, changed": {func(g *store.Stage) error { return errors.Join(g.Add(p1), g.Add(p2)) }, "k@2[q]"},
		"changed, unchanged": {func(g *store.Stage) error { return errors.Join(g.Add(p2), g.Add(p1)) }, "k@1[p]"},
		"changed, deleted":   {func(g *store.Stage) error { return errors.Join(g.Add(p2), g.Delete(p2)) }, ""},
		"unchanged, deleted": {func(g *store.Stage) error { return errors.Join(g.Add(p1), g.Delete(p1)) }, ""},
		"deleted, unchanged": {func(g *store.Stage) error { return errors.Join(g.Delete(p1), g.Add(p1)) }, "k@1[p]"},
		"deleted":            {func(g *store.Stage) error { return g.Delete(p1) }, ""},
		"deleted, another":   {func(g *store.Stage) error { return g.Delete(named("nope")) }, ""},
	} {
		for _, suspect := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s := store.New(store.Options{})
				must(t, s.Add(p1))
				g := s.Stage(0, suspect)
				must(t, c.do(g))
				must(t, g.Commit("3", suspect))
				want(t, "List", show(s.List()...), c.want)
			})
		}
	}
}

// Ensures that a stage that is aborted, or whose last step fails, leaves no trace.
func TestStage_Abort_NoTrace(t *testing.T) {
	s := store.New(store.Options{})
	must(t, s.Add(obj("a", "1")))
	before := s.Snapshot()
	g := s.Stage(0, false)
	must(t, g.Add(obj("b", "2")))
	g.Abort()
	g = s.Stage(0, false)
	must(t, g.Add(obj("b", "2")))
	if err := g.CommitFunc("3", false, func(*store.Txn) error { return errFunc }); !errors.Is(err, errFunc) {
		t.Errorf("CommitFunc: %v, want the function's error", err)
	}
	if s.Snapshot() != before {
		t.Error("a trace was left")
	}
}

// Ensures that in a new epoch every item counts as changed, that a suspect stage of the old epoch still touches only the
// difference, and that a stage that was not opened as suspect refuses.
func TestStage_Commit_NewEpoch(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		run := func(suspect, newEpoch bool) (string, error) {
			s := store.New(store.Options{Layout: layout})
			write(t, s, 0, []*object.Object{obj("a", "1", "p"), obj("b", "2", "p")})
			g := s.Stage(0, suspect)
			must(t, g.Add(obj("a", "1", "other"))) // equal by version only
			var changes string
			err := g.CommitFunc("1", newEpoch, func(tx *store.Txn) error { changes = showChanges(tx.Changes()); return nil })
			return changes, err
		}
		got, err := run(true, true)
		must(t, err)
		want(t, "new epoch", got, "-b@2[p] a@1[p]>a@1[other]")
		got, err = run(true, false)
		must(t, err)
		want(t, "same epoch", got, "-b@2[p]")
		if _, err = run(false, true); err == nil {
			t.Error("a new epoch was accepted by a stage that had not kept what it takes")
		}
	})
}

// Ensures that the list wins over what others write between the stage's start and its commit, slots that are reused in
// between included.
func TestStage_Commit_ForeignWriter(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		write(t, s, 0, []*object.Object{obj("a", "1", "p"), obj("b", "2", "p"), obj("c", "3", "p"), obj("d", "4", "p"), obj("e", "5", "p")})
		g := s.Stage(0, false)
		for _, o := range []*object.Object{obj("a", "1", "p"), obj("b", "2", "p"), obj("c", "3", "p"), obj("d", "9", "q")} {
			must(t, g.Add(o))
		}
		must(t, s.Delete(named("a")))                        // listed as unchanged: comes back
		must(t, s.Add(obj("z", "6", "p")))                   // takes a's slot, is not listed: goes
		must(t, s.Update(obj("b", "7", "p")))                // listed as unchanged: is as listed again
		write(t, s, 1, nil, "c")                             // listed, and now ...
		write(t, s, 1, []*object.Object{obj("c", "8", "p")}) // ... in another scope: comes back
		must(t, s.Delete(named("d")))                        // listed as changed
		must(t, s.Update(obj("e", "8", "p")))                // not listed
		must(t, s.AddIndexers(store.Indexers{"w": byValue}))
		must(t, g.Commit("10", false))
		want(t, "All", showSeq(s.Snapshot().All()), "a@1[p] b@2[p] c@3[p] d@9[q]")
		for _, index := range []string{"v", "w"} {
			wantBy(t, s, index, "p", "a@1[p] b@2[p] c@3[p]")
			wantBy(t, s, index, "q", "d@9[q]")
		}
		if n := s.Snapshot().Scope(0).Len; n != 4 {
			t.Errorf("Scope(0).Len = %d, want 4", n)
		}
	})
}

// Ensures that an item that cannot be prepared is that item's error, and that what is stored of it stays.
func TestStage_Add_Fails(t *testing.T) {
	for _, suspect := range []bool{false, true} {
		s := store.New(store.Options{Indexers: store.Indexers{"v": byValue}})
		write(t, s, 0, []*object.Object{obj("a", "1", "p"), obj("b", "2", "p")})
		g := s.Stage(0, suspect)
		if err := errors.Join(g.Add(bad("a", "3")), g.Add(obj("b", "2", "p"))); err == nil {
			t.Error("Add accepted an object that the index fails for")
		}
		if err := g.Add(bad("new", "3")); err == nil {
			t.Error("Add accepted an object that the index fails for")
		}
		must(t, g.Commit("4", suspect))
		want(t, "List", show(s.List()...), "a@1[p] b@2[p]")
	}
}

// Ensures that an object that failed is tried again by each relist, even at the same version.
func TestStage_Add_RetriesFailed(t *testing.T) {
	broken, reports := true, 0
	s := store.New(store.Options{
		Indexers: store.Indexers{"v": func(o *object.Object) ([]string, error) {
			if broken {
				return nil, errFunc
			}
			return []string{"x"}, nil
		}},
		OnError: func(*object.Object, error) { reports++ },
	})
	must(t, s.Add(obj("a", "1", "p")))
	stageEquals(t, s, obj("a", "1", "p"))
	if got, _ := s.GetByKey("a"); got.Err == nil || reports != 1 {
		t.Errorf("mark %v, %d reports; want a mark, 1 report", got.Err, reports)
	}
	broken = false
	stageEquals(t, s, obj("a", "1", "p"))
	if got, _ := s.GetByKey("a"); got.Err != nil {
		t.Errorf("still marked with %v", got.Err)
	}
	wantBy(t, s, "v", "x", "a@1[p]")
}
