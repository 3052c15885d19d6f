package mirror

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/store"
)

// sink is where the reflector of one scope delivers. It collects what the reflector brings until Flush, so that what the
// socket already held is published as one change. It is used by the reflector's goroutine only.
type sink struct {
	m       *Mirror
	scope   *Scope
	pending []arrival
	version []byte // of the last arrival, or bookmark

	batch  []*store.Prepared // memory for those of a flush
	spares store.Spares
}

// arrival is an object on its way into the store: prepared, or its deletion.
type arrival struct {
	prepared *store.Prepared // nil: it is deleted
	key      string          // of what is deleted
	final    store.Ref       // its final state
}

// Borrows implements reflector.Borrower: what is kept compressed shares nothing with what came. Code of the user's might.
func (s *sink) Borrows() bool {
	o := &s.m.options
	return o.Layout == store.Lean && o.Keep == nil && o.Transform == nil
}

// flushAt bounds what waits for a Flush.
const flushAt = 512

func (s *sink) Add(obj *object.Object) error { return s.put(obj, obj.Version) }

func (s *sink) Update(obj *object.Object) error { return s.put(obj, obj.Version) }

func (s *sink) Delete(obj *object.Object) error {
	if obj.Key == "" {
		return fmt.Errorf("object with uid %q: %w", obj.UID, store.ErrNoKey)
	}
	return s.deleted(obj, obj.Version)
}

// deleted notes that what is stored under obj's key goes, and that obj was its final state.
func (s *sink) deleted(obj *object.Object, version string) error {
	final := s.m.store.Hold(s.final(obj))
	return s.arrive(arrival{key: strings.Clone(obj.Key), final: final}, version)
}

// final is the final state as whoever hears of the deletion sees it. Nobody hears of an object that was left out, so
// nothing is done to it, and nothing can fail.
func (s *sink) final(obj *object.Object) *object.Object {
	if s.m.options.Transform == nil {
		return obj
	}
	_, held := s.m.Snapshot().Get(obj.Key)
	held = held || slices.ContainsFunc(s.pending, func(a arrival) bool { return a.prepared != nil && a.prepared.Key() == obj.Key })
	if !held {
		return obj
	}
	return s.m.final(obj)
}

func (s *sink) put(obj *object.Object, version string) error {
	received, keep := s.m.receive(obj)
	if !keep { // as if it were gone
		return s.deleted(obj, version)
	}
	p := s.spares.Take()
	if err := s.m.store.PrepareInto(p, received); err != nil {
		s.spares.Give(p)
		return err
	}
	return s.arrive(arrival{prepared: p}, version)
}

func (s *sink) arrive(a arrival, version string) error {
	s.pending = append(s.pending, a)
	if version != "" {
		s.version = append(s.version[:0], version...)
	}
	if len(s.pending) >= flushAt {
		return s.Flush()
	}
	return nil
}

// Bookmark implements reflector.Bookmarker.
func (s *sink) Bookmark(version string) error {
	s.version = append(s.version[:0], version...)
	return nil
}

// Flush publishes what has come since the last one.
func (s *sink) Flush() error {
	if len(s.pending) == 0 && len(s.version) == 0 {
		return nil
	}
	for _, a := range s.pending {
		if a.prepared != nil {
			s.batch = append(s.batch, a.prepared)
		}
	}
	err := s.m.apply(s.scope, s.pending, s.batch, string(s.version))
	s.version = s.version[:0]
	s.spares.Give(s.batch...)
	clear(s.batch)
	clear(s.pending)
	s.batch, s.pending = s.batch[:0], s.pending[:0]
	return err
}

func (s *sink) Resync() error { return nil } // each subscription does its own

func (s *sink) Replace(list []*object.Object, version string) error {
	stage := s.Stage(false)
	for _, obj := range list {
		if err := stage.Add(obj); err != nil {
			stage.Abort()
			return err
		}
	}
	return stage.Commit(version, false)
}

// Stage implements reflector.Stager.
func (s *sink) Stage(suspect bool) reflector.Stage {
	st := &stage{sink: s, listed: s.m.store.Stage(s.scope.id, suspect)}
	// The very first list may be seen while it arrives: the scope is not synced yet, and nothing of it waits twice.
	st.early = !s.scope.everSynced && !suspect
	return st
}

// apply commits what watch events brought; batch is what of it is prepared.
func (m *Mirror) apply(scope *Scope, pending []arrival, batch []*store.Prepared, version string) error {
	initial := !m.scopeSynced(scope)
	if order, ok := object.CompareVersions(version, m.Snapshot().Scope(scope.id).Version); ok && order < 0 {
		version = "" // an event that came late says nothing of how far the source is
	}
	return m.publish(func(end func(*store.Txn, []Change)) error {
		return m.store.Write(batch, func(tx *store.Txn) error {
			changes := make([]Change, 0, len(pending)) // the log keeps them
			for _, a := range pending {
				changes = a.apply(tx, scope.id, initial, changes)
			}
			if version != "" {
				tx.SetVersion(scope.id, version)
			}
			end(tx, changes)
			return nil
		})
	})
}

func (a arrival) apply(tx *store.Txn, scope store.Scope, initial bool, changes []Change) []Change {
	if a.prepared == nil {
		old := tx.Get(a.key)
		if old.IsZero() || isOlder(a.final, old) {
			return changes
		}
		tx.Delete(a.key)
		return append(changes, Change{Kind: Deleted, Key: a.key, Old: old, New: a.final})
	}
	old, now := tx.Get(a.prepared.Key()), a.prepared.Ref()
	if !old.IsZero() && (isOlder(now, old) || isSame(now, old)) {
		return changes
	}
	return appendChange(changes, tx.Put(a.prepared, scope), initial)
}

// isSame reports whether now is the version that is stored: a reconnect repeats what was seen. Without a version nothing
// can be told, and what failed before is taken again.
func isSame(now, old store.Ref) bool {
	version := now.Version()
	return version != "" && version == old.Version() && now.SameUID(old) && (old.Err() == nil) == (now.Err() == nil)
}

// isOlder reports whether now is known to be older than what is stored.
func isOlder(now, old store.Ref) bool {
	order, ok := object.CompareVersions(now.Version(), old.Version())
	return ok && order < 0
}

// appendChange notes that an object was put. Another uid is another object: the old one is gone, how is not known.
func appendChange(changes []Change, c store.Change, initial bool) []Change {
	added := Change{Kind: Added, Initial: initial, Key: c.Key, New: c.New}
	switch {
	case c.Old.IsZero():
		return append(changes, added)
	case !c.Old.SameUID(c.New):
		return append(changes, Change{Kind: Deleted, Key: c.Key, Old: c.Old}, added)
	}
	return append(changes, Change{Kind: Updated, Key: c.Key, Old: c.Old, New: c.New})
}
