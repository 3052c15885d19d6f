package store

// Waiting returns how many changed items the stage holds until it is committed.
func (g *Stage) Waiting() int { return len(g.at) }

// Publish commits the changed items so far and lets them go, for a list that may be seen while it arrives: the first one
// of a scope. Nothing is deleted before the commit. The rules of [Store.Write] hold for fn; if it fails, nothing changed.
// It is not for a stage that was opened as suspect, nor while others write to the scope.
func (g *Stage) Publish(fn func(tx *Txn) error) error {
	batch := g.waiting()
	err := g.s.Write(batch, func(tx *Txn) error {
		for _, p := range batch {
			tx.Put(p, g.scope)
		}
		return fn(tx)
	})
	if err != nil {
		return err
	}
	put := g.s.root.Load()
	for _, p := range batch {
		if e, ok := put.entries.Get(p.key); ok {
			g.seen.set(e.slot)
		}
	}
	clear(g.at) // whose keys are theirs
	g.spares.Give(batch...)
	clear(g.changed)
	g.base, g.finger, g.changed = put, put.entries.Finger(), g.changed[:0]
	return nil
}
