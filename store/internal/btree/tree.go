// Package btree is a persistent ordered map: a B+ tree whose versions share the nodes that did not change.
//
// A [Tree] is an immutable value; any number of goroutines may read it without locks, for as long as they like. An
// [Edit] makes the next version. It copies a node the first time that it changes it and changes its own copy in place
// from then on, so a batch of many changes copies each touched node once.
package btree

import "iter"

// maxItems is how many keys a node may hold between two operations. A node has room for one more, so that an insertion
// can happen before the split, and arrays that grow by doubling end at exactly 64.
const maxItems = 63

// minItems is the size below which a deletion joins a node with a neighbour.
const minItems = maxItems / 3

// Tree is one version of the map. It is immutable. Make the first one with [New].
type Tree[K, V any] struct {
	root *node[K, V]
	cmp  func(a, b K) int
	size int
}

// New returns an empty tree ordered by cmp, which must be a strict weak order and is called concurrently.
func New[K, V any](cmp func(a, b K) int) Tree[K, V] {
	return Tree[K, V]{cmp: cmp}
}

// Len returns the number of keys.
func (t Tree[K, V]) Len() int { return t.size }

// Get returns the value of k and whether it is there.
func (t Tree[K, V]) Get(k K) (v V, ok bool) {
	_, v, ok = t.Find(k)
	return v, ok
}

// Find is Get that also returns the key as it is stored.
func (t Tree[K, V]) Find(k K) (key K, v V, ok bool) {
	n, i, ok := t.find(k)
	if !ok {
		return key, v, false
	}
	return n.keys[i], n.vals[i], true
}

// find returns the leaf that k belongs to, where in it the first key is that is not before k, and whether that is k.
func (t Tree[K, V]) find(k K) (leaf *node[K, V], at int, ok bool) {
	n := t.root
	if n == nil {
		return nil, 0, false
	}
	for n.kids != nil {
		n = n.kids[n.child(t.cmp, k)]
	}
	at, ok = n.search(t.cmp, k)
	return n, at, ok
}

// Finger gets values of one tree, those of keys that come in order nearly for nothing. It is used by one goroutine at a
// time. Make one with [Tree.Finger].
type Finger[K, V any] struct {
	tree Tree[K, V]
	leaf *node[K, V]
	next int // in leaf
}

// Finger returns a finger at the beginning of t.
func (t Tree[K, V]) Finger() Finger[K, V] { return Finger[K, V]{tree: t} }

// Get is [Tree.Get].
func (f *Finger[K, V]) Get(k K) (v V, ok bool) {
	ok = f.leaf != nil && f.next < len(f.leaf.keys) && f.tree.cmp(f.leaf.keys[f.next], k) == 0
	if !ok {
		f.leaf, f.next, ok = f.tree.find(k)
	}
	if !ok {
		return v, false
	}
	f.next++
	return f.leaf.vals[f.next-1], true
}

// Ceil returns the first key that is not before k, as it is stored, and whether there is one.
func (t Tree[K, V]) Ceil(k K) (key K, ok bool) {
	for key := range t.Ascend(k) {
		return key, true
	}
	return key, false
}

// Ascend iterates in order over the keys that are not before from.
func (t Tree[K, V]) Ascend(from K) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.root != nil {
			t.root.ascendFrom(t.cmp, from, yield)
		}
	}
}

// All iterates over everything, in order.
func (t Tree[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		if t.root != nil {
			t.root.ascend(yield)
		}
	}
}
