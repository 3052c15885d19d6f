package btree

import "slices"

// token is the identity of one phase of one [Edit]. It is not empty, because two empty allocations may share an address.
type token struct{ _ byte }

// node is a leaf (vals) or an inner node (kids). In an inner node, keys[i] is a lower bound of what is below kids[i] and
// above everything below kids[i-1]; keys[0] bounds nothing and is never looked at. The keys of inner nodes may outlive the
// items they came from, which is why values are in the leaves only.
type node[K, V any] struct {
	owner *token // the edit that may change this node in place, but for keys
	// keysOwner is the edit that may change keys in place. Versions of a node that have the same keys share them.
	keysOwner *token
	keys      []K
	vals      []V
	kids      []*node[K, V]
}

// search returns the position of the first key that is not before k, and whether it equals k.
func (n *node[K, V]) search(cmp func(a, b K) int, k K) (int, bool) {
	lo, hi := 0, len(n.keys)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch c := cmp(n.keys[mid], k); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// child returns which kid of an inner node k belongs to.
func (n *node[K, V]) child(cmp func(a, b K) int, k K) int {
	i, found := n.search(cmp, k)
	if !found && i > 0 {
		i--
	}
	return i
}

func (n *node[K, V]) ascend(yield func(K, V) bool) bool {
	for _, kid := range n.kids {
		if !kid.ascend(yield) {
			return false
		}
	}
	for i := range n.vals {
		if !yield(n.keys[i], n.vals[i]) {
			return false
		}
	}
	return true
}

func (n *node[K, V]) ascendFrom(cmp func(a, b K) int, from K, yield func(K, V) bool) bool {
	if n.kids == nil {
		for i, _ := n.search(cmp, from); i < len(n.keys); i++ {
			if !yield(n.keys[i], n.vals[i]) {
				return false
			}
		}
		return true
	}
	i := n.child(cmp, from)
	if !n.kids[i].ascendFrom(cmp, from, yield) {
		return false
	}
	for _, kid := range n.kids[i+1:] {
		if !kid.ascend(yield) {
			return false
		}
	}
	return true
}

// own returns n itself if owner may change it, else a copy that it may change. For the keys see ownKeys.
func (n *node[K, V]) own(owner *token) *node[K, V] {
	if n.owner == owner {
		return n
	}
	return &node[K, V]{owner: owner, keysOwner: n.keysOwner, keys: n.keys, vals: slices.Clone(n.vals), kids: slices.Clone(n.kids)}
}

// ownKeys makes the keys of n, which owner may change, such that it may change them too.
func (n *node[K, V]) ownKeys(owner *token) {
	if n.keysOwner != owner {
		n.keysOwner, n.keys = owner, slices.Clone(n.keys)
	}
}

// split moves the items from position at on into a new node, which it returns. The keys are to be owned.
func (n *node[K, V]) split(at int) *node[K, V] {
	right := &node[K, V]{owner: n.owner, keysOwner: n.owner}
	right.keys, n.keys = cut(n.keys, at)
	if n.kids != nil {
		right.kids, n.kids = cut(n.kids, at)
	} else {
		right.vals, n.vals = cut(n.vals, at)
	}
	return right
}

// cut returns the tail of s in memory of its own, with room for a whole node, as more will be added there, and the head.
func cut[T any](s []T, at int) (tail, head []T) {
	tail = append(make([]T, 0, maxItems+1), s[at:]...)
	clear(s[at:])
	return tail, s[:at]
}
