package store

import (
	"fmt"
	"iter"
	"strings"

	"github.com/tarn-dev/tarn/object"
)

// Snapshot is one published state of a store. It never changes, and may be kept and read by any number of goroutines
// without locks. It keeps what it shows from being freed. Its iterators yield in the order of the keys and may be used
// more than once.
type Snapshot struct{ r *root }

// Seq returns the number of the commit that made this state. Later states have higher numbers.
func (s Snapshot) Seq() uint64 { return s.r.seq }

// Version returns the version that the store was last brought to, whichever scope that was for: with one scope, the
// resourceVersion that this state corresponds to. Empty if it was never set. See [Snapshot.Scope] for several.
func (s Snapshot) Version() string { return s.r.version }

// Scope returns what is known of a scope: the zero value for one that there is nothing of.
func (s Snapshot) Scope(scope Scope) ScopeState {
	st, _ := s.r.scopes.Get(scope)
	return st
}

// Attached returns what the last [Txn.Attach] attached, nil if there was none.
func (s Snapshot) Attached() any { return s.r.attached }

// Len returns the number of objects.
func (s Snapshot) Len() int { return s.r.entries.Len() }

// Get returns the object stored under key, and whether there is one.
func (s Snapshot) Get(key string) (*object.Object, bool) {
	e, ok := s.r.entries.Get(key)
	if !ok {
		return nil, false
	}
	return e.handle.get(), true
}

// Ref returns a reference to the object stored under key: the zero Ref if there is none.
func (s Snapshot) Ref(key string) Ref {
	e, ok := s.r.entries.Get(key)
	if !ok {
		return Ref{}
	}
	return Ref{e.handle}
}

// All iterates over all objects.
func (s Snapshot) All() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		for _, e := range s.r.entries.All() {
			if !yield(e.handle.get()) {
				return
			}
		}
	}
}

// Keys iterates over all keys.
func (s Snapshot) Keys() iter.Seq[string] {
	return func(yield func(string) bool) {
		for key := range s.r.entries.All() {
			if !yield(key) {
				return
			}
		}
	}
}

// Refs iterates over all keys and references to their objects. Unlike [Snapshot.All] it makes no objects.
func (s Snapshot) Refs() iter.Seq2[string, Ref] {
	return func(yield func(string, Ref) bool) {
		for key, e := range s.r.entries.All() {
			if !yield(key, Ref{e.handle}) {
				return
			}
		}
	}
}

// RefsIn is [Snapshot.Refs] for the keys that begin with "namespace/". The empty namespace stands for all.
func (s Snapshot) RefsIn(namespace string) iter.Seq2[string, Ref] {
	if namespace == "" {
		return s.Refs()
	}
	return func(yield func(string, Ref) bool) {
		for key, e := range s.r.under(namespace + "/") {
			if !yield(key, Ref{e.handle}) {
				return
			}
		}
	}
}

// Namespace iterates over the objects whose key begins with "namespace/". The empty namespace stands for all objects.
func (s Snapshot) Namespace(namespace string) iter.Seq[*object.Object] {
	objs, _ := s.Where(InNamespace(namespace)) // only an index can be unknown
	return objs
}

// By iterates over the objects that the index finds under value.
func (s Snapshot) By(index, value string) (iter.Seq[*object.Object], error) {
	return s.Where(Equals(index, value))
}

// ListIndexValues returns all values that the index finds at least one object under, sorted.
func (s Snapshot) ListIndexValues(index string) ([]string, error) {
	i, err := s.index(index)
	if err != nil {
		return nil, err
	}
	var values []string
	for p := range s.r.indexes[i].postings.All() {
		if len(values) == 0 || values[len(values)-1] != p.value {
			values = append(values, p.value)
		}
	}
	return values, nil
}

func (s Snapshot) index(name string) (int, error) {
	i, ok := s.r.indexAt(name)
	if !ok {
		return 0, fmt.Errorf("%w: %q", ErrUnknownIndex, name)
	}
	return i, nil
}

// keys iterates over the keys that the index at position i finds under value.
func (r *root) keys(i int, value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p := range r.indexes[i].postings.Ascend(posting{value: value}) {
			if p.value != value || !yield(p.key) {
				return
			}
		}
	}
}

// under iterates over the keys that begin with prefix.
func (r *root) under(prefix string) iter.Seq2[string, *entry] {
	return func(yield func(string, *entry) bool) {
		for key, e := range r.entries.Ascend(prefix) {
			if !strings.HasPrefix(key, prefix) || !yield(key, e) {
				return
			}
		}
	}
}
