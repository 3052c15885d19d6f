package store

import "sync/atomic"

// Stats says how the objects of a store with the [Lean] layout are kept. It is a copy.
type Stats struct {
	// Siblings are kept as what they differ in from another one, a base; Alone are compressed without one; AsIs are kept as
	// they came, because they cannot be made again from their bytes.
	Siblings, Alone, AsIs int
	// Bases is how many objects others are compared with; it counts those too that are only kept for that.
	Bases int
	// Kept is the size of all of them in memory but for AsIs, in bytes, without keys, indexes, and what the allocator rounds
	// up. Dictionary is that of the text that the objects of the collection share, with the index over it.
	Kept, Dictionary int64
	// Hot is the size of the bases that are at hand in full, because they are read often.
	Hot int64
}

// Stats returns how the objects are kept now: zero for another layout than [Lean].
func (s *Store) Stats() Stats { return s.layout.stats() }

// tally counts what is stored.
type tally struct{ siblings, alone, asIs, bytes atomic.Int64 }

// note counts n more objects like the one of h.
func (t *tally) note(h handle, n int64) {
	switch {
	case h.object() != nil:
		t.asIs.Add(n)
		return
	case h.on.rec != "":
		t.siblings.Add(n)
	default:
		t.alone.Add(n)
	}
	t.bytes.Add(n * int64(len(h.record())))
}

func (l *lean) stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{
		Siblings: int(l.tally.siblings.Load()), Alone: int(l.tally.alone.Load()), AsIs: int(l.tally.asIs.Load()),
		Bases: l.used, Kept: l.tally.bytes.Load() + l.baseBytes, Dictionary: l.coding.Size(), Hot: l.plain.Size(),
	}
}
