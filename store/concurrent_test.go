package store_test

import (
	"fmt"
	"iter"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// whileWriting calls write again and again, until read has been called n times by each of several goroutines.
func whileWriting(n int, write func(i int), read func()) {
	var readers sync.WaitGroup
	var done atomic.Bool
	for range 3 {
		readers.Go(func() {
			for range n {
				read()
			}
		})
	}
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 0; !done.Load(); i++ {
			write(i)
		}
	})
	readers.Wait()
	done.Store(true)
	writer.Wait()
}

// Ensures that an object whose values go from [a] to [a, b] and back is found under a by everybody at any time. [case 26]
func TestStore_ByIndex_ValueKept(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		states := []*object.Object{obj("k", "1", "a"), obj("k", "2", "a", "b")}
		must(t, s.Add(states[0]))
		whileWriting(2000, func(i int) { _ = s.Update(states[i%2]) }, func() {
			if objs, err := s.ByIndex("v", "a"); err != nil || len(objs) != 1 || objs[0] == nil {
				t.Errorf("ByIndex(v, a) = %v, %v", objs, err)
			}
			if keys, err := s.IndexKeys("v", "a"); err != nil || len(keys) != 1 {
				t.Errorf("IndexKeys(v, a) = %v, %v", keys, err)
			}
			if objs, err := s.Index("v", states[0]); err != nil || len(objs) != 1 {
				t.Errorf("Index(v) = %v, %v", objs, err)
			}
		})
	})
}

// Ensures that an object that flips between (a, y) and (x, b) is never returned for field1 = a and field2 = b, and always
// for field1 = a or x. [case 30]
func TestSnapshot_Where_NeverMixed(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"field1": byValue, "field2": byNode}})
		flip := func(version, field1, field2 string) *object.Object {
			return encoded("k", version, thing{Values: []string{field1}, Node: field2})
		}
		states := []*object.Object{flip("1", "a", "y"), flip("2", "x", "b")}
		must(t, s.Add(states[0]))
		whileWriting(3000, func(i int) { _ = s.Update(states[i%2]) }, func() {
			snap := s.Snapshot()
			found := func(conds ...store.Cond) (n int) {
				objs, err := snap.Where(conds...)
				if err != nil {
					t.Error(err)
					return 0
				}
				for range objs {
					n++
				}
				return n
			}
			if found(store.Equals("field1", "a"), store.Equals("field2", "b")) != 0 {
				t.Error("field1 = a and field2 = b returned what never was")
			}
			if n := found(store.Equals("field1", "a")) + found(store.Equals("field2", "b")); n != 1 {
				t.Errorf("found %d times in one state, want once", n)
			}
		})
	})
}

// fill returns a store with n objects at version 0, keys 0 to n-1.
func fill(t testing.TB, opts store.Options, n int) *store.Store {
	s := store.New(opts)
	list := make([]*object.Object, n)
	for i := range list {
		list[i] = sized(i, "0")
	}
	must(t, s.Replace(list, "0"))
	return s
}

// sized makes a small object that has values in two indexes: one of a hundred nodes, and one of its own.
func sized(i int, version string) *object.Object {
	return &object.Object{Meta: object.Meta{
		Key: fmt.Sprintf("namespace-%d/name-%06d", i%20, i), UID: strconv.Itoa(i), Version: version,
		Labels: object.Labels{{Key: "node", Value: "node-" + strconv.Itoa(i%100)}},
	}}
}

var bothIndexes = store.Indexers{
	"node": func(o *object.Object) ([]string, error) { return []string{o.Labels.Get("node")}, nil },
	"uid":  func(o *object.Object) ([]string, error) { return []string{o.UID}, nil },
}

// Ensures that who iterates over 50,000 objects while 10,000 changes a second are applied sees one state: every change
// takes a version from one object and gives it to another, so the sum over a state is always the same.
func TestSnapshot_All_OneState(t *testing.T) {
	const n, rate = 50_000, 10_000
	s := fill(t, store.Options{Indexers: bothIndexes}, n)
	stop := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		versions := make([]int, n)
		move := func(from, to int) {
			versions[from]--
			versions[to]++
			a, _ := s.Prepare(sized(from, strconv.Itoa(versions[from])))
			b, _ := s.Prepare(sized(to, strconv.Itoa(versions[to])))
			_ = s.Write([]*store.Prepared{a, b}, func(tx *store.Txn) error { tx.Put(a, 0); tx.Put(b, 0); return nil })
		}
		start, moves := time.Now(), 0
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				t.Logf("%.0f changes a second", float64(2*moves)/time.Since(start).Seconds())
				return
			case <-tick.C:
			}
			// A machine that is too slow for the rate falls behind instead of being kept from the select.
			due := min(int(time.Since(start)*rate/2/time.Second), moves+100)
			for ; moves < due; moves++ {
				move(moves%n, (moves*7+n/2+1)%n)
			}
		}
	})
	for range 20 {
		sum, count := 0, 0
		snap := s.Snapshot()
		for o := range snap.All() {
			v, _ := strconv.Atoi(o.Version)
			sum += v
			count++
		}
		if sum != 0 || count != n {
			t.Errorf("iteration at %d saw %d objects with the sum %d, want %d with 0", snap.Seq(), count, sum, n)
		}
	}
	close(stop)
	writer.Wait()
}

// Ensures that a reader that never finishes does not stop the writer, nor see what it does.
func TestStore_Write_NotBlockedByReader(t *testing.T) {
	const n, changes = 50_000, 10_000
	s := fill(t, store.Options{Indexers: bothIndexes}, n)
	apply := func(version string) (longest time.Duration) {
		for i := range changes {
			o := sized(i*5, version)
			start := time.Now()
			must(t, s.Update(o))
			longest = max(longest, time.Since(start))
		}
		return longest
	}
	start := time.Now()
	longest := apply("1")
	t.Logf("alone: %d changes in %v, the longest %v", changes, time.Since(start), longest)
	snap := s.Snapshot()
	next, end := iter.Pull(snap.All())
	defer end()
	next()
	start = time.Now()
	longest = apply("2")
	t.Logf("with an iteration open: %d changes in %v, the longest %v", changes, time.Since(start), longest)
	if v := s.LastStoreSyncResourceVersion(); v != "2" {
		t.Errorf("the store is at version %q, want 2", v)
	}
	count := 1
	for o, ok := next(); ok; o, ok = next() {
		if o.Version == "2" {
			t.Fatalf("the open iteration sees %s at version 2", o.Key)
		}
		count++
	}
	if count != n {
		t.Errorf("the open iteration saw %d objects, want %d", count, n)
	}
}

// Ensures that writers of every kind can run at once, with readers, and that nothing is lost.
func TestStore_AllAtOnce(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		var all sync.WaitGroup
		for w := range 4 {
			all.Go(func() {
				scope := store.Scope(w)
				for i := range 60 {
					key := fmt.Sprintf("n%d/%d", w, i)
					switch p, err := s.Prepare(obj(key, "1", "all", key)); {
					case err != nil:
						t.Error(err)
					case i%10 == 9:
						g := s.Stage(scope, false)
						for o := range s.Snapshot().Namespace(fmt.Sprint("n", w)) {
							_ = g.Add(o)
						}
						_ = g.Add(p.Ref().Object())
						if err := g.Commit("1", false); err != nil {
							t.Error(err)
						}
					default:
						_ = s.Write([]*store.Prepared{p}, func(tx *store.Txn) error { tx.Put(p, scope); return nil })
					}
					if objs, err := s.ByIndex("v", key); err != nil || len(objs) != 1 {
						t.Errorf("ByIndex(v, %s) = %v, %v", key, objs, err)
					}
				}
			})
		}
		all.Go(func() {
			for i := range 5 {
				must(t, s.AddIndexers(store.Indexers{fmt.Sprint("late", i): byValue}))
			}
		})
		all.Wait()
		for _, index := range []string{"v", "late0", "late4"} {
			if keys, err := s.IndexKeys(index, "all"); err != nil || len(keys) != 240 {
				t.Errorf("index %s has %d keys, %v; want 240", index, len(keys), err)
			}
		}
	})
}
