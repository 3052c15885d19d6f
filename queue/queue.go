// Package queue holds the two queues that stand between a source of changes and the one consumer that applies them.
//
//   - [FIFO] keeps the newest value per key: for a consumer that wants each object once, at its latest value, and does
//     not care about deletions.
//   - [DeltaFIFO] keeps, per key, the list of everything that happened since that key was last popped, deletions
//     included, and can compare a full list with what the consumer already knows.
//
// Both are generic over what they hold and know nothing else of this module. A queue is filled from any number of
// goroutines and emptied with Pop, which hands one key's item at a time to a process function:
//
//	q := queue.NewDeltaFIFO(keyOf, queue.Options[*Pod]{KnownObjects: store})
//	go fill(q)
//	for {
//		_, err := q.Pop(func(deltas queue.Deltas[*Pod], isInInitialList bool) error { return apply(store, deltas) })
//		if errors.Is(err, queue.ErrClosed) {
//			return
//		}
//	}
//
// # While a process function runs
//
// The queue is not locked then: everybody may go on filling and reading it, the process function too (it must not Pop).
// What arrives for the key that is being processed takes effect as if it came just after process returned: it is
// pending behind the running item, and goes behind it again if that is put back.
package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Queue is a store of pending items that can also be popped in order. T is what is put in, I is what is popped and read:
// T for a [FIFO], [Deltas] of T for a [DeltaFIFO]. A key that was popped is not pending any more.
//
// All methods may be called concurrently. Mutations (Add, Update, Delete, DeleteKey, AddIfNotPresent, Replace, Resync)
// return [ErrClosed] after Close, and a [*KeyError] where the key function fails; then nothing has changed.
type Queue[T, I any] interface {
	// Add takes a new object.
	Add(obj T) error
	// Update takes a newer state of an object.
	Update(obj T) error
	// Delete takes the final state of an object.
	Delete(obj T) error
	// DeleteKey says that the object of a key is gone, where its final state is not at hand.
	DeleteKey(key string) error
	// AddIfNotPresent puts an item in, unless its key has something pending.
	AddIfNotPresent(item I) error
	// Replace says that the collection is exactly list, as it was at version. The queue does not keep the slice.
	Replace(list []T, version string) error
	// Resync puts what is known, or held, in line again.
	Resync() error

	// Get returns what is pending for the object's key.
	Get(obj T) (item I, exists bool, err error)
	// GetByKey returns what is pending for the key. Its error is always nil.
	GetByKey(key string) (item I, exists bool, err error)
	// List returns all that is pending, in no particular order.
	List() []I
	// ListKeys returns the keys that have something pending, in no particular order.
	ListKeys() []string

	// Pop blocks while nothing is pending, then takes out the next item, calls process with it, and returns the item and
	// the error of process. Calls of process never overlap, however many goroutines pop. An item whose process failed
	// is gone, unless the error is an [ErrRequeue]. A panic of process passes through; the item counts as processed.
	// After Close, Pop hands out what is pending and then returns [ErrClosed].
	Pop(process ProcessFunc[I]) (I, error)
	// PopContext is Pop that stops waiting when the context ends, and returns the context's cause. When the context has
	// ended already, nothing is popped. It does not interrupt process.
	PopContext(ctx context.Context, process ProcessFunc[I]) (I, error)
	// HasSynced reports whether the initial list has been processed. It is false at first. If the first mutation is a
	// Replace, it turns true when every key of that Replace has been processed (its process has returned); with any other
	// first mutation, a Resync excepted, it is true from then. Once true it stays true.
	HasSynced() bool
	// Synced returns a channel that closes at the moment when HasSynced turns true.
	Synced() <-chan struct{}
	// Close ends the queue; see Pop. It may be called more than once. It does not wait for a running process.
	Close()
}

// KeyFunc returns the key of an object: what tells it from all others. It must be a pure function and may be called
// concurrently.
type KeyFunc[T any] func(obj T) (string, error)

// ProcessFunc takes one popped item. isInInitialList is true for a key of the first Replace until it has been processed.
// It may use the queue, except Pop.
type ProcessFunc[I any] func(item I, isInInitialList bool) error

// ErrClosed is returned by mutations after Close, and by Pop when nothing is left.
var ErrClosed = errors.New("queue is closed")

// ErrNoDeltas is returned by AddIfNotPresent of a [DeltaFIFO] for an empty list of deltas.
var ErrNoDeltas = errors.New("no deltas")

// ErrRequeue is returned by a process function, wrapped or not, to put its item back. Pop then returns Err. The key does
// not count as processed.
//
// The item goes back ahead of whatever arrived for its key meanwhile: a [DeltaFIFO] puts its deltas before the newer
// ones, a [FIFO] keeps the newer value (or the deletion) instead. It keeps the place that its key took in line meanwhile,
// else it joins at the end, so that one failing item does not hold up the others. The process function must not have
// modified it.
type ErrRequeue struct {
	// Err is what Pop returns; it may be nil.
	Err error
	// Applied is how many of the item's deltas, from the oldest on, need not come back. With all of them applied, the
	// item counts as processed. A FIFO ignores it.
	Applied int
	// After is how long the key stays out of line, with what arrives for it meanwhile; other keys go on. Close ends it.
	After time.Duration
}

// Error returns the text of Err.
func (e ErrRequeue) Error() string {
	if e.Err == nil {
		return "requeue"
	}
	return "requeue: " + e.Err.Error()
}

// Unwrap returns Err.
func (e ErrRequeue) Unwrap() error { return e.Err }

// KeyError is returned where the key function fails.
type KeyError struct {
	// Object is what it failed for.
	Object any
	// Err is its error.
	Err error
}

// Error names the object, shortened where it is long.
func (e *KeyError) Error() string {
	const limit = 200
	name := fmt.Sprintf("%+v", e.Object)
	if len(name) > limit {
		name = strings.ToValidUTF8(name[:limit], "") + "..."
	}
	return fmt.Sprintf("no key for object %s: %v", name, e.Err)
}

// Unwrap returns the key function's error.
func (e *KeyError) Unwrap() error { return e.Err }

// of returns the key of obj, or a *KeyError.
func (f KeyFunc[T]) of(obj T) (string, error) {
	key, err := f(obj)
	if err != nil {
		return "", &KeyError{Object: obj, Err: err}
	}
	return key, nil
}
