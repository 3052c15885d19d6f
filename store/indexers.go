package store

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tarn-dev/tarn/store/internal/btree"
)

// addChunk is how many stored objects a new index takes in under one hold of the lock.
const addChunk = 512

// newIndexes makes empty indexes, in the order of their names.
func newIndexes(indexers Indexers, state indexState) []index {
	var indexes []index
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		indexes = append(indexes, index{name, indexers[name], state, btree.New[posting, struct{}](posting.compare)})
	}
	return indexes
}

// AddIndexers adds indexes, all or none. When it returns, everything stored is in them; until then nobody sees them. It
// may be called at any time: reads and writes go on, but writes call the new functions from the start. One call at a
// time is served. An index function must not call it.
//
// The error is [ErrIndexExists] for a name that is taken. In a store that is not tolerant it also is an [*IndexError] for
// a stored object that one of the functions fails for, and then no index was added.
func (s *Store) AddIndexers(indexers Indexers) error {
	s.adding.Lock()
	defer s.adding.Unlock()
	r := s.root.Load()
	for _, name := range slices.Sorted(maps.Keys(indexers)) {
		if _, ok := r.indexAt(name); ok {
			return fmt.Errorf("%w: %q", ErrIndexExists, name)
		}
	}
	// From here on every write keeps the new indexes, because none that was prepared without them is accepted. So what
	// was stored before is all that is left to add, and it needs one pass, however busy the store is.
	start := len(r.indexes)
	r = s.edit(func(tx *Txn) { tx.indexes = append(slices.Clone(tx.indexes), newIndexes(indexers, building)...) })
	state := dropped
	defer func() {
		s.edit(func(tx *Txn) {
			tx.indexes = slices.Clone(tx.indexes)
			for i := start; i < len(tx.indexes); i++ {
				tx.indexes[i].state = state
				if state == dropped {
					tx.indexes[i] = index{state: dropped, postings: btree.New[posting, struct{}](posting.compare)}
				}
			}
		})
	}()
	if err := s.backfill(r, start); err != nil {
		return err
	}
	state = ready
	return nil
}

// edit publishes what fn does to the transaction.
func (s *Store) edit(fn func(tx *Txn)) *root {
	s.mu.Lock()
	defer s.mu.Unlock()
	tx := s.begin(0)
	fn(tx)
	s.publish(tx)
	return s.root.Load()
}

// backfill puts what is stored in r into the indexes from position start on, as far as it is still stored.
func (s *Store) backfill(r *root, start int) error {
	type item struct {
		e *entry
		p *Prepared
	}
	chunk := make([]item, 0, addChunk)
	flush := func() {
		s.edit(func(tx *Txn) {
			for _, it := range chunk {
				tx.extend(it.e, it.p)
			}
		})
		clear(chunk)
		chunk = chunk[:0]
	}
	for key, e := range r.entries.All() {
		p := &Prepared{key: key, handle: e.handle, indexed: start}
		if p.err = evaluate(p, e.handle.get(), r.indexes); p.err != nil {
			if s.opts.OnError == nil {
				return p.err
			}
			s.opts.OnError(p.handle.object(), p.err)
		}
		if chunk = append(chunk, item{e, p}); len(chunk) == addChunk {
			flush()
		}
	}
	flush()
	return nil
}

// extend adds to an entry what p, which was made from it, has for further indexes, unless it was put anew since.
func (tx *Txn) extend(e *entry, p *Prepared) {
	key, cur, ok := tx.entries.Find(p.key)
	if !ok || cur.seq != e.seq {
		return
	}
	next := *cur
	if len(p.values) > 0 {
		values := slices.Clip(cur.indexed())
		for _, v := range p.values {
			values = append(values, tx.post(key, v))
		}
		next.values = &values
	}
	if p.err != nil {
		tx.l.drop(cur.handle) // the edit is always published
		tx.l.put(p.handle)
		next.handle = p.handle
	}
	tx.entries.Set(key, &next)
}
