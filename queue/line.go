package queue

import (
	"context"
	"errors"
	"sync"
	"time"
)

// line is what the queues share: items by key, the order in which keys are popped, the popping, and the sync state.
type line[I any] struct {
	mu   sync.Mutex
	cond sync.Cond

	entries    map[string]*entry[I]
	head, tail *entry[I]
	// running was handed to process and is not in entries any more.
	running *entry[I]
	// settle decides what becomes of the running entry: it returns the entry in line that goes on with it, or nil where
	// the item is done. requeue is nil where the item does not go back. It is called with the lock held.
	settle func(done *entry[I], requeue *ErrRequeue) *entry[I]

	closed, acceptAfterClose bool
	// populated is true after the first mutation, initial counts the keys of a first Replace that are not processed yet.
	populated bool
	initial   int
	synced    chan struct{}

	free    *entry[I]
	freeLen int
}

// entry is one key's item. It leaves the map when it is popped, or when its turn comes and it holds nothing.
type entry[I any] struct {
	key  string
	item I
	// held is false where the item was taken back: the key keeps its place and is skipped.
	held bool
	// queued says that the entry is between head and tail.
	queued bool
	// initial says that the key belongs to the first Replace and has not been processed.
	initial bool
	// delay keeps the entry out of line until it fires.
	delay *time.Timer
	next  *entry[I]
}

// maxFree bounds the entries kept for reuse.
const maxFree = 128

func (l *line[I]) init(settle func(*entry[I], *ErrRequeue) *entry[I]) {
	l.cond.L = &l.mu
	l.entries = map[string]*entry[I]{}
	l.settle = settle
	l.synced = make(chan struct{})
}

// admit is called first by every mutation that holds the lock.
func (l *line[I]) admit() error {
	if l.closed && !l.acceptAfterClose {
		return ErrClosed
	}
	return nil
}

// populate notes a mutation other than Replace and Resync.
func (l *line[I]) populate() {
	if !l.populated {
		l.populated = true
		close(l.synced)
	}
}

// populateInitial notes a Replace that has put all its keys in line.
func (l *line[I]) populateInitial() {
	if l.populated {
		return
	}
	l.populated = true
	for _, e := range l.entries {
		e.initial = true
	}
	if l.initial = len(l.entries); l.initial == 0 {
		close(l.synced)
	}
}

// processed notes that nothing is left to do for the entry's key as it was in the first Replace.
func (l *line[I]) processed(e *entry[I]) {
	if !e.initial {
		return
	}
	e.initial = false
	if l.initial--; l.initial == 0 {
		close(l.synced)
	}
}

// pending returns the entry of a key that has something pending, or nil.
func (l *line[I]) pending(key string) *entry[I] {
	if e := l.entries[key]; e != nil && e.held {
		return e
	}
	return nil
}

func (l *line[I]) isRunning(key string) bool { return l.running != nil && l.running.key == key }

// enter returns the entry of a key, new or not, as held and in line.
func (l *line[I]) enter(key string) *entry[I] {
	e := l.entries[key]
	if e == nil {
		if e = l.free; e != nil {
			l.free, e.next = e.next, nil
			l.freeLen--
		} else {
			e = new(entry[I])
		}
		e.key = key
		l.entries[key] = e
	}
	e.held = true
	if e.delay == nil {
		l.join(e)
	}
	return e
}

// join puts an entry at the end of the line unless it has a place in it.
func (l *line[I]) join(e *entry[I]) {
	if e.queued {
		return
	}
	e.queued = true
	if l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.cond.Broadcast()
}

// recycle lets go of an entry that is in neither the map nor the line.
func (l *line[I]) recycle(e *entry[I]) {
	if e.delay != nil {
		e.delay.Stop()
	}
	*e = entry[I]{}
	if l.freeLen < maxFree {
		e.next, l.free = l.free, e
		l.freeLen++
	}
}

// hold keeps an entry out of line for a while. An entry in line stays there; when its turn comes it falls out.
func (l *line[I]) hold(e *entry[I], after time.Duration) {
	var t *time.Timer
	t = time.AfterFunc(after, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if e.delay == t { // else the entry went on without it
			l.release(e)
		}
	})
	e.delay = t
}

// release ends a hold.
func (l *line[I]) release(e *entry[I]) {
	e.delay.Stop()
	e.delay = nil
	l.join(e)
}

// next takes the first entry that is due out of line, or returns nil.
func (l *line[I]) next() *entry[I] {
	for l.head != nil {
		e := l.head
		if l.head = e.next; l.head == nil {
			l.tail = nil
		}
		e.next, e.queued = nil, false
		switch {
		case !e.held:
			delete(l.entries, e.key)
			l.recycle(e)
		case e.delay != nil:
		default:
			delete(l.entries, e.key)
			return e
		}
	}
	return nil
}

// take waits for the next entry and for the end of the running process, and makes the entry the running one.
func (l *line[I]) take(ctx context.Context) (*entry[I], error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for watching := false; ; l.cond.Wait() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if l.running == nil {
			if l.running = l.next(); l.running != nil {
				return l.running, nil
			}
			if l.closed {
				return nil, ErrClosed
			}
		}
		if !watching && ctx.Done() != nil {
			watching = true
			stop := context.AfterFunc(ctx, func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.cond.Broadcast()
			})
			defer stop()
		}
	}
}

// finish is called when process has returned, or panicked.
func (l *line[I]) finish(requeue *ErrRequeue) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.cond.Broadcast()
	done := l.running
	l.running = nil
	e := l.settle(done, requeue)
	if e == nil {
		l.processed(done)
	} else {
		e.initial = e.initial || done.initial
		if requeue.After > 0 && !l.closed {
			l.hold(e, requeue.After)
		}
	}
	l.recycle(done)
}

// Pop takes out the next item and hands it to process; see [Queue].
func (l *line[I]) Pop(process ProcessFunc[I]) (I, error) {
	return l.PopContext(context.Background(), process)
}

// PopContext is Pop that stops waiting when the context ends; see [Queue].
func (l *line[I]) PopContext(ctx context.Context, process ProcessFunc[I]) (item I, err error) {
	e, err := l.take(ctx)
	if err != nil {
		return item, err
	}
	var requeue *ErrRequeue
	defer func() { l.finish(requeue) }()
	item = e.item
	if err = process(item, e.initial); err != nil {
		if requeue = asRequeue(err); requeue != nil {
			err = requeue.Err
		}
	}
	return item, err
}

// asRequeue returns the ErrRequeue in err, or nil.
func asRequeue(err error) (requeue *ErrRequeue) {
	var value ErrRequeue
	if errors.As(err, &value) {
		return &value
	}
	errors.As(err, &requeue)
	return requeue
}

// ListKeys returns the keys that have something pending, in no particular order.
func (l *line[I]) ListKeys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	keys := make([]string, 0, len(l.entries))
	for key, e := range l.entries {
		if e.held {
			keys = append(keys, key)
		}
	}
	return keys
}

// HasSynced reports whether the initial list has been processed; see [Queue].
func (l *line[I]) HasSynced() bool {
	select {
	case <-l.synced:
		return true
	default:
		return false
	}
}

// Synced returns a channel that closes at the moment when HasSynced turns true.
func (l *line[I]) Synced() <-chan struct{} { return l.synced }

// Close ends the queue: what is pending can still be popped, then Pop returns [ErrClosed]. It may be called repeatedly.
func (l *line[I]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, e := range l.entries {
		if e.delay != nil {
			l.release(e)
		}
	}
	l.cond.Broadcast()
}
