package mirror

import (
	"sync/atomic"

	"github.com/tarn-dev/tarn/store"
)

// Kind says what a [Change] did to its object.
type Kind uint8

// The kinds of change. Sync is not in the log: a subscription makes it when it hands out an unchanged object again.
const (
	Added Kind = iota + 1
	Updated
	Deleted
	Sync
)

// Change is one change of one object. It holds its objects as the store keeps them, and makes them when asked.
type Change struct {
	Kind Kind
	// Initial marks an object that was there before the mirror, or the subscription, began.
	Initial bool
	Key     string
	// Old is the object before: what was stored. Zero for Added.
	Old store.Ref
	// New is the object after. For Deleted it is the final state that the source sent, or zero where it is not known.
	New store.Ref
}

// Newest returns the newest known object of the change.
func (c *Change) Newest() store.Ref {
	if c.New.IsZero() {
		return c.Old
	}
	return c.New
}

// size is what a pending change weighs against a subscription's limit: the bytes that nothing else may hold any more.
func (c *Change) size() uint64 { return uint64(c.Newest().Size()) + entryOverhead }

const entryOverhead = 64

// node is a batch of changes that were published together. The last node of a log is empty until the next commit fills
// it, so that holding on to the end of the log holds no object.
type node struct {
	seq, bytes uint64 // the log's length and weight before this node
	entries    []Change
	next       atomic.Pointer[node] // not nil once entries are set; both are immutable from then
}

// after returns the node that follows n once n is filled with entries. The caller is the only writer.
func (n *node) after(entries []Change) *node {
	tail := &node{seq: n.seq + uint64(len(entries)), bytes: n.bytes}
	for i := range entries {
		tail.bytes += entries[i].size()
	}
	return tail
}

// fill announces entries to who reads n.
func (n *node) fill(entries []Change, next *node) {
	n.entries = entries
	n.next.Store(next)
}
