// Package hot keeps what is read again and again, within a bound of bytes.
package hot

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// Cache keeps values by key as long as they are read often enough, and no more of them than its limit allows. A value is
// taken in when its key is missed a second time before too many others were: one that is read once, as in a pass over a whole
// collection, costs nothing and drives nothing out. What was not read since the last time around goes first
// (the clock of Corbató, 1968). Its methods may be called concurrently; what it
// returns is shared.
type Cache[K comparable, V any] struct {
	limit   int64
	entries sync.Map // of *entry[K, V] by K

	mu     sync.Mutex // guards what follows, and what is in entries
	size   int64
	ring   []*entry[K, V]
	hand   int
	missed [][4]uint32 // the last misses: parts of their keys' hashes, the newest first
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
	used  atomic.Bool // since the hand came by
}

var seed = maphash.MakeSeed()

// typical is the size of a value by which it is reckoned how many misses to remember: about as many as there are values.
const typical = 16 << 10

// New returns a cache for values of limit bytes in all; for none, if that is not positive.
func New[K comparable, V any](limit int64) *Cache[K, V] {
	sets := 16
	for int64(sets)*4*typical < limit {
		sets *= 2
	}
	return &Cache[K, V]{limit: limit, missed: make([][4]uint32, sets)}
}

// Get returns the value that is kept for key.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	found, ok := c.entries.Load(key)
	if !ok {
		return value, false
	}
	e := found.(*entry[K, V])
	if !e.used.Load() { // written only when it changes: readers of one entry do not disturb each other
		e.used.Store(true)
	}
	return e.value, true
}

// Offer says that key was missed, and how many bytes its value takes. If it is to be kept, value is called for it, under a
// lock. Offer reports whether that was so.
func (c *Cache[K, V]) Offer(key K, size int64, value func() V) bool {
	if size > c.limit {
		return false
	}
	h := maphash.Comparable(seed, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, mark := &c.missed[h%uint64(len(c.missed))], uint32(h>>32)
	if !slices.Contains(last[:], mark) {
		copy(last[1:], last[:])
		last[0] = mark
		return false
	}
	if _, ok := c.entries.Load(key); ok {
		return false // somebody else was quicker
	}
	for c.size+size > c.limit {
		c.evict()
	}
	e := &entry[K, V]{key: key, value: value(), size: size}
	c.entries.Store(key, e)
	c.ring = append(c.ring, e)
	if last := len(c.ring) - 1; c.hand < last { // behind the hand, which comes to it last
		c.ring[c.hand], c.ring[last] = c.ring[last], c.ring[c.hand]
		c.hand++
	}
	c.size += size
	return true
}

// evict drops the first value from the hand on that was not read since it last came by. The lock is held.
func (c *Cache[K, V]) evict() {
	for {
		c.hand %= len(c.ring)
		e := c.ring[c.hand]
		if e.used.Swap(false) {
			c.hand++
			continue
		}
		last := len(c.ring) - 1
		c.ring[c.hand], c.ring[last] = c.ring[last], nil
		c.ring = c.ring[:last]
		c.entries.Delete(e.key)
		c.size -= e.size
		return
	}
}

// Size returns how many bytes are kept, as they were declared.
func (c *Cache[K, V]) Size() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}
