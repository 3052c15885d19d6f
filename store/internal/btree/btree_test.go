package btree_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/store/internal/btree"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type tree = btree.Tree[int, int]

func newTree() tree { return btree.New[int, int](cmp.Compare[int]) }

// check compares a tree with the map that it must equal.
func check(t *testing.T, tr tree, model map[int]int) {
	t.Helper()
	if tr.Len() != len(model) {
		t.Fatalf("Len() = %d, want %d", tr.Len(), len(model))
	}
	keys := make([]int, 0, len(model))
	for k := range model {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	i := 0
	for k, v := range tr.All() {
		if i >= len(keys) || k != keys[i] || v != model[k] {
			t.Fatalf("All() item %d is %d=%d; want key and value of the model", i, k, v)
		}
		i++
	}
	if i != len(keys) {
		t.Fatalf("All() ended after %d of %d items", i, len(keys))
	}
	all, some := tr.Finger(), tr.Finger()
	for i, k := range keys {
		if v, ok := all.Get(k); !ok || v != model[k] {
			t.Fatalf("a finger gets %d, %v for %d; want %d", v, ok, k, model[k])
		}
		if k := k - i%5; i%3 == 0 { // some keys, now and then one that is not there
			if v, ok := some.Get(k); ok != has(model, k) || v != model[k] {
				t.Fatalf("another finger gets %d, %v for %d", v, ok, k)
			}
		}
		if v, ok := tr.Get(k); !ok || v != model[k] {
			t.Fatalf("Get(%d) = %d, %v; want %d", k, v, ok, model[k])
		}
		if v, ok := tr.Get(k + 1); ok != has(model, k+1) || v != model[k+1] {
			t.Fatalf("Get(%d) = %d, %v", k+1, v, ok)
		}
	}
}

func has(m map[int]int, k int) bool { _, ok := m[k]; return ok }

// Ensures that a tree equals a map after any mix of insertions, changes and deletions, that an earlier version does not
// change, and that this holds for random, rising and falling keys.
func TestTree_Edit_EqualsModel(t *testing.T) {
	orders := map[string]func(i, n int) int{
		"random":  func(_, n int) int { return rand.IntN(2 * n) },
		"rising":  func(i, _ int) int { return i * 2 },
		"falling": func(i, n int) int { return (n - i) * 2 },
	}
	for name, next := range orders {
		t.Run(name, func(t *testing.T) {
			const n = 8_000
			tr, model := newTree(), map[int]int{}
			for i := 0; i < n; {
				old, oldModel := tr, clone(model)
				e := tr.Edit()
				for range 1 + rand.IntN(1_500) {
					k := next(i, n)
					i++
					e.Set(k, i)
					model[k] = i
					if d := rand.IntN(3 * n); rand.IntN(3) == 0 {
						if e.Delete(d) != has(model, d) {
							t.Fatalf("Delete(%d) = %v", d, !has(model, d))
						}
						delete(model, d)
					}
				}
				tr = e.Tree()
				check(t, tr, model)
				check(t, old, oldModel)
			}
			// Shrinking to nothing goes through every kind of join.
			e := tr.Edit()
			for k := range clone(model) {
				e.Delete(k)
				delete(model, k)
				if len(model)%1000 == 0 {
					check(t, e.Tree(), model)
				}
			}
		})
	}
}

func clone(m map[int]int) map[int]int {
	c := make(map[int]int, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

// Ensures that a version taken in the middle of an edit stays as it was while the edit goes on.
func TestEdit_Tree_Frozen(t *testing.T) {
	e := newTree().Edit()
	model := map[int]int{}
	for i := range 1000 {
		e.Set(i, i)
		model[i] = i
	}
	mid := e.Tree()
	for i := range 1000 {
		if i%2 == 0 {
			e.Delete(i)
		} else {
			e.Set(i, -i)
		}
	}
	check(t, mid, model)
}

// Ensures that iteration starts at the first key not before the given one, that Ceil finds it, and that a loop can stop.
func TestTree_Ascend_From(t *testing.T) {
	e := newTree().Edit()
	for i := range 5000 {
		e.Set(i*3, i)
	}
	tr := e.Tree()
	for from := -2; from < 15_003; from++ {
		want, ok := max(0, (from+2)/3*3), from <= 14_997
		got, found := tr.Ceil(from)
		if found != ok || ok && got != want {
			t.Fatalf("Ceil(%d) = %d, %v; want %d, %v", from, got, found, want, ok)
		}
	}
	var got []int
	for k := range tr.Ascend(7000) {
		if got = append(got, k); len(got) == 200 {
			break
		}
	}
	if got[0] != 7002 || got[199] != 7002+199*3 || !slices.IsSorted(got) {
		t.Fatalf("Ascend(7000) = %v", got)
	}
	if _, ok := newTree().Ceil(1); ok {
		t.Fatal("an empty tree has a key")
	}
}

// Ensures that joining two leaves, of whatever sizes, changes nothing of the version before, with which they share keys.
func TestEdit_Delete_JoinKeepsOldVersions(t *testing.T) {
	for size := 22; size < 62; size++ { // of the left leaf
		e := newTree().Edit()
		model := map[int]int{}
		for i := range 83 {
			e.Set(i, i)
			model[i] = i
		}
		for i := range 62 - size {
			e.Delete(i)
			delete(model, i)
		}
		old := e.Tree()
		e = old.Edit()
		e.Delete(82)
		e.Delete(81)
		check(t, old, model)
		delete(model, 82)
		delete(model, 81)
		check(t, e.Tree(), model)
	}
}

// Ensures that Set keeps the stored key and only changes the value.
func TestEdit_Set_KeepsKey(t *testing.T) {
	type key struct{ id, tag int }
	e := btree.New[key, int](func(a, b key) int { return cmp.Compare(a.id, b.id) }).Edit()
	e.Set(key{1, 1}, 1)
	e.Set(key{1, 2}, 2)
	if k, _ := e.Ceil(key{id: 1}); k.tag != 1 {
		t.Fatalf("stored key is %v, want the first", k)
	}
	if v, _ := e.Get(key{id: 1}); v != 2 || e.Len() != 1 {
		t.Fatalf("value %d of %d keys, want 2 of 1", v, e.Len())
	}
}

// Ensures that a batch copies a touched node once: many changes of one leaf cost few allocations.
func TestEdit_Set_CopiesOnce(t *testing.T) {
	e := newTree().Edit()
	for i := range 50_000 {
		e.Set(i, i)
	}
	tr := e.Tree()
	allocs := testing.AllocsPerRun(10, func() {
		e := tr.Edit()
		for range 100 {
			for i := 1000; i < 1040; i++ {
				e.Set(i, -i)
			}
		}
		_ = e.Tree()
	})
	if allocs > 20 {
		t.Fatalf("4,000 changes within 40 keys took %.0f allocations, want at most 20", allocs)
	}
}
