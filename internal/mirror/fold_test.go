package mirror

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

var holder = store.New(store.Options{})

func obj(key, uid string, version int) store.Ref {
	return holder.Hold(&object.Object{Meta: object.Meta{Key: key, UID: uid, Version: strconv.Itoa(version)}})
}

func describe(c Change) string {
	name := map[Kind]string{Added: "+", Updated: "~", Deleted: "-", Sync: "="}[c.Kind]
	part := func(r store.Ref) string {
		if r.IsZero() {
			return ""
		}
		return r.UID() + "@" + r.Version()
	}
	s := name + c.Key + " " + part(c.Old) + ">" + part(c.New)
	if c.Initial {
		s += " initial"
	}
	return s
}

func drain(f *folded) (got []string) {
	for {
		c, ok := f.pop()
		if !ok {
			return got
		}
		got = append(got, describe(c))
	}
}

// Conflation keeps, per key and uid, the state the subscription saw last and the newest one.
func TestFolded(t *testing.T) {
	a1, a2, a3 := obj("a", "u", 1), obj("a", "u", 2), obj("a", "u", 3)
	other4, other5 := obj("a", "w", 4), obj("a", "w", 5)
	third6 := obj("a", "x", 6)
	b1 := obj("b", "b", 1)
	none := store.Ref{}
	add := func(n store.Ref) Change { return Change{Kind: Added, Key: n.Object().Key, New: n} }
	upd := func(o, n store.Ref) Change { return Change{Kind: Updated, Key: n.Object().Key, Old: o, New: n} }
	del := func(o, final store.Ref) Change { return Change{Kind: Deleted, Key: o.Object().Key, Old: o, New: final} }
	initial := add(a1)
	initial.Initial = true
	for name, tc := range map[string]struct {
		in   []Change
		want []string
	}{
		"updates become one from what was seen": {[]Change{upd(a1, a2), upd(a2, a3)}, []string{"~a u@1>u@3"}},
		"an add keeps its newest state":         {[]Change{add(a1), upd(a1, a2)}, []string{"+a >u@2"}},
		"an initial add stays initial":          {[]Change{initial, upd(a1, a2)}, []string{"+a >u@2 initial"}},
		"never seen and gone cancels out":       {[]Change{add(a1), upd(a1, a2), del(a2, a3)}, nil},
		"a delete keeps what was seen":          {[]Change{upd(a1, a2), del(a2, a3)}, []string{"-a u@1>u@3"}},
		"an unknown final state stays unknown":  {[]Change{upd(a1, a2), del(a2, none)}, []string{"-a u@1>"}},
		"deleted and made again stay two":       {[]Change{upd(a1, a2), del(a2, a3), add(other4), upd(other4, other5)}, []string{"-a u@1>u@3", "+a >w@5"}},
		"one that came and went in between is not told": {
			[]Change{del(a2, a3), add(other4), del(other4, other5), add(third6)},
			[]string{"-a u@2>u@3", "+a >x@6"},
		},
		"keys keep the order in which they first changed": {[]Change{upd(a1, a2), add(b1), upd(a2, a3)}, []string{"~a u@1>u@3", "+b >b@1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var f folded
			for i := range tc.in {
				f.add(&tc.in[i])
			}
			got := drain(&f)
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if f.len() != 0 || f.initial != 0 {
				t.Errorf("left over: %d keys, %d initial", f.len(), f.initial)
			}
		})
	}
}

// However pops fall between the changes, a consumer that applies what it gets ends in the true state, never sees an
// update or deletion of what it does not know, never goes back, and the memory stays bounded by the keys.
func TestFolded_Random(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var f folded
		truth, seen := map[string]store.Ref{}, map[string]store.Ref{}
		version, uid := 0, 0
		pop := func() bool {
			c, ok := f.pop()
			if !ok {
				return false
			}
			key := c.Key
			known := seen[key]
			if c.Old != known {
				t.Fatalf("seed %d: %s, but the consumer knows %v", seed, describe(c), known)
			}
			if c.Kind == Deleted {
				delete(seen, key)
				return true
			}
			if !known.IsZero() && known.UID() != c.New.UID() {
				t.Fatalf("seed %d: %s turns one object into another", seed, describe(c))
			}
			seen[key] = c.New
			return true
		}
		for range 400 {
			key := strconv.Itoa(r.IntN(8))
			version++
			old := truth[key]
			var c Change
			switch {
			case old.IsZero():
				uid++
				c = Change{Kind: Added, Key: key, New: obj(key, strconv.Itoa(uid), version)}
			case r.IntN(3) == 0:
				c = Change{Kind: Deleted, Key: key, Old: old, New: obj(key, old.UID(), version)}
			default:
				c = Change{Kind: Updated, Key: key, Old: old, New: obj(key, old.UID(), version)}
			}
			if c.Kind == Deleted {
				delete(truth, key)
			} else {
				truth[key] = c.New
			}
			f.add(&c)
			if f.len() > 8 || len(f.items)-f.head > 80 {
				t.Fatalf("seed %d: %d keys, %d items", seed, f.len(), len(f.items)-f.head)
			}
			for range r.IntN(3) - 1 {
				pop()
			}
		}
		for pop() {
		}
		if fmt.Sprint(seen) != fmt.Sprint(truth) {
			t.Fatalf("seed %d: saw %v, is %v", seed, seen, truth)
		}
	}
}
