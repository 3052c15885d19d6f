package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// model is what a store must equal: objects by key, and everything else is computed from them.
type model map[string]modelled

type modelled struct {
	obj   *object.Object
	scope store.Scope
}

// check compares everything that a snapshot shows with the model.
func (m model) check(t *testing.T, snap store.Snapshot, indexes []string) {
	t.Helper()
	var objs []*object.Object
	byValue, scopes := map[string][]*object.Object{}, map[store.Scope]int{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		o := m[key].obj
		objs = append(objs, o)
		scopes[m[key].scope]++
		v, _ := o.View()
		for _, value := range slices.Compact(slices.Sorted(slices.Values(v.(*thing).Values))) {
			byValue[value] = append(byValue[value], o)
		}
	}
	want(t, "All", showSeq(snap.All()), show(objs...))
	for scope := range store.Scope(3) {
		if got := snap.Scope(scope).Len; got != scopes[scope] {
			t.Fatalf("scope %d has %d objects, want %d", scope, got, scopes[scope])
		}
	}
	for _, index := range indexes {
		values, err := snap.ListIndexValues(index)
		must(t, err)
		if expect := slices.Sorted(maps.Keys(byValue)); !slices.Equal(values, expect) {
			t.Fatalf("index %s has the values %v, want %v", index, values, expect)
		}
		for value, objs := range byValue {
			got, err := snap.By(index, value)
			must(t, err)
			want(t, "By "+value, showSeq(got), show(objs...))
			both, err := snap.Where(store.Equals(index, value), store.Equals(index, "v0"))
			must(t, err)
			want(t, "Where "+value, showSeq(both), show(slices.DeleteFunc(slices.Clone(objs), func(o *object.Object) bool {
				return !slices.Contains(byValue["v0"], o)
			})...))
		}
	}
}

// Ensures that a store equals a plain map after any sequence of calls, indexes with changing values included, and that
// every snapshot on the way stays as it was.
func TestStore_EqualsModel(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		for seed := range uint64(6) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) { runModel(t, layout, rand.New(rand.NewPCG(seed, 0))) })
		}
	})
}

func runModel(t *testing.T, layout store.Layout, rnd *rand.Rand) {
	s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"i0": byValue}})
	indexes := []string{"i0"}
	m, version := model{}, 0
	random := func() *object.Object {
		version++
		var values []string
		for range rnd.IntN(4) {
			values = append(values, fmt.Sprint("v", rnd.IntN(6)))
		}
		return obj(fmt.Sprintf("n%d/%d", rnd.IntN(3), rnd.IntN(100)), fmt.Sprint(version), values...)
	}
	type past struct {
		snap    store.Snapshot
		m       model
		indexes []string
	}
	var pasts []past
	for range 60 {
		switch op := rnd.IntN(20); {
		case op < 6:
			o := random()
			must(t, s.Add(o))
			m[o.Key] = modelled{o, m[o.Key].scope}
		case op < 9:
			o := random()
			must(t, s.Delete(o))
			delete(m, o.Key)
		case op < 12: // a batch
			var batch []*store.Prepared
			for range rnd.IntN(60) {
				p, err := s.Prepare(random())
				must(t, err)
				batch = append(batch, p)
			}
			must(t, s.Write(batch, func(tx *store.Txn) error {
				for _, p := range batch {
					if scope := store.Scope(rnd.IntN(3)); rnd.IntN(3) > 0 {
						tx.Put(p, scope)
						m[p.Key()] = modelled{p.Ref().Object(), scope}
					} else {
						tx.Delete(p.Key())
						delete(m, p.Key())
					}
				}
				return nil
			}))
		case op < 13:
			next := model{}
			var list []*object.Object
			for range rnd.IntN(80) {
				o := random()
				list = append(list, o)
				next[o.Key] = modelled{o, m[o.Key].scope}
			}
			must(t, s.Replace(list, "1"))
			m = next
		case op < 17: // a relist of one scope, with others writing meanwhile
			scope, suspect := store.Scope(rnd.IntN(3)), rnd.IntN(2) == 0
			g := s.Stage(scope, suspect)
			listed := map[string]*object.Object{}
			foreign := rnd.IntN(2) == 0
			for _, key := range slices.Sorted(maps.Keys(m)) {
				if m[key].scope == scope && rnd.IntN(4) > 0 {
					listed[key] = m[key].obj
					must(t, g.Add(obj(key, listed[key].Version, "ignored unless in a new epoch")))
				}
			}
			for range rnd.IntN(20) {
				o := random()
				listed[o.Key] = o
				must(t, g.Add(o))
			}
			for range rnd.IntN(10) {
				if o := random(); foreign {
					if rnd.IntN(2) == 0 {
						must(t, s.Delete(o))
						delete(m, o.Key)
					} else {
						must(t, s.Add(o))
						m[o.Key] = modelled{o, m[o.Key].scope}
					}
				}
			}
			if rnd.IntN(5) == 0 {
				g.Abort()
				break
			}
			must(t, g.Commit("1", false))
			for key, o := range m {
				if o.scope == scope {
					delete(m, key)
				}
			}
			for key, o := range listed {
				m[key] = modelled{o, scope}
			}
		case op < 18 && len(indexes) < 4:
			name := fmt.Sprint("i", len(indexes))
			must(t, s.AddIndexers(store.Indexers{name: byValue}))
			indexes = append(indexes, name)
		default:
			scope := store.Scope(rnd.IntN(3))
			must(t, s.Write(nil, func(tx *store.Txn) error { tx.DropScope(scope); return nil }))
			for key, o := range m {
				if o.scope == scope {
					delete(m, key)
				}
			}
		}
		m.check(t, s.Snapshot(), indexes)
		pasts = append(pasts, past{s.Snapshot(), maps.Clone(m), slices.Clone(indexes)})
	}
	for _, p := range pasts {
		if rnd.IntN(10) == 0 {
			p.m.check(t, p.snap, p.indexes)
		}
	}
}
