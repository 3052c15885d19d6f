package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// Mode is how much of an object the handler needs.
type Mode int32

// The modes.
const (
	KeyOnly      Mode = iota // the key, as a handler that fills a work queue
	DecodeNew                // the new object
	DecodeOldNew             // the new object and the one before
)

// Sink is the handler of a copy. The copy calls Added, Updated and Deleted from one goroutine; the other methods may be
// called from any.
type Sink struct {
	mode    atomic.Int32
	added   counter
	updated counter
	failed  atomic.Pointer[error]

	mu   sync.Mutex
	keys []string // of what was added, until they are taken
	keep bool
	want string // the key that is waited for
	seen chan struct{}
	hook func(key string)
	gate chan struct{} // the handler waits until it is closed
}

// NewSink returns a sink for a handler that works in the given mode. With keep it remembers the keys of what was added.
func NewSink(mode Mode, keep bool) *Sink {
	s := &Sink{keep: keep}
	s.SetMode(mode)
	return s
}

// Mode returns the mode, SetMode changes it.
func (s *Sink) Mode() Mode { return Mode(s.mode.Load()) }

// SetMode changes how much the handler reads from the next event on.
func (s *Sink) SetMode(m Mode) { s.mode.Store(int32(m)) }

// Fail says that something did not decode or the like; the first such is the result of [Sink.Err].
func (s *Sink) Fail(err error) {
	if err != nil {
		s.failed.CompareAndSwap(nil, &err)
	}
}

// Err returns the first failure.
func (s *Sink) Err() error {
	if err := s.failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Added is called for each object that is new.
func (s *Sink) Added(key string) {
	s.mu.Lock()
	if s.keep {
		s.keys = append(s.keys, key)
	}
	if key == s.want && s.want != "" {
		close(s.seen)
		s.want = ""
	}
	s.mu.Unlock()
	s.added.add()
}

// Updated is called for each object that was modified.
func (s *Sink) Updated(key string) {
	s.updated.add()
	s.mu.Lock()
	gate, hook := s.gate, s.hook
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	if hook != nil {
		hook(key)
	}
}

// Deleted is called for each object that is gone.
func (s *Sink) Deleted(string) {}

// Keys returns the keys of what was added so far.
func (s *Sink) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keys
}

// OnUpdate sets what the handler does with the key of a modified object.
func (s *Sink) OnUpdate(f func(key string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// Block makes the handler wait, from the next modification on, until release is called.
func (s *Sink) Block() (release func()) {
	gate := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gate = gate
	return func() { close(gate) }
}

// Updates returns how many modifications the handler has seen.
func (s *Sink) Updates() int { return int(s.updated.n.Load()) }

// AwaitAdded returns when n objects have been added, AwaitUpdated when n have been modified, since the start.
func (s *Sink) AwaitAdded(ctx context.Context, n int) error { return s.added.await(ctx, n, "added") }

// AwaitUpdated is [Sink.AwaitAdded] for modifications.
func (s *Sink) AwaitUpdated(ctx context.Context, n int) error {
	return s.updated.await(ctx, n, "modified")
}

// Await returns when the object with this key has been added.
func (s *Sink) Await(ctx context.Context, announce func() (key string, err error)) error {
	seen := make(chan struct{})
	s.mu.Lock() // the object cannot be seen before it is known what to look for
	key, err := announce()
	s.want, s.seen = key, seen
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the handler has not seen %s: %w", key, context.Cause(ctx))
	}
}

// counter counts, and tells when it has reached a number.
type counter struct {
	n    atomic.Int64
	goal atomic.Int64
	hit  atomic.Pointer[chan struct{}]
}

func (c *counter) add() {
	if n := c.n.Add(1); n == c.goal.Load() {
		close(*c.hit.Load())
	}
}

func (c *counter) await(ctx context.Context, n int, what string) error {
	hit := make(chan struct{})
	c.hit.Store(&hit)
	c.goal.Store(int64(n))
	if int(c.n.Load()) >= n { // before, or while the goal was set
		return nil
	}
	select {
	case <-hit:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d of %d objects %s: %w", c.n.Load(), n, what, context.Cause(ctx))
	}
}
