package store

import (
	"fmt"
	"slices"

	"github.com/tarn-dev/tarn/object"
)

// Get returns the stored object that has obj's key, and whether there is one. The error is the key function's.
func (s *Store) Get(obj *object.Object) (stored *object.Object, exists bool, err error) {
	key, err := s.opts.key(obj)
	if err != nil {
		return nil, false, err
	}
	stored, exists = s.GetByKey(key)
	return stored, exists, nil
}

// GetByKey returns the object that is stored under key, and whether there is one.
func (s *Store) GetByKey(key string) (stored *object.Object, exists bool) {
	return s.Snapshot().Get(key)
}

// List returns all objects, in the order of their keys. The slice is the caller's.
func (s *Store) List() []*object.Object {
	snap := s.Snapshot()
	return slices.AppendSeq(make([]*object.Object, 0, snap.Len()), snap.All())
}

// ListKeys returns all keys, sorted.
func (s *Store) ListKeys() []string {
	snap := s.Snapshot()
	return slices.AppendSeq(make([]string, 0, snap.Len()), snap.Keys())
}

// LastStoreSyncResourceVersion returns the version that the store was last brought to: see [Snapshot.Version].
func (s *Store) LastStoreSyncResourceVersion() string { return s.root.Load().version }

// ByIndex returns the objects that the index finds under value, in the order of their keys.
func (s *Store) ByIndex(name, value string) ([]*object.Object, error) {
	hits, err := s.Snapshot().By(name, value)
	if err != nil {
		return nil, err
	}
	return slices.Collect(hits), nil
}

// IndexKeys returns the keys of the objects that the index finds under value, sorted.
func (s *Store) IndexKeys(name, value string) ([]string, error) {
	snap := s.Snapshot()
	i, err := snap.index(name)
	if err != nil {
		return nil, err
	}
	return slices.Collect(snap.r.keys(i, value)), nil
}

// Index returns the objects that share at least one of the index's values with obj, each once, in the order of their
// keys. obj is any object that the index function accepts; it need not be stored, nor have more than the metadata.
func (s *Store) Index(name string, obj *object.Object) ([]*object.Object, error) {
	snap := s.Snapshot()
	i, err := snap.index(name)
	if err != nil {
		return nil, err
	}
	if obj == nil {
		return nil, fmt.Errorf("index %q: nil: %w", name, ErrNoKey)
	}
	values, err := callIndex(snap.r.indexes[i].fn, obj)
	if err != nil {
		return nil, &IndexError{Index: name, Key: obj.Key, Version: obj.Version, Err: err}
	}
	var keys []string
	for _, value := range values {
		keys = slices.AppendSeq(keys, snap.r.keys(i, value))
	}
	slices.Sort(keys)
	var hits []*object.Object
	for _, key := range slices.Compact(keys) {
		hit, _ := snap.Get(key)
		hits = append(hits, hit)
	}
	return hits, nil
}

// ListIndexFuncValues returns all values that the index finds at least one object under, sorted.
func (s *Store) ListIndexFuncValues(name string) ([]string, error) {
	return s.Snapshot().ListIndexValues(name)
}

// GetIndexers returns a copy of the index functions by name.
func (s *Store) GetIndexers() Indexers {
	indexers := Indexers{}
	for _, ix := range s.root.Load().indexes {
		if ix.state == ready {
			indexers[ix.name] = ix.fn
		}
	}
	return indexers
}
