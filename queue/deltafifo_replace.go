package queue

import "fmt"

// Replace queues a Replaced per element of list, then a tombstone for every key that is known, pending or being processed
// and missing from the list. A Deleted that is pending for such a key already swallows the tombstone. The version is not
// used.
func (q *DeltaFIFO[T]) Replace(list []T, _ string) error {
	t := Replaced
	if q.options.ReplacedAsSync {
		t = Sync
	}
	deltas := make(Deltas[T], len(list))
	listed := make(map[string]struct{}, len(list))
	for i, obj := range list {
		var err error
		if deltas[i], err = q.receive(t, obj); err != nil {
			return err
		}
		listed[deltas[i].Key] = struct{}{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admit(); err != nil {
		return err
	}
	gone := q.missing(listed)
	for _, d := range deltas {
		q.push(d)
	}
	for _, key := range gone {
		q.remove(bareTombstone[T](key))
	}
	q.populateInitial()
	return nil
}

// missing returns the keys that exist, as far as the queue can tell, and are not listed; each once.
func (q *DeltaFIFO[T]) missing(listed map[string]struct{}) (gone []string) {
	if r := q.running; r != nil && q.pending(r.key) == nil {
		if _, ok := listed[r.key]; !ok {
			gone = append(gone, r.key)
		}
	}
	for key, e := range q.entries {
		if _, ok := listed[key]; !ok && e.held {
			gone = append(gone, key)
		}
	}
	if q.options.KnownObjects == nil {
		return gone
	}
	for _, key := range q.options.KnownObjects.ListKeys() {
		if _, ok := listed[key]; !ok && q.pending(key) == nil && !q.isRunning(key) {
			gone = append(gone, key)
		}
	}
	return gone
}

// Resync queues a Sync for each known key that has nothing pending and is not being processed. If a known object cannot
// be read, or has no key, it fails and queues nothing.
func (q *DeltaFIFO[T]) Resync() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.admit(); err != nil || q.options.KnownObjects == nil {
		return err
	}
	var deltas Deltas[T]
	for _, stored := range q.options.KnownObjects.ListKeys() {
		if q.pending(stored) != nil || q.isRunning(stored) {
			continue
		}
		obj, exists, err := q.options.KnownObjects.GetByKey(stored)
		if err != nil {
			return fmt.Errorf("resync %q: %w", stored, err)
		}
		if !exists {
			continue
		}
		key, err := q.key.of(obj)
		if err != nil {
			return fmt.Errorf("resync %q: %w", stored, err)
		}
		if q.pending(key) == nil && !q.isRunning(key) {
			deltas = append(deltas, Delta[T]{Type: Sync, Key: key, Object: obj})
		}
	}
	for _, d := range deltas {
		q.push(d)
	}
	return nil
}
