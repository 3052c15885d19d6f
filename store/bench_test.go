package store_test

import (
	"fmt"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/store"
)

// benchSize is the number of objects in the benchmarks' store.
const benchSize = 50_000

// BenchmarkStore_Update measures one changed object per commit, index values unchanged as in most updates.
func BenchmarkStore_Update(b *testing.B) {
	s := fill(b, store.Options{Indexers: bothIndexes}, benchSize)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		must(b, s.Update(sized(i*7919%benchSize, "1")))
	}
}

// BenchmarkStore_Write measures batches of changed objects per commit; the time is per object.
func BenchmarkStore_Write(b *testing.B) {
	for _, size := range []int{1, 10, 100, 1000} {
		for name, moved := range map[string]int{"same values": 0, "new node": 1} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				s := fill(b, store.Options{Indexers: bothIndexes}, benchSize)
				b.ReportAllocs()
				batch := make([]*store.Prepared, 0, size)
				for i := 0; b.Loop(); i++ {
					o := sized(i*7919%benchSize, "1")
					if moved > 0 {
						o.Labels[0].Value = "node-" + strconv.Itoa(i%100)
					}
					p, err := s.Prepare(o)
					must(b, err)
					if batch = append(batch, p); len(batch) < size {
						continue
					}
					must(b, s.Write(batch, func(tx *store.Txn) error {
						for _, p := range batch {
							tx.Put(p, 0)
						}
						return nil
					}))
					batch = batch[:0]
				}
			})
		}
	}
}

// BenchmarkStage_Commit measures a relist of which 1% changed; the time is per list of 50,000.
func BenchmarkStage_Commit(b *testing.B) {
	s := fill(b, store.Options{Indexers: bothIndexes}, benchSize)
	list := s.List()
	b.ReportAllocs()
	for round := 1; b.Loop(); round++ {
		for i := round % 100; i < benchSize; i += 100 {
			list[i] = sized(i, strconv.Itoa(round))
		}
		g := s.Stage(0, false)
		for _, o := range list {
			must(b, g.Add(o))
		}
		must(b, g.Commit("1", false))
	}
}

// BenchmarkStore_AddIndexers measures a new index over 50,000 stored objects.
func BenchmarkStore_AddIndexers(b *testing.B) {
	s := fill(b, store.Options{}, benchSize)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		must(b, s.AddIndexers(store.Indexers{strconv.Itoa(i): bothIndexes["node"]}))
	}
}

func BenchmarkSnapshot_Get(b *testing.B) {
	s := fill(b, store.Options{}, benchSize)
	keys := s.ListKeys()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := s.Snapshot().Get(keys[i*7919%benchSize]); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkSnapshot_By measures a read of the 500 objects under one of 100 values.
func BenchmarkSnapshot_By(b *testing.B) {
	s := fill(b, store.Options{Indexers: bothIndexes}, benchSize)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		n := 0
		objs, err := s.Snapshot().By("node", "node-"+strconv.Itoa(i%100))
		must(b, err)
		for range objs {
			n++
		}
		if n != benchSize/100 {
			b.Fatalf("%d objects", n)
		}
	}
}

// BenchmarkSnapshot_Where measures the intersection of 500 objects with one.
func BenchmarkSnapshot_Where(b *testing.B) {
	s := fill(b, store.Options{Indexers: bothIndexes}, benchSize)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		objs, err := s.Snapshot().Where(store.Equals("node", "node-7"), store.Equals("uid", strconv.Itoa(i%benchSize)))
		must(b, err)
		for range objs {
			continue
		}
	}
}

// BenchmarkSnapshot_All measures an iteration over all 50,000 objects.
func BenchmarkSnapshot_All(b *testing.B) {
	s := fill(b, store.Options{}, benchSize)
	b.ReportAllocs()
	for b.Loop() {
		for range s.Snapshot().All() {
			continue
		}
	}
}

// BenchmarkSnapshot_Labels measures a label selector over all 50,000 objects.
func BenchmarkSnapshot_Labels(b *testing.B) {
	s := fill(b, store.Options{}, benchSize)
	sel, err := labels.Parse("node=node-7")
	must(b, err)
	b.ReportAllocs()
	for b.Loop() {
		objs, err := s.Snapshot().Where(store.Matches(sel))
		must(b, err)
		for range objs {
			continue
		}
	}
}
