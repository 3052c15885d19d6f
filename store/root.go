package store

import (
	"strings"
	"time"

	"github.com/tarn-dev/tarn/store/internal/btree"
)

// Scope is a part of the collection that is listed and watched by itself (a namespace, a shard): it has its own version,
// and can be replaced or dropped alone. A store that is used directly, or filled from one list and watch, has scope 0.
// Which scope an object belongs to does not affect how it is found.
type Scope uint32

// ScopeState is what a snapshot knows of a scope.
type ScopeState struct {
	// Version is the version that the scope was last set to; empty if never.
	Version string
	// Updated is when that was: the scope was in step with its source at that moment.
	Updated time.Time
	// Len is the number of objects in the scope.
	Len int

	changed uint64 // the last commit that changed an object of it
}

// entry is one stored object, in 48 bytes. It is immutable once published.
type entry struct {
	handle handle
	values *[]value // what the index functions returned for it, sorted; nil for none
	seq    uint64   // the commit that put it
	scope  Scope
	slot   uint32 // a number that no other entry of the same root has, and that is reused
}

// indexed returns the entry's index values.
func (e *entry) indexed() []value {
	if e.values == nil {
		return nil
	}
	return *e.values
}

// value is one index value of an object.
type value struct {
	index int // position in root.indexes
	text  string
}

func (v value) compare(w value) int {
	if v.index != w.index {
		return v.index - w.index
	}
	return strings.Compare(v.text, w.text)
}

// posting says that an index finds a key under a value.
type posting struct{ value, key string }

func (p posting) compare(q posting) int {
	if c := strings.Compare(p.value, q.value); c != 0 {
		return c
	}
	return strings.Compare(p.key, q.key)
}

// indexState is where an index is in its life. Positions are never reused, so a prepared object's values stay right.
type indexState uint8

const (
	building indexState = iota // every write keeps it; what was stored before is being added; nobody may read it
	ready
	dropped // it could not be built
)

type index struct {
	name     string
	fn       IndexFunc
	state    indexState
	postings btree.Tree[posting, struct{}]
}

// root is one published state. Nothing in it ever changes.
type root struct {
	seq      uint64
	version  string
	entries  btree.Tree[string, *entry]
	indexes  []index
	scopes   btree.Tree[Scope, ScopeState]
	attached any
}

// indexAt returns the position of a readable index.
func (r *root) indexAt(name string) (int, bool) {
	for i := range r.indexes {
		if r.indexes[i].name == name && r.indexes[i].state == ready {
			return i, true
		}
	}
	return 0, false
}
