package store

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/btree"
)

// Store is a collection of objects by key, with indexes. All methods may be called concurrently. Reads take the state
// that is published when they start; writes are applied one after another, each as one change.
//
// It has the methods of a reflector's sink, so a reflector can keep it in step with a source.
type Store struct {
	opts   Options
	layout layout
	root   atomic.Pointer[root]

	// adding serialises AddIndexers, and is held while index functions run; mu never is.
	adding sync.Mutex
	mu     sync.Mutex // held by who makes the next root
	slots  slots
	// changes is memory for those of the next transaction.
	changes []Change
}

// Indexer is a [Store] seen as what answers by index. Every store is one.
type Indexer = Store

// New returns an empty store.
func New(opts Options) *Store {
	opts.Indexers = maps.Clone(opts.Indexers)
	s := &Store{opts: opts, layout: layoutOf(opts.Layout)}
	s.root.Store(&root{
		entries: btree.New[string, *entry](strings.Compare),
		scopes:  btree.New[Scope, ScopeState](cmp.Compare[Scope]),
		indexes: newIndexes(opts.Indexers, ready),
	})
	return s
}

// Add stores obj under its key, in place of what is there. An object that is new to the store is put into scope 0, one
// that replaces another into the other's scope; the scope's version moves up to the object's.
func (s *Store) Add(obj *object.Object) error {
	p, err := s.Prepare(obj)
	if err != nil {
		return err
	}
	return s.Write([]*Prepared{p}, func(tx *Txn) error {
		scope := tx.scopeOf(p.key)
		tx.Put(p, scope)
		tx.advance(scope, obj.Version)
		return nil
	})
}

// Update does the same as [Store.Add].
func (s *Store) Update(obj *object.Object) error { return s.Add(obj) }

// Delete removes the object that has obj's key, if there is one; nothing else of obj matters, except that the version
// of the scope moves up to obj's.
func (s *Store) Delete(obj *object.Object) error {
	key, err := s.opts.key(obj)
	if err != nil {
		return err
	}
	return s.Write(nil, func(tx *Txn) error {
		scope := tx.scopeOf(key)
		tx.Delete(key)
		tx.advance(scope, obj.Version)
		return nil
	})
}

// Replace makes the store exactly list, as it was at version, as one change; of several objects with one key the last
// counts. It makes no difference between scopes, but objects that stay stay in theirs. If it fails, nothing changed.
func (s *Store) Replace(list []*object.Object, version string) error {
	batch := make([]*Prepared, 0, len(list))
	at := make(map[string]int, len(list))
	for _, obj := range list {
		p, err := s.Prepare(obj)
		if err != nil {
			return fmt.Errorf("replace: %w", err)
		}
		if i, ok := at[p.key]; ok {
			batch[i] = p
			continue
		}
		at[p.key] = len(batch)
		batch = append(batch, p)
	}
	return s.Write(batch, func(tx *Txn) error {
		for key := range tx.entries.Tree().All() {
			if _, ok := at[key]; !ok {
				tx.Delete(key)
			}
		}
		for _, p := range batch {
			tx.Put(p, tx.scopeOf(p.key))
		}
		tx.SetVersion(0, version)
		return nil
	})
}

// Bookmark says that the source has come to version although no object changed.
func (s *Store) Bookmark(version string) error {
	return s.Write(nil, func(tx *Txn) error {
		tx.SetVersion(0, version)
		return nil
	})
}

// Resync does nothing: a store holds nothing that could be sent again. It makes a Store a reflector's sink.
func (s *Store) Resync() error { return nil }

// Snapshot returns the published state. It takes no lock and no time.
func (s *Store) Snapshot() Snapshot { return Snapshot{s.root.Load()} }
