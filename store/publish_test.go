package store_test

import (
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
