package queue

import (
	"fmt"
	"slices"
)

// Known says what the consumer of a [DeltaFIFO] has processed so far: the store that its process function keeps. The
// queue reads it while it is locked, so its methods must not call the queue. Between two calls of process it must only
// change for the key that is being processed.
type Known[T any] interface {
	ListKeys() []string
	GetByKey(key string) (obj T, exists bool, err error)
}

// Options configures a [DeltaFIFO]. The zero value is valid.
type Options[T any] struct {
	// KnownObjects makes the queue notice what a Replace leaves out, and deletions that concern nobody. Without it, the
	// queue only knows what is pending or being processed, and Resync does nothing.
	KnownObjects Known[T]
	// Transform runs exactly once per object received, outside the lock, before the object is queued; never on what
	// Resync makes, never on tombstones or on what AddIfNotPresent puts back. It may return another object of the same
	// key. If it fails, the call that brought the object fails and changes nothing. It may be called concurrently.
	Transform func(obj T) (T, error)
	// ReplacedAsSync reports the type Replaced as Sync, for consumers that do not tell the two apart.
	ReplacedAsSync bool
	// AcceptAfterClose lets mutations go on after Close, for code that relies on it; Pop hands out what they put in.
	AcceptAfterClose bool
}

// DeltaFIFO is a [Queue] that holds, per key, the list of everything that happened since that key was last popped. Pop
// hands over the whole list, the oldest first; Get and List give copies. It reads the known objects and never writes
// them: the consumer does, in the order popped. Make one with [NewDeltaFIFO].
//
// While a key is being processed, what is known of it is half done. A deletion that depends on it is queued behind the
// running item, and taken back when process has returned and the key turns out to be unknown.
type DeltaFIFO[T any] struct {
	line[Deltas[T]]
	key     KeyFunc[T]
	options Options[T]
	// unsure says that the first pending delta of the running key is a Deleted that holds only if the key is known when
	// process has returned; otherwise is what is pending if it is not.
	unsure    bool
	otherwise Deltas[T]
}

var _ Queue[int, Deltas[int]] = (*DeltaFIFO[int])(nil)

// NewDeltaFIFO returns an empty DeltaFIFO whose objects are told apart by key.
func NewDeltaFIFO[T any](key KeyFunc[T], options Options[T]) *DeltaFIFO[T] {
	q := &DeltaFIFO[T]{key: key, options: options}
	q.init(q.settle)
	q.acceptAfterClose = options.AcceptAfterClose
	return q
}

// Add queues an Added.
func (q *DeltaFIFO[T]) Add(obj T) error { return q.change(Added, obj) }

// Update queues an Updated.
func (q *DeltaFIFO[T]) Update(obj T) error { return q.change(Updated, obj) }

// Delete queues a Deleted with the object's final state, unless the key is neither pending, being processed nor known.
func (q *DeltaFIFO[T]) Delete(obj T) error { return q.change(Deleted, obj) }

func (q *DeltaFIFO[T]) change(t DeltaType, obj T) error {
	d, err := q.receive(t, obj)
	if err != nil {
		return err
	}
	return q.mutate(d)
}

// DeleteKey queues a tombstone with the newest pending object, else the known one, else none; unless the key is neither
// pending, being processed nor known.
func (q *DeltaFIFO[T]) DeleteKey(key string) error { return q.mutate(bareTombstone[T](key)) }

// DeleteTombstone is DeleteKey for a caller who has the last state that was seen.
func (q *DeltaFIFO[T]) DeleteTombstone(key string, lastSeen T) error {
	return q.mutate(Delta[T]{Type: Deleted, FinalStateUnknown: true, Key: key, Object: lastSeen})
}

func bareTombstone[T any](key string) Delta[T] {
	return Delta[T]{Type: Deleted, FinalStateUnknown: true, NoObject: true, Key: key}
}

// receive makes a delta of an object that comes from outside.
func (q *DeltaFIFO[T]) receive(t DeltaType, obj T) (d Delta[T], err error) {
	key, err := q.key.of(obj)
	if err != nil {
		return d, err
	}
	if q.options.Transform != nil {
		if obj, err = q.options.Transform(obj); err != nil {
			return d, fmt.Errorf("transform %q: %w", key, err)
		}
	}
	return Delta[T]{Type: t, Key: key, Object: obj}, nil
}

func (q *DeltaFIFO[T]) mutate(d Delta[T]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admit(); err != nil {
		return err
	}
	q.populate()
	if d.Type == Deleted {
		q.remove(d)
	} else {
		q.push(d)
	}
	return nil
}

func (q *DeltaFIFO[T]) push(d Delta[T]) {
	e := q.enter(d.Key)
	e.item = e.item.push(q.fill(d, e.item))
	if q.unsure && q.isRunning(d.Key) && (d.Type != Deleted || len(q.otherwise) > 0) {
		q.otherwise = q.otherwise.push(q.otherwise.fill(d))
	}
}

// remove queues a Deleted if there is something to delete.
func (q *DeltaFIFO[T]) remove(d Delta[T]) {
	if q.pending(d.Key) == nil {
		if q.isRunning(d.Key) {
			q.unsure = true
		} else if known, exists := q.known(d.Key); exists {
			d = known.fill(d)
		} else {
			return
		}
	}
	q.push(d)
}

// known returns what is known of a key, as deltas of which only the objects mean anything. Where the store cannot tell,
// the key is taken as known: a deletion too many does less harm than one too few.
func (q *DeltaFIFO[T]) known(key string) (objects Deltas[T], exists bool) {
	if q.options.KnownObjects == nil {
		return nil, false
	}
	obj, exists, err := q.options.KnownObjects.GetByKey(key)
	if err != nil || !exists {
		return nil, err != nil
	}
	return Deltas[T]{{Key: key, Object: obj}}, true
}

// fill gives a tombstone without an object the newest one in item, else the known one; while process runs for the key,
// settle does that.
func (q *DeltaFIFO[T]) fill(d Delta[T], item Deltas[T]) Delta[T] {
	if d = item.fill(d); d.NoObject && !q.isRunning(d.Key) {
		known, _ := q.known(d.Key)
		d = known.fill(d)
	}
	return d
}

// AddIfNotPresent puts in the deltas of one key, as Pop handed them out, unless something is pending for that key
// (what is being processed is not pending). Where the deltas carry no key, it is that of the newest one's object. It
// fails with [ErrNoDeltas] where there are none.
func (q *DeltaFIFO[T]) AddIfNotPresent(deltas Deltas[T]) error {
	if len(deltas) == 0 {
		return fmt.Errorf("add if not present: %w", ErrNoDeltas)
	}
	newest := deltas.Newest()
	key := newest.Key
	if key == "" && !newest.NoObject {
		var err error
		if key, err = q.key.of(newest.Object); err != nil {
			return err
		}
	}
	item := make(Deltas[T], 0, len(deltas))
	for _, d := range deltas {
		if d.Key != "" && d.Key != key {
			return fmt.Errorf("add if not present: deltas of %q and of %q in one list", d.Key, key)
		}
		d.Key = key
		item = item.push(d)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admit(); err != nil {
		return err
	}
	q.populate()
	switch e := q.pending(key); {
	case e == nil:
		q.enter(key).item = item
	case q.unsure && q.isRunning(key) && len(q.otherwise) == 0:
		q.otherwise = item
	}
	return nil
}

// settle puts a requeued item before what arrived meanwhile, and decides what was left open while process ran.
func (q *DeltaFIFO[T]) settle(done *entry[Deltas[T]], requeue *ErrRequeue) *entry[Deltas[T]] {
	unsure, otherwise := q.unsure, q.otherwise
	q.unsure, q.otherwise = false, nil
	if requeue != nil && requeue.Applied < len(done.item) {
		// The caller of Pop gets the old slice.
		back := slices.Clone(done.item[max(requeue.Applied, 0):])
		e := q.enter(done.key)
		for _, d := range e.item {
			back = back.push(q.fill(d, back))
		}
		e.item = back
		return e
	}
	if !unsure {
		return nil
	}
	e := q.pending(done.key)
	known, exists := q.known(done.key)
	if q.options.KnownObjects == nil {
		known, exists = done.item, done.item.Newest().Type != Deleted
	}
	if exists {
		e.item[0] = known.fill(e.item[0])
		return nil
	}
	if e.item, e.held = otherwise, len(otherwise) > 0; !e.held {
		q.processed(e)
	}
	return nil
}

// Get returns a copy of the deltas that are pending for the object's key.
func (q *DeltaFIFO[T]) Get(obj T) (deltas Deltas[T], exists bool, err error) {
	key, err := q.key.of(obj)
	if err != nil {
		return nil, false, err
	}
	return q.GetByKey(key)
}

// GetByKey returns a copy of the deltas that are pending for the key. The error is always nil.
func (q *DeltaFIFO[T]) GetByKey(key string) (deltas Deltas[T], exists bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.pending(key); e != nil {
		return slices.Clone(e.item), true, nil
	}
	return nil, false, nil
}

// List returns copies of all pending deltas, one list per key, in no particular order.
func (q *DeltaFIFO[T]) List() []Deltas[T] {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := make([]Deltas[T], 0, len(q.entries))
	for _, e := range q.entries {
		if e.held {
			items = append(items, slices.Clone(e.item))
		}
	}
	return items
}
