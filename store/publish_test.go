package store_test

import (
	"errors"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that a list that is published as it arrives shows what has come so far, deletes nothing before its commit, and
// then is exactly the list, items that were replaced or taken out after they were published included.
func TestStage_Publish_AsItArrives(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		write(t, s, 0, []*object.Object{obj("old", "1", "p"), obj("same", "2", "p")})
		g := s.Stage(0, false)
		publish := func(changes string) {
			t.Helper()
			must(t, g.Publish(func(tx *store.Txn) error {
				want(t, "changes", showChanges(tx.Changes()), changes)
				return nil
			}))
			if n := g.Waiting(); n != 0 {
				t.Errorf("%d items wait after they were published", n)
			}
		}
		must(t, g.Add(obj("a", "3", "p")))
		must(t, g.Add(obj("b", "4", "p")))
		must(t, g.Add(obj("same", "2", "p")))
		if n := g.Waiting(); n != 2 {
			t.Errorf("%d items wait, want 2", n)
		}
		publish("+a@3[p] +b@4[p]")
		want(t, "List", show(s.List()...), "a@3[p] b@4[p] old@1[p] same@2[p]")
		must(t, g.Add(obj("a", "5", "q")))
		must(t, g.Add(obj("c", "6", "p")))
		must(t, g.Delete(obj("b", "7")))
		publish("a@3[p]>a@5[q] +c@6[p]")
		want(t, "changes of the commit", commit(t, g, "8", false), "-b@4[p] -old@1[p]")
		want(t, "List", show(s.List()...), "a@5[q] c@6[p] same@2[p]")
		wantBy(t, s, "v", "p", "c@6[p] same@2[p]")
	})
}

// Ensures that after a Publish that failed everything waits as before: the next one, deletions and further items do what they
// would have done.
func TestStage_Publish_Fails(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		for name, tc := range map[string]struct {
			then func(g *store.Stage)
			want string
		}{
			"another": {func(g *store.Stage) { must(t, g.Publish(func(*store.Txn) error { return nil })) }, "a@2[] b@1[] c@1[] d@1[]"},
			"delete":  {func(g *store.Stage) { must(t, g.Delete(obj("b", "1"))) }, "a@2[] c@1[] d@1[]"},
			"replace": {func(g *store.Stage) { must(t, g.Add(obj("b", "2"))) }, "a@2[] b@2[] c@1[] d@1[]"},
		} {
			s := store.New(store.Options{Layout: layout})
			g := s.Stage(0, false)
			for _, o := range []*object.Object{obj("a", "1"), obj("a", "2"), obj("b", "1")} {
				must(t, g.Add(o))
			}
			if err := g.Publish(func(*store.Txn) error { return errFunc }); !errors.Is(err, errFunc) || s.Snapshot().Len() != 0 {
				t.Fatalf("%s: %v, %d objects", name, err, s.Snapshot().Len())
			}
			tc.then(g)
			must(t, g.Add(obj("c", "1")))
			must(t, g.Add(obj("d", "1")))
			must(t, g.Commit("5", false))
			want(t, name, show(s.List()...), tc.want)
		}
	})
}
