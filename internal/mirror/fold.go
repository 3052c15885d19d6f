package mirror

import "github.com/tarn-dev/tarn/object"

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
	// seen is what the subscription saw last, nil if it does not know the object. gone says that this incarnation was
	// deleted, with its final state if known. now is the incarnation that exists, nil if there is none.
	seen, final, now *object.Object
	gone             bool
}

func (f *folded) len() int { return len(f.byKey) }

// add takes the next change and reports whether it was merged into one that was pending.
func (f *folded) add(c *Change) (merged bool) {
	key := c.Object().Key
	it, merged := f.byKey[key]
	if !merged {
		it = &foldedItem{key: key, seen: c.Old}
		if f.byKey == nil {
			f.byKey = make(map[string]*foldedItem)
		}
		f.byKey[key] = it
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
		it.now = nil
		if it.seen != nil && !it.gone {
			it.gone, it.final = true, c.New
		}
		if it.seen == nil {
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
			c := Change{Kind: Deleted, Old: it.seen, New: it.final}
			it.gone, it.seen, it.final = false, nil, nil
			if it.now == nil {
				f.drop(it)
			}
			return c, true
		}
		c := Change{Kind: Updated, Old: it.seen, New: it.now}
		if it.seen == nil {
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
