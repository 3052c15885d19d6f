package store

import (
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/btree"
)

// Txn makes the next state of a store. It is good inside the function that [Store.Write] calls, and for one goroutine.
// Nobody else sees anything of it before it is published.
type Txn struct {
	l        layout
	base     *root
	seq      uint64
	version  string
	entries  *btree.Edit[string, *entry]
	scopes   *btree.Edit[Scope, ScopeState]
	indexes  []index
	edits    []*btree.Edit[posting, struct{}] // by position; nil where the index was not touched
	attached any
	slots    slots
	changes  []Change
	dirty    bool
}

// Change is one change of one key.
type Change struct {
	Key string
	// Old is the zero Ref for a key that is new, New for one that was deleted.
	Old, New Ref
}

// Write runs fn, which makes changes through the transaction, and publishes them as one change. If fn returns an error
// or panics, or changes nothing, nothing is published; Write returns that error.
//
// batch holds what fn is going to put: Write brings it up to date first if indexes were added since it was prepared, and
// that is the other error it may return, in a store that is not tolerant.
//
// fn runs under the store's write lock: it must be quick, must not call anything of the user's, nor a method of the store
// that writes.
func (s *Store) Write(batch []*Prepared, fn func(tx *Txn) error) error {
	for {
		indexes := s.root.Load().indexes
		for _, p := range batch {
			if err := s.refresh(p, indexes); err != nil {
				return err
			}
		}
		s.mu.Lock()
		if len(s.root.Load().indexes) == len(indexes) {
			break
		}
		s.mu.Unlock() // an index was added between the two
	}
	defer s.mu.Unlock()
	tx := s.begin(len(batch))
	for _, p := range batch {
		p.tx = tx
	}
	defer func() {
		for _, p := range batch {
			p.tx = nil // who keeps p shall not keep the old state
		}
		s.changes = nil // or who outgrew it would leave it as it was
		if clear(tx.changes); cap(tx.changes) <= maxKept {
			s.changes = tx.changes[:0]
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if tx.dirty {
		s.publish(tx)
	}
	return nil
}

// maxKept is for how many changes a transaction's memory is kept for the next one.
const maxKept = 1024

// begin starts a transaction of about so many changes. The lock is held.
func (s *Store) begin(changes int) *Txn {
	r := s.root.Load()
	return &Txn{
		l: s.layout, base: r, seq: r.seq + 1, version: r.version, attached: r.attached,
		entries: r.entries.Edit(), scopes: r.scopes.Edit(), indexes: r.indexes,
		edits: make([]*btree.Edit[posting, struct{}], len(r.indexes)), slots: s.slots, changes: slices.Grow(s.changes, changes),
	}
}

// publish makes what the transaction made the store's state. The lock is held.
func (s *Store) publish(tx *Txn) {
	next := &root{
		seq: tx.seq, version: tx.version, attached: tx.attached,
		entries: tx.entries.Tree(), scopes: tx.scopes.Tree(), indexes: slices.Clone(tx.indexes),
	}
	for i, edit := range tx.edits {
		if edit != nil {
			next.indexes[i].postings = edit.Tree()
		}
	}
	for _, c := range tx.changes {
		if !c.New.IsZero() {
			tx.l.put(c.New.h)
		}
		if !c.Old.IsZero() {
			tx.l.drop(c.Old.h)
		}
	}
	s.slots = tx.slots.settle(next.entries.Len())
	s.root.Store(next)
}

// Seq returns the number that the state will have.
func (tx *Txn) Seq() uint64 { return tx.seq }

// Changes returns the changes made so far, in their order. Like the transaction, they are good inside the function that
// makes it.
func (tx *Txn) Changes() []Change { return tx.changes }

// Attached returns what is attached to the state: see [Txn.Attach].
func (tx *Txn) Attached() any { return tx.attached }

// Attach attaches v to the state, in place of what was attached. Whoever takes a snapshot has both together: the tail of
// a change log, say, that continues exactly where the snapshot ends.
func (tx *Txn) Attach(v any) {
	tx.attached = v
	tx.dirty = true
}

// Get returns the object that is stored under key so far: the zero Ref if there is none.
func (tx *Txn) Get(key string) Ref {
	e, ok := tx.entries.Get(key)
	if !ok {
		return Ref{}
	}
	return Ref{e.handle}
}

// Scope iterates over the keys and objects of a scope as they are when the iteration starts; the loop may put and delete.
func (tx *Txn) Scope(scope Scope) iter.Seq2[string, Ref] {
	return func(yield func(string, Ref) bool) {
		for key, e := range tx.entries.Tree().All() {
			if e.scope == scope && !yield(key, Ref{e.handle}) {
				return
			}
		}
	}
}

// Put stores a prepared object in a scope, in place of what is there under its key, wherever that is. It panics for one
// that was not in the batch given to Write, because its index values could be out of date. It returns the change that it
// has made.
func (tx *Txn) Put(p *Prepared, scope Scope) Change {
	if p.tx != tx {
		panic("store: Put of an object that is not in the batch given to Write: " + p.key)
	}
	key, old, replaced := tx.entries.Find(p.key)
	e := &entry{scope: scope, seq: tx.seq, handle: p.handle}
	change := Change{New: Ref{e.handle}}
	if replaced {
		e.slot, e.values = old.slot, old.values
		change.Old = Ref{old.handle}
		tx.count(old.scope, -1)
	} else {
		// The tree's own copy, which outlives the object.
		key, e.slot = strings.Clone(p.key), tx.slots.take()
	}
	change.Key = key
	tx.reindex(key, e, p.values)
	tx.entries.Set(key, e)
	tx.count(scope, +1)
	tx.changes = append(tx.changes, change)
	return change
}

// Delete removes what is stored under key and reports whether there was something.
func (tx *Txn) Delete(key string) bool {
	key, e, ok := tx.entries.Find(key)
	if !ok {
		return false
	}
	for _, v := range e.indexed() {
		tx.postings(v.index).Delete(posting{v.text, key})
	}
	tx.entries.Delete(key)
	tx.slots.free(e.slot)
	tx.count(e.scope, -1)
	tx.changes = append(tx.changes, Change{Key: key, Old: Ref{e.handle}})
	return true
}

// DropScope removes a scope, its objects and its version.
func (tx *Txn) DropScope(scope Scope) {
	for key := range tx.Scope(scope) {
		tx.Delete(key)
	}
	if tx.scopes.Delete(scope) {
		tx.dirty = true
	}
}

// SetVersion says that the scope now is as its source was at version, and was found so just now.
func (tx *Txn) SetVersion(scope Scope, version string) {
	st, _ := tx.scopes.Get(scope)
	st.Version, st.Updated = version, time.Now()
	tx.scopes.Set(scope, st)
	tx.version = version
	tx.dirty = true
}

// advance sets the scope's version to that of a single object, unless there is none or it is known to be older.
func (tx *Txn) advance(scope Scope, version string) {
	if version == "" {
		return
	}
	st, _ := tx.scopes.Get(scope)
	if order, ok := object.CompareVersions(version, st.Version); ok && order < 0 {
		return
	}
	tx.SetVersion(scope, version)
}

// scopeOf returns the scope of key: 0 for a new one.
func (tx *Txn) scopeOf(key string) Scope {
	e, ok := tx.entries.Get(key)
	if !ok {
		return 0
	}
	return e.scope
}

// count notes that the scope has n more objects, and that it changed.
func (tx *Txn) count(scope Scope, n int) {
	st, _ := tx.scopes.Get(scope)
	st.Len += n
	st.changed = tx.seq
	tx.scopes.Set(scope, st)
	tx.dirty = true
}

// postings returns the index at position i for editing.
func (tx *Txn) postings(i int) *btree.Edit[posting, struct{}] {
	if tx.edits[i] == nil {
		tx.edits[i] = tx.indexes[i].postings.Edit()
	}
	return tx.edits[i]
}
