package store_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// heap returns the bytes in live objects.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Ensures that of 100,000 short-lived objects, each with an index value of its own, nothing is left when they are
// deleted: neither in the index nor in memory, whether they come together or one after another. [case 28]
func TestStore_Delete_GivesMemoryBack(t *testing.T) {
	const n = 100_000
	add := func(s *store.Store, from, to int) {
		var objs []*object.Object
		for i := from; i < to; i++ {
			objs = append(objs, sized(i, "1"))
		}
		put(t, s, objs...)
	}
	remove := func(s *store.Store, from, to int) {
		must(t, s.Write(nil, func(tx *store.Txn) error {
			for i := from; i < to; i++ {
				tx.Delete(sized(i, "").Key)
			}
			return nil
		}))
	}
	runs := map[string]func(s *store.Store) (peak int64){
		"together": func(s *store.Store) int64 {
			before := heap()
			for i := 0; i < n; i += 1000 {
				add(s, i, i+1000)
			}
			peak := heap() - before
			for i := 0; i < n; i += 1000 {
				remove(s, i, i+1000)
			}
			return peak
		},
		"one after another": func(s *store.Store) int64 {
			for i := range n / 5 {
				add(s, i, i+1)
				remove(s, i, i+1)
			}
			return 0
		},
	}
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		for name, run := range runs {
			t.Run(name, func(t *testing.T) {
				s := store.New(store.Options{Layout: layout, Indexers: bothIndexes})
				before := heap()
				peak := run(s)
				left := heap() - before
				for index := range bothIndexes {
					if values, err := s.ListIndexFuncValues(index); err != nil || len(values) != 0 {
						t.Errorf("index %s has %d values left, %v", index, len(values), err)
					}
				}
				t.Logf("%d KiB with the objects, %d KiB after", peak>>10, left>>10)
				if left > 128<<10 {
					t.Errorf("%d KiB are left of an empty store", left>>10)
				}
				runtime.KeepAlive(s)
			})
		}
	})
}

// Ensures that an object that was replaced or deleted is freed as soon as no snapshot shows it, and not before.
func TestSnapshot_KeepsWhatItShows(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: bothIndexes})
		var olds []weak.Pointer[object.Object]
		for i := range 300 {
			must(t, s.Add(sized(i, "1")))
			o, _ := s.GetByKey(sized(i, "").Key)
			olds = append(olds, weak.Make(o))
		}
		snap := s.Snapshot()
		for i := range 300 {
			if i%2 == 0 {
				must(t, s.Update(sized(i, "2")))
			} else {
				must(t, s.Delete(sized(i, "2")))
			}
		}
		alive := func() (n int) {
			runtime.GC()
			for _, old := range olds {
				if old.Value() != nil {
					n++
				}
			}
			return n
		}
		if n := alive(); n != 300 {
			t.Errorf("%d of 300 objects are alive that a snapshot shows", n)
		}
		runtime.KeepAlive(snap)
		snap = store.Snapshot{}
		if n := alive(); n != 0 {
			t.Errorf("%d of 300 objects are alive that nobody can see", n)
		}
		runtime.KeepAlive(s)
	})
}

// Ensures that the store's keys and index values do not keep an old version of their object alive, although its strings
// share one buffer.
func TestStore_Update_LetsBuffersGo(t *testing.T) {
	const n, size = 200, 64 << 10
	s := store.New(store.Options{Indexers: store.Indexers{"node": func(o *object.Object) ([]string, error) {
		return []string{o.Labels.Get("node")}, nil
	}}})
	add := func(i, version, size int) {
		head := fmt.Sprintf("key-%04d", i)
		buffer := head + "node" + fmt.Sprintf("%04d", i) + strings.Repeat("x", size)
		must(t, s.Add(&object.Object{Meta: object.Meta{
			Key: buffer[:8], Version: fmt.Sprint(version), Labels: object.Labels{{Key: "node", Value: buffer[8:16]}},
		}}))
	}
	before := heap()
	for i := range n {
		add(i, 1, size)
	}
	if used := heap() - before; used < n*size {
		t.Fatalf("%d bytes used: the test does not test anything", used)
	}
	for i := range n {
		add(i, 2, 0)
	}
	if left := heap() - before; left > n*size/20 {
		t.Errorf("%d of %d bytes of old versions are kept alive", left, n*size)
	}
	runtime.KeepAlive(s)
}

// Ensures that what a change log holds keeps its own objects only, not the state around them, and so does a prepared
// object after its put.
func TestRef_KeepsOneObject(t *testing.T) {
	s := fill(t, store.Options{}, 1000)
	first := weak.Make(s.List()[0])
	p, err := s.Prepare(sized(500, "1"))
	must(t, err)
	var change store.Change
	must(t, s.Write([]*store.Prepared{p}, func(tx *store.Txn) error {
		tx.Put(p, 0)
		change = tx.Changes()[0]
		return nil
	}))
	must(t, s.Replace(nil, "2"))
	runtime.GC()
	if first.Value() != nil {
		t.Error("a change of one object keeps another alive")
	}
	if change.Old.Version() != "0" || change.New.Version() != "1" {
		t.Errorf("the change is %+v", change)
	}
	runtime.KeepAlive(p)
}
