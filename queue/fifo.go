package queue

// FIFO is a [Queue] that holds only the newest value per key. Get and List give the pending values. Make one with
// [NewFIFO].
type FIFO[T any] struct {
	line[T]
	key KeyFunc[T]
	// dropped says that the running key was deleted, or replaced away, since it was popped.
	dropped bool
}

var _ Queue[int, int] = (*FIFO[int])(nil)

// NewFIFO returns an empty FIFO whose objects are told apart by key.
func NewFIFO[T any](key KeyFunc[T]) *FIFO[T] {
	f := &FIFO[T]{key: key}
	f.init(f.settle)
	return f
}

// Add sets the value of the object's key. The key joins the line only if it is not in it.
func (f *FIFO[T]) Add(obj T) error { return f.set(obj, true) }

// Update is the same as Add.
func (f *FIFO[T]) Update(obj T) error { return f.set(obj, true) }

// AddIfNotPresent is Add for a key that has no pending value; otherwise it does nothing.
func (f *FIFO[T]) AddIfNotPresent(obj T) error { return f.set(obj, false) }

func (f *FIFO[T]) set(obj T, overwrite bool) error {
	key, err := f.key.of(obj)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(); err != nil {
		return err
	}
	f.populate()
	if overwrite || f.pending(key) == nil {
		f.enter(key).item = obj
	}
	return nil
}

// Delete drops the pending value of the object's key, and keeps it from coming back if it is being processed. The key
// keeps its place in line: when its turn comes it is skipped, or popped if it was added again.
func (f *FIFO[T]) Delete(obj T) error {
	key, err := f.key.of(obj)
	if err != nil {
		return err
	}
	return f.DeleteKey(key)
}

// DeleteKey is Delete by key.
func (f *FIFO[T]) DeleteKey(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(); err != nil {
		return err
	}
	f.populate()
	if f.isRunning(key) {
		f.dropped = true
	}
	if e := f.pending(key); e != nil {
		var none T
		e.item, e.held = none, false
		f.processed(e)
	}
	return nil
}

// Replace makes the pending set exactly list, in that order; of one key's objects the last counts, in the place of the
// first. The version is not used.
func (f *FIFO[T]) Replace(list []T, _ string) error {
	keys := make([]string, len(list))
	for i, obj := range list {
		key, err := f.key.of(obj)
		if err != nil {
			return err
		}
		keys[i] = key
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.admit(); err != nil {
		return err
	}
	old := f.entries
	f.entries = make(map[string]*entry[T], len(list))
	f.head, f.tail = nil, nil
	for i, key := range keys {
		e := f.enter(key)
		e.item = list[i]
		if was := old[key]; was != nil {
			e.initial, was.initial = was.initial, false
			delete(old, key)
			f.recycle(was)
		}
	}
	for _, e := range old {
		f.processed(e)
		f.recycle(e)
	}
	if f.running != nil && f.pending(f.running.key) == nil {
		f.dropped = true
	}
	f.populateInitial()
	return nil
}

// Resync puts every held value whose key is not in line back in line. A FIFO takes a value out of what it holds when it
// takes the key out of line, so there is never one: Resync only reports a closed queue.
func (f *FIFO[T]) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.admit()
}

func (f *FIFO[T]) settle(done *entry[T], requeue *ErrRequeue) *entry[T] {
	dropped := f.dropped
	f.dropped = false
	if requeue == nil {
		return nil
	}
	if newer := f.pending(done.key); newer != nil || dropped {
		return newer
	}
	e := f.enter(done.key)
	e.item = done.item
	return e
}

// Get returns the pending value of the object's key.
func (f *FIFO[T]) Get(obj T) (item T, exists bool, err error) {
	key, err := f.key.of(obj)
	if err != nil {
		return item, false, err
	}
	return f.GetByKey(key)
}

// GetByKey returns the pending value of the key. The error is always nil.
func (f *FIFO[T]) GetByKey(key string) (item T, exists bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.pending(key); e != nil {
		return e.item, true, nil
	}
	return item, false, nil
}

// List returns the pending values, in no particular order.
func (f *FIFO[T]) List() []T {
	f.mu.Lock()
	defer f.mu.Unlock()
	items := make([]T, 0, len(f.entries))
	for _, e := range f.entries {
		if e.held {
			items = append(items, e.item)
		}
	}
	return items
}
