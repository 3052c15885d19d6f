package btree

import "slices"

// Edit makes a new version of a tree. It is used by one goroutine at a time. Make one with [Tree.Edit].
type Edit[K, V any] struct {
	tree  Tree[K, V]
	owner *token
}

// Edit starts a new version of t. t itself does not change.
func (t Tree[K, V]) Edit() *Edit[K, V] {
	return &Edit[K, V]{tree: t, owner: new(token)}
}

// Tree returns the version made so far, as an immutable tree. The edit can go on; what it changes next, it copies again.
func (e *Edit[K, V]) Tree() Tree[K, V] {
	e.owner = new(token)
	return e.tree
}

// Len returns the number of keys so far.
func (e *Edit[K, V]) Len() int { return e.tree.size }

// Get returns the value of k so far and whether it is there.
func (e *Edit[K, V]) Get(k K) (V, bool) { return e.tree.Get(k) }

// Find is [Tree.Find] of the version made so far.
func (e *Edit[K, V]) Find(k K) (K, V, bool) { return e.tree.Find(k) }

// Ceil is [Tree.Ceil] of the version made so far.
func (e *Edit[K, V]) Ceil(k K) (K, bool) { return e.tree.Ceil(k) }

// Set makes v the value of k. Where k is there already, the stored key stays and only the value changes.
func (e *Edit[K, V]) Set(k K, v V) {
	t := &e.tree
	if t.root == nil {
		t.root = &node[K, V]{owner: e.owner, keysOwner: e.owner, keys: []K{k}, vals: []V{v}}
		t.size = 1
		return
	}
	t.root = t.root.own(e.owner)
	at, added := e.set(t.root, k, v)
	if added {
		t.size++
	}
	if len(t.root.keys) > maxItems {
		left := t.root
		right := left.split(splitPoint(at))
		t.root = &node[K, V]{owner: e.owner, keysOwner: e.owner, keys: []K{left.keys[0], right.keys[0]}, kids: []*node[K, V]{left, right}}
	}
}

// set sets k in n, which the edit owns. It returns where in n something was inserted, and whether k is new. It may leave
// n with one item too many, which is the parent's to split.
func (e *Edit[K, V]) set(n *node[K, V], k K, v V) (at int, added bool) {
	if n.kids == nil {
		i, found := n.search(e.tree.cmp, k)
		if found {
			n.vals[i] = v
			return i, false
		}
		n.ownKeys(e.owner)
		n.keys = slices.Insert(n.keys, i, k)
		n.vals = slices.Insert(n.vals, i, v)
		return i, true
	}
	i := n.child(e.tree.cmp, k)
	kid := n.kids[i].own(e.owner)
	n.kids[i] = kid
	at, added = e.set(kid, k, v)
	if len(kid.keys) <= maxItems {
		return i, added
	}
	right := kid.split(splitPoint(at))
	n.ownKeys(e.owner)
	n.keys = slices.Insert(n.keys, i+1, right.keys[0])
	n.kids = slices.Insert(n.kids, i+1, right)
	return i + 1, added
}

// splitPoint returns where to split a node that became too large by an insertion at position at. Insertions at the end
// come in runs (lists arrive sorted), so there the left half stays full instead of half empty for ever.
func splitPoint(at int) int {
	if at == maxItems {
		return maxItems - 1
	}
	return (maxItems + 1) / 2
}

// Delete removes k and reports whether it was there.
func (e *Edit[K, V]) Delete(k K) bool {
	t := &e.tree
	// Asking first keeps a deletion of nothing from copying nodes.
	if _, ok := t.Get(k); !ok {
		return false
	}
	t.size--
	t.root = t.root.own(e.owner)
	e.remove(t.root, k)
	if len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if len(t.root.keys) == 0 {
		t.root = nil
	}
	return true
}

// remove removes k, which is there, from below n, which the edit owns. It may leave n too small, which is the parent's
// to mend.
func (e *Edit[K, V]) remove(n *node[K, V], k K) {
	if n.kids == nil {
		i, _ := n.search(e.tree.cmp, k)
		n.ownKeys(e.owner)
		n.keys = slices.Delete(n.keys, i, i+1)
		n.vals = slices.Delete(n.vals, i, i+1)
		return
	}
	i := n.child(e.tree.cmp, k)
	kid := n.kids[i].own(e.owner)
	n.kids[i] = kid
	e.remove(kid, k)
	if len(kid.keys) < minItems && len(n.kids) > 1 {
		e.join(n, max(i-1, 0))
	}
}

// join makes one node of the kids i and i+1 of n, or two of equal size where one would be too large.
func (e *Edit[K, V]) join(n *node[K, V], i int) {
	left, right := n.kids[i].own(e.owner), n.kids[i+1]
	left.ownKeys(e.owner)
	n.ownKeys(e.owner)
	if left.kids != nil {
		// The lower bound of an inner node's first kid is kept by its parent only.
		at := len(left.keys)
		left.keys = append(left.keys, right.keys...)
		left.keys[at] = n.keys[i+1]
		left.kids = append(left.kids, right.kids...)
	} else {
		left.keys = append(left.keys, right.keys...)
		left.vals = append(left.vals, right.vals...)
	}
	n.kids[i] = left
	if len(left.keys) <= maxItems {
		n.keys = slices.Delete(n.keys, i+1, i+2)
		n.kids = slices.Delete(n.kids, i+1, i+2)
		return
	}
	right = left.split(len(left.keys) / 2)
	n.keys[i+1], n.kids[i+1] = right.keys[0], right
}
