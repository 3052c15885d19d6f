package mirror

import "github.com/tarn-dev/tarn/store"

// folded is the conflated backlog of one subscription: per key, what it saw last and what is there now, in the order in
// which the keys first changed. The memory is bounded by the number of keys, however many changes there were.
type folded struct {
	items   []*foldedItem // from head on; dead ones are skipped
	head    int
	byKey   map[string]*foldedItem
	initial int // items that hold an initial add
}

type foldedItem struct {
	key     string
	dead    bool
	initial bool
	// seen is what the subscription saw last, zero if it does not know the object. gone says that this incarnation was
	// deleted, with its final state if known. now is the incarnation that exists, zero if there is none.
	seen, final, now store.Ref
	gone             bool
}

func (f *folded) len() int { return len(f.byKey) }

// add takes the next change and reports whether it was merged into one that was pending.
func (f *folded) add(c *Change) (merged bool) {
	it, merged := f.byKey[c.Key]
	if !merged {
		it = &foldedItem{key: c.Key, seen: c.Old}
		if f.byKey == nil {
			f.byKey = make(map[string]*foldedItem)
		}
		f.byKey[c.Key] = it
		f.items = append(f.items, it)
	}
	switch c.Kind {
	case Added, Updated:
		it.now = c.New
		if c.Initial && !it.initial {
			it.initial = true
			f.initial++
		}
	case Deleted:
		it.now = store.Ref{}
		if !it.seen.IsZero() && !it.gone {
			it.gone, it.final = true, c.New
		}
		if it.seen.IsZero() {
			f.drop(it) // added and deleted, and never seen
		}
	}
	return merged
}

// pop returns the next change. An object that was deleted and exists again comes as two.
func (f *folded) pop() (Change, bool) {
	for f.head < len(f.items) {
		it := f.items[f.head]
		if it.dead {
			f.items[f.head] = nil
			f.head++
			continue
		}
		if it.gone {
			c := Change{Kind: Deleted, Key: it.key, Old: it.seen, New: it.final}
			it.gone, it.seen, it.final = false, store.Ref{}, store.Ref{}
			if it.now.IsZero() {
				f.drop(it)
			}
			return c, true
		}
		c := Change{Kind: Updated, Key: it.key, Old: it.seen, New: it.now}
		if it.seen.IsZero() {
			c.Kind, c.Initial = Added, it.initial
		}
		f.drop(it)
		return c, true
	}
	f.items, f.head = nil, 0
	return Change{}, false
}

func (f *folded) drop(it *foldedItem) {
	if it.initial {
		f.initial--
	}
	delete(f.byKey, it.key)
	*it = foldedItem{dead: true}
	f.compact()
}

// compact keeps the order list proportional to what is pending.
func (f *folded) compact() {
	if len(f.items) < 64 || len(f.byKey) > (len(f.items)-f.head)/2 {
		return
	}
	kept := make([]*foldedItem, 0, len(f.byKey))
	for _, it := range f.items[f.head:] {
		if !it.dead {
			kept = append(kept, it)
		}
	}
	f.items, f.head = kept, 0
}
