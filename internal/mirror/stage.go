package mirror

import (
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// stage is one list of a scope on its way in. What is stored at the same version ticks a bit, the rest waits until the
// commit, which is one change. In the very first list of a scope, what waits is published on the way.
type stage struct {
	sink   *sink
	listed *store.Stage
	early  bool
}

// Add implements reflector.Stage.
func (g *stage) Add(obj *object.Object) error {
	received, keep := g.sink.m.receive(obj)
	if !keep {
		return g.listed.Delete(obj)
	}
	if err := g.listed.Add(received); err != nil {
		return err
	}
	return g.flushEarly()
}

// Delete implements reflector.Stage.
func (g *stage) Delete(obj *object.Object) error { return g.listed.Delete(obj) }

// Abort implements reflector.Stage.
func (g *stage) Abort() { g.listed.Abort() }

// flushEarly publishes what waits, if that is allowed and enough.
func (g *stage) flushEarly() error {
	if !g.early || g.listed.Waiting() < flushAt {
		return nil
	}
	return g.sink.m.publish(func(end func(*store.Txn, []Change)) error {
		return g.listed.Publish(func(tx *store.Txn) error {
			end(tx, changesOf(tx, true))
			return nil
		})
	})
}

// Commit implements reflector.Stage.
func (g *stage) Commit(version string, newEpoch bool) error {
	m, scope := g.sink.m, g.sink.scope
	initial := !m.scopeSynced(scope)
	var changes []Change
	err := m.publish(func(end func(*store.Txn, []Change)) error {
		return g.listed.CommitFunc(version, newEpoch, func(tx *store.Txn) error {
			changes = changesOf(tx, initial)
			end(tx, changes)
			return nil
		})
	})
	if err != nil {
		return err
	}
	m.relisted(scope, changes)
	return nil
}

// changesOf turns what a transaction did into log entries, deletions first.
func changesOf(tx *store.Txn, initial bool) []Change {
	changes := make([]Change, 0, len(tx.Changes()))
	for _, c := range tx.Changes() {
		switch {
		case c.New.IsZero():
			changes = append(changes, Change{Kind: Deleted, Key: c.Key, Old: c.Old})
		case failedAgain(c.New, c.Old): // nothing that anybody could see
		default:
			changes = appendChange(changes, c, initial)
		}
	}
	return changes
}

// failedAgain reports whether now, marked, is the stored version, which was tried again. Its size may differ where it got
// further this time.
func failedAgain(now, old store.Ref) bool {
	return old.Err() != nil && isSame(now, old) && now.Size() == old.Size()
}
