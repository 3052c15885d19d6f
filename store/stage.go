package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/btree"
)

// Stage takes the list of a scope item by item and commits what is different as one change. An item that is stored
// already, at the same version and with the same uid, costs one bit until then; a changed one waits, prepared. Nothing is
// seen of a stage before its commit. It is used by one goroutine, while others may write to the store. It keeps the state
// that it started from, so it should not be left open.
type Stage struct {
	s       *Store
	scope   Scope
	base    *root
	finger  btree.Finger[string, *entry] // in base: lists mostly come in order
	suspect bool
	seen    bitset                    // by slot in base: the list has the object as base has it
	same    map[string]*object.Object // what only ticked a bit, if suspect
	changed []*Prepared               // nil where a later item of the same key took over
	spares  Spares
	at      map[string]int // by key, where in changed
}

// errEpoch says that a commit asks for what the stage has not kept.
var errEpoch = errors.New("store: a new epoch needs a stage that was opened as suspect")

// Stage starts a list of the scope. With suspect, the stage also keeps the items that look unchanged, so that the commit
// can take every item as changed: the source's history may have started over, and then equal versions mean nothing.
func (s *Store) Stage(scope Scope, suspect bool) *Stage {
	base := s.root.Load()
	return &Stage{
		s: s, scope: scope, base: base, finger: base.entries.Finger(), suspect: suspect,
		same: map[string]*object.Object{}, at: map[string]int{},
	}
}

// Add takes one item; a later one of the same key replaces it. An error is that of [Store.Prepare]: it concerns this
// object, of which the commit then leaves what is stored as it is.
func (g *Stage) Add(obj *object.Object) error {
	key, err := g.s.opts.key(obj)
	if err != nil {
		return err
	}
	stored, ok := g.forget(key)
	if ok && g.unchanged(stored, obj) {
		g.seen.set(stored.slot)
		if g.suspect {
			g.same[strings.Clone(key)] = obj.Keep()
		}
		return nil
	}
	p := g.spares.Take()
	if err := g.s.PrepareInto(p, obj); err != nil {
		g.spares.Give(p)
		if ok {
			g.seen.set(stored.slot)
		}
		return err
	}
	g.at[p.key] = len(g.changed)
	g.changed = append(g.changed, p)
	return nil
}

// waiting returns what waits to be put.
func (g *Stage) waiting() []*Prepared {
	all := g.changed[:0]
	for _, p := range g.changed {
		if p != nil {
			g.at[p.key] = len(all)
			all = append(all, p)
		}
	}
	clear(g.changed[len(all):])
	g.changed = all
	return all
}

// Delete takes the item that has obj's key out again, if it was added, and the commit then deletes what is stored under
// it. The error is the key function's.
func (g *Stage) Delete(obj *object.Object) error {
	key, err := g.s.opts.key(obj)
	if err != nil {
		return err
	}
	g.forget(key)
	return nil
}

// forget undoes what was noted for key. It returns what base has stored under it in the stage's scope.
func (g *Stage) forget(key string) (stored *entry, ok bool) {
	if i, ok := g.at[key]; ok {
		g.changed[i] = nil
		delete(g.at, key)
	}
	delete(g.same, key)
	stored, ok = g.finger.Get(key)
	if !ok || stored.scope != g.scope {
		return nil, false
	}
	g.seen.clear(stored.slot)
	return stored, true
}

// unchanged reports whether obj is what is stored. What failed before is tried again.
func (g *Stage) unchanged(stored *entry, obj *object.Object) bool {
	if stored.handle.err() != nil || obj.Err != nil || obj.Version == "" {
		return false
	}
	return stored.handle.isVersion(obj)
}

// Abort ends the stage. It leaves no trace.
func (g *Stage) Abort() { *g = Stage{} }

// Commit makes the scope exactly the items, as it was at version, as one change. With newEpoch, which needs a stage that
// was opened as suspect, every item counts as changed. If it fails, nothing changed. The stage is over in any case.
//
// What others wrote to the scope since the stage started is overruled; what they write while Commit runs may stay.
func (g *Stage) Commit(version string, newEpoch bool) error {
	return g.CommitFunc(version, newEpoch, func(*Txn) error { return nil })
}

// CommitFunc is [Stage.Commit] with a last step inside the transaction: [Txn.Changes] then has the difference, deletions
// first. The rules of [Store.Write] hold for fn; if it fails, nothing changed.
func (g *Stage) CommitFunc(version string, newEpoch bool, fn func(tx *Txn) error) error {
	defer g.Abort()
	if newEpoch && !g.suspect {
		return errEpoch
	}
	now := g.s.root.Load()
	batch, err := g.batch(now, newEpoch)
	if err != nil {
		return err
	}
	listed := make(map[string]struct{}, len(batch))
	for _, p := range batch {
		listed[p.key] = struct{}{}
	}
	return g.s.Write(batch, func(tx *Txn) error {
		for key, e := range tx.entries.Tree().All() {
			if e.scope != g.scope || e.seq > now.seq || g.keeps(e) {
				continue
			}
			if _, ok := listed[key]; !ok {
				tx.Delete(key)
			}
		}
		for _, p := range batch {
			tx.Put(p, g.scope)
		}
		tx.SetVersion(g.scope, version)
		return fn(tx)
	})
}

// keeps reports whether an entry still is what was found unchanged in base. Slots are reused, so the bit alone says
// nothing of an entry that was put since.
func (g *Stage) keeps(e *entry) bool { return e.seq <= g.base.seq && g.seen.has(e.slot) }

// batch returns what is to be put: what changed and, in a new epoch, what did not.
func (g *Stage) batch(now *root, newEpoch bool) ([]*Prepared, error) {
	batch := g.waiting()
	put := func(obj *object.Object) error {
		p, err := g.s.Prepare(obj)
		if err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		batch = append(batch, p)
		return nil
	}
	if newEpoch {
		for key := range g.base.entries.All() { // in order, unlike the map
			if obj, ok := g.same[key]; ok {
				if err := put(obj); err != nil {
					return nil, err
				}
			}
		}
		return batch, nil
	}
	if st, _ := now.scopes.Get(g.scope); st.changed <= g.base.seq {
		return batch, nil
	}
	// Somebody else wrote to the scope: what they changed of the unchanged is put back.
	for key, e := range g.base.entries.All() {
		if e.scope != g.scope || !g.seen.has(e.slot) {
			continue
		}
		if _, ok := g.at[key]; ok {
			continue
		}
		if cur, ok := now.entries.Get(key); ok && cur.scope == g.scope && cur.seq <= g.base.seq {
			continue
		}
		if err := put(e.handle.get()); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// bitset is a set of small numbers.
type bitset []uint64

func (b *bitset) set(n uint32) {
	for int(n/64) >= len(*b) {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

func (b bitset) clear(n uint32) {
	if int(n/64) < len(b) {
		b[n/64] &^= 1 << (n % 64)
	}
}

func (b bitset) has(n uint32) bool { return int(n/64) < len(b) && b[n/64]&(1<<(n%64)) != 0 }
