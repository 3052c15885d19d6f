package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that what is stored already appears in an index that is added, that what is stored later does too, and that
// snapshots from before do not know it. [case 29]
func TestStore_AddIndexers_Live(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"ns": byNamespace}})
		const n = 1500 // more than one chunk
		for i := range n {
			must(t, s.Add(obj(fmt.Sprintf("n/%04d", i), "1", "all", fmt.Sprint(i))))
		}
		before := s.Snapshot()
		must(t, s.AddIndexers(store.Indexers{"v": byValue, "w": byValue}))
		for _, index := range []string{"v", "w"} {
			if keys, err := s.IndexKeys(index, "all"); err != nil || len(keys) != n {
				t.Fatalf("IndexKeys(%s, all): %d keys, %v; want %d", index, len(keys), err, n)
			}
			wantBy(t, s, index, "1234", "n/1234@1[all,1234]")
		}
		if _, err := before.By("v", "all"); !errors.Is(err, store.ErrUnknownIndex) {
			t.Errorf("an earlier snapshot has the new index: %v", err)
		}
		must(t, s.Update(obj("n/1234", "2", "q")))
		must(t, s.Add(obj("n/new", "3", "q")))
		wantBy(t, s, "v", "1234", "")
		wantBy(t, s, "w", "q", "n/1234@2[q] n/new@3[q]")
	})
}

// Ensures that a name that is taken is a conflict, that then none of the given indexes is added, and that GetIndexers is
// a copy. [case 29]
func TestStore_AddIndexers_Duplicate(t *testing.T) {
	given := store.Indexers{"a": byValue}
	s := store.New(store.Options{Indexers: given})
	given["late"] = byValue
	err := s.AddIndexers(store.Indexers{"0": byValue, "a": byValue})
	if !errors.Is(err, store.ErrIndexExists) || !strings.Contains(err.Error(), `"a"`) {
		t.Errorf("AddIndexers: %v, want ErrIndexExists with the name", err)
	}
	got := s.GetIndexers()
	got["mine"] = byValue
	want(t, "names", strings.Join(slices.Sorted(maps.Keys(s.GetIndexers())), " "), "a")
	must(t, s.AddIndexers(nil))
}

// Ensures that an index that fails for a stored object is not added, leaves nothing behind, and can be added under the
// same name once it works; objects that were prepared in between included.
func TestStore_AddIndexers_Fails(t *testing.T) {
	s := store.New(store.Options{Indexers: store.Indexers{"v": byValue}})
	must(t, s.Add(obj("a", "1", "p")))
	must(t, s.Add(obj("k", "2", "p")))
	var between *store.Prepared
	err := s.AddIndexers(store.Indexers{"new": func(o *object.Object) ([]string, error) {
		if o.Key == "a" {
			between, _ = s.Prepare(obj("m", "3", "p"))
			must(t, s.Add(obj("n", "4", "p")))
			if _, err := s.ByIndex("new", "x"); !errors.Is(err, store.ErrUnknownIndex) {
				t.Errorf("an index that is not complete answers: %v", err)
			}
		}
		return failing("k")(o)
	}})
	var ie *store.IndexError
	if !errors.As(err, &ie) || ie.Index != "new" || ie.Key != "k" || !errors.Is(err, errFunc) {
		t.Fatalf("AddIndexers: %v, want an IndexError for k", err)
	}
	if len(s.GetIndexers()) != 1 {
		t.Errorf("indexers: %v", s.GetIndexers())
	}
	must(t, s.Write([]*store.Prepared{between}, func(tx *store.Txn) error { tx.Put(between, 0); return nil }))
	must(t, s.AddIndexers(store.Indexers{"new": byValue}))
	wantBy(t, s, "new", "p", "a@1[p] k@2[p] m@3[p] n@4[p]")
	wantBy(t, s, "new", "x", "")
	for _, o := range s.List() {
		must(t, s.Delete(o))
	}
	wantBy(t, s, "new", "p", "")
	wantBy(t, s, "v", "p", "")
}

// Ensures that a tolerant store adds the index, leaves out and marks the object that it fails for, and reports it.
func TestStore_AddIndexers_Tolerant(t *testing.T) {
	var reports []string
	s := store.New(store.Options{OnError: func(o *object.Object, err error) { reports = append(reports, err.Error()) }})
	must(t, s.Add(obj("j", "1", "p")))
	must(t, s.Add(obj("k", "2", "p")))
	must(t, s.AddIndexers(store.Indexers{"f": failing("k")}))
	wantBy(t, s, "f", "x", "j@1[p]")
	got, _ := s.GetByKey("k")
	if !errors.Is(got.Err, errFunc) {
		t.Errorf("the object carries %v, want the error", got.Err)
	}
	want(t, "reports", strings.Join(reports, "\n"), `k: index "f": `+errFunc.Error())
}

// Ensures that an object that was prepared before an index was added is in it after its put, whether the function fails
// for it or not.
func TestStore_Write_PreparedBeforeIndex(t *testing.T) {
	put := func(s *store.Store, p *store.Prepared) error {
		return s.Write([]*store.Prepared{p}, func(tx *store.Txn) error { tx.Put(p, 0); return nil })
	}
	strict := store.New(store.Options{})
	good, err := strict.Prepare(obj("j", "1", "p"))
	must(t, err)
	poor, err := strict.Prepare(obj("k", "2", "p"))
	must(t, err)
	must(t, strict.AddIndexers(store.Indexers{"f": failing("k")}))
	must(t, put(strict, good))
	wantBy(t, strict, "f", "x", "j@1[p]")
	if err := put(strict, poor); !errors.Is(err, errFunc) || strict.Snapshot().Len() != 1 {
		t.Errorf("Write: %v, want the new function's error and no change", err)
	}

	reports := 0
	tolerant := store.New(store.Options{OnError: func(*object.Object, error) { reports++ }})
	poor, err = tolerant.Prepare(obj("k", "2", "p"))
	must(t, err)
	must(t, tolerant.AddIndexers(store.Indexers{"f": failing("k")}))
	must(t, put(tolerant, poor))
	wantBy(t, tolerant, "f", "x", "")
	if got, _ := tolerant.GetByKey("k"); got.Err == nil || reports != 1 || poor.Err() == nil {
		t.Errorf("the object carries %v, %d reports; want a mark and 1 report", got.Err, reports)
	}
}

// Ensures that an index that is added while many goroutines write ends up exactly right.
func TestStore_AddIndexers_WhileWriting(t *testing.T) {
	s := store.New(store.Options{})
	const n = 3000
	for i := range n {
		must(t, s.Add(obj(fmt.Sprint(i), "1", "old")))
	}
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 3 {
		writers.Go(func() {
			for i := w; ; i += 3 {
				select {
				case <-stop:
					return
				default:
				}
				key := fmt.Sprint(i % n)
				if i%5 == 0 {
					_ = s.Delete(named(key))
				}
				_ = s.Add(obj(key, "2", "new", key))
			}
		})
	}
	for round := range 5 {
		must(t, s.AddIndexers(store.Indexers{fmt.Sprint("v", round): byValue}))
	}
	close(stop)
	writers.Wait()
	model := map[string][]string{}
	for _, o := range s.List() {
		v, _ := o.View()
		for _, value := range v.(*thing).Values {
			model[value] = append(model[value], o.Key)
		}
	}
	for round := range 5 {
		wantIndex(t, s, fmt.Sprint("v", round), model)
	}
}

// wantIndex checks a whole index against the keys by value that it should have.
func wantIndex(t *testing.T, s *store.Store, index string, model map[string][]string) {
	t.Helper()
	values, err := s.ListIndexFuncValues(index)
	must(t, err)
	if wantValues := slices.Sorted(maps.Keys(model)); !slices.Equal(values, wantValues) {
		t.Fatalf("index %s has %d values, want %d", index, len(values), len(wantValues))
	}
	for value, keys := range model {
		got, err := s.IndexKeys(index, value)
		must(t, err)
		if slices.Sort(keys); !slices.Equal(got, keys) {
			t.Fatalf("index %s has %v under %s, want %v", index, got, value, keys)
		}
	}
}
