package mirror

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tarn-dev/tarn/store"
)

// The default limits of a subscription's backlog, past which it is conflated.
const (
	DefaultMaxEntries = 65536
	DefaultMaxBytes   = 64 << 20
)

// SubscriptionOptions configures a [Subscription]; the zero value is the default.
type SubscriptionOptions struct {
	Name string
	// MaxEntries and MaxBytes bound the backlog; past either it is conflated. 0 = the default.
	MaxEntries int
	MaxBytes   int64
	// Resync is how often every stored object is handed out again; 0 = never.
	Resync time.Duration
	// OnPanic is told of a panic of the handler. Nil = the panic goes on.
	OnPanic func(value any)
}

// Subscription delivers the changes of a [Mirror] to one handler, in order, at the handler's own pace. It is a cursor
// in the mirror's log: an initial walk over a snapshot, then the log from the snapshot's number on.
type Subscription struct {
	m       *Mirror
	options SubscriptionOptions
	deliver func(context.Context, Change)
	wake    chan struct{} // capacity 1: something may have changed

	mu        sync.Mutex
	walk      *walk // what is handed out before the log; nil once done
	at        *node // where the next entry is read
	index     int
	folded    folded // older than at; handed out first
	relisted  []relist
	syncDue   bool
	removed   bool
	cancel    context.CancelFunc // ends the current run; nil while none
	runDone   chan struct{}
	synced    chan struct{}
	isSynced  bool
	stats     SubscriptionStats
	delivered atomic.Uint64
}

// SubscriptionStats is what a subscription tells of itself.
type SubscriptionStats struct {
	Name   string
	Synced bool
	// Backlog is how many changes wait for the handler, BacklogBytes their size.
	Backlog      int
	BacklogBytes int64
	// Delivered counts calls of the handler, Conflated the changes that were merged into a later one and never seen, Panics
	// the handler's panics.
	Delivered, Conflated, Panics uint64
}

type subscriptionKey struct{}

// next takes the next change, if there is one.
func (s *Subscription) next() (Change, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.folded.pop(); ok {
		return c, true
	}
	for {
		next := s.at.next.Load() // before entries: it says that they are there
		if next == nil {
			return Change{}, false
		}
		if s.index < len(s.at.entries) {
			c := s.at.entries[s.index]
			s.index++
			return c, true
		}
		s.at, s.index = next, 0
	}
}

// behind returns how far the cursor is from the end of the log. s.mu is held.
func (s *Subscription) behind(tail *node) (entries int, bytes int64) {
	return int(tail.seq - s.at.seq - uint64(s.index)), int64(tail.bytes - s.at.bytes)
}

// published is called by the writer after each commit: it wakes the handler's goroutine, or conflates the backlog of
// one that has fallen too far behind. No user code runs here.
func (s *Subscription) published(tail *node) {
	s.mu.Lock()
	entries, bytes := s.behind(tail)
	if entries > s.options.MaxEntries || entries > 1 && bytes > s.options.MaxBytes {
		s.fold(tail)
	}
	s.mu.Unlock()
	s.poke()
}

func (s *Subscription) fold(tail *node) {
	for n := s.at; n != tail; n = n.next.Load() {
		for i := s.index; i < len(n.entries); i++ {
			before := s.folded.len()
			s.folded.add(&n.entries[i])
			// An addition and a deletion that nobody saw are two changes gone; every other merge is one.
			s.stats.Conflated += uint64(1 + before - s.folded.len())
		}
		s.index = 0
	}
	s.at, s.index = tail, 0
}

func (s *Subscription) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// checkSynced closes synced once everything that belongs to the initial state has been handled.
func (s *Subscription) checkSynced() {
	seq, ok := s.m.syncedAt()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isSynced || !ok || s.walk != nil || s.folded.initial > 0 || s.at.seq+uint64(s.index) < seq {
		return
	}
	s.isSynced = true
	close(s.synced)
}

// Run delivers until ctx ends or the subscription is removed, and returns when the handler has. After it returned it may
// be called again and goes on where it was; being in sync is told anew. It must not be called twice at once.
func (s *Subscription) Run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.mu.Lock()
	if s.removed {
		s.mu.Unlock()
		return
	}
	done := make(chan struct{})
	s.cancel, s.runDone = cancel, done
	s.mu.Unlock()
	defer close(done)
	defer s.unsync()
	s.loop(ctx)
}

// unsync makes the next run tell anew when it is in sync.
func (s *Subscription) unsync() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isSynced {
		s.isSynced, s.synced = false, make(chan struct{})
	}
}

func (s *Subscription) loop(ctx context.Context) {
	var tick <-chan time.Time
	if s.options.Resync > 0 {
		t := time.NewTicker(s.options.Resync)
		defer t.Stop()
		tick = t.C
	}
	ctx = context.WithValue(ctx, subscriptionKey{}, s)
	s.initialWalk(ctx)
	for ctx.Err() == nil {
		if c, ok := s.next(); ok {
			s.call(ctx, c)
			s.checkSynced()
			continue
		}
		s.checkSynced()
		if s.resyncRound(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-tick:
			s.mu.Lock()
			s.syncDue = true
			s.mu.Unlock()
		}
	}
}

// resyncRound hands out the stored objects again if that is due: all of them after a tick, or those that a relist
// found unchanged. It runs when the subscription has caught up, on the snapshot that belongs to its place in the log, so
// that no object goes back in time.
func (s *Subscription) resyncRound(ctx context.Context) bool {
	state := s.m.current()
	s.mu.Lock()
	due, relisted := s.syncDue, s.relisted
	if !due && relisted == nil || !s.caughtUpWith(state) {
		s.mu.Unlock()
		return false
	}
	s.syncDue, s.relisted = false, nil
	s.mu.Unlock()
	if due { // all of them, which includes the others
		relisted = []relist{{}}
	}
	for _, r := range relisted {
		for key, ref := range state.snapshot.RefsIn(r.namespace) {
			if _, changed := r.changed[key]; changed {
				continue
			}
			if ctx.Err() != nil {
				return true
			}
			s.call(ctx, Change{Kind: Sync, Key: key, Old: ref, New: ref})
		}
	}
	return true
}

// caughtUpWith reports whether the cursor stands exactly at the end of state. s.mu is held.
func (s *Subscription) caughtUpWith(state state) bool {
	return s.walk == nil && s.folded.len() == 0 && s.at.seq+uint64(s.index) == state.tail.seq
}

// relist is a list that found every object of a namespace (of all, if empty) as it was, but those that changed.
type relist struct {
	namespace string
	changed   map[string]struct{}
}

// noteRelist remembers a relist until the subscription has caught up, in place of an earlier one of the same namespace.
func (s *Subscription) noteRelist(r relist) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.relisted {
		if s.relisted[i].namespace == r.namespace {
			s.relisted[i] = r
			return
		}
	}
	s.relisted = append(s.relisted, r)
}

func (s *Subscription) call(ctx context.Context, c Change) {
	s.delivered.Add(1)
	if s.options.OnPanic != nil {
		defer func() {
			if v := recover(); v != nil {
				s.mu.Lock()
				s.stats.Panics++
				s.mu.Unlock()
				s.options.OnPanic(v)
			}
		}()
	}
	s.deliver(ctx, c)
}

// Synced returns a channel that closes when the last object of the initial state has been handled. Each run of the
// mirror has its own.
func (s *Subscription) Synced() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// Stats returns the current figures.
func (s *Subscription) Stats() SubscriptionStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	tail := s.m.current().tail // under the lock, so that the cursor is not past it
	st := s.stats
	st.Name, st.Synced, st.Delivered = s.options.Name, s.isSynced, s.delivered.Load()
	if s.removed {
		return st
	}
	if st.Backlog, st.BacklogBytes = s.behind(tail); st.Backlog == 0 {
		st.BacklogBytes = 0
	}
	st.Backlog += s.folded.len()
	if s.walk != nil {
		st.Backlog += s.walk.snapshot.Len() - s.walk.count
	}
	return st
}

// Remove ends the subscription: no call of the handler follows but one that is running or on its way. Removing
// twice is fine.
func (s *Subscription) Remove() {
	s.m.unsubscribe(s)
	s.mu.Lock()
	s.removed = true
	if s.cancel != nil {
		s.cancel()
	}
	s.walk, s.folded, s.relisted = nil, folded{}, nil
	s.at, s.index = &node{}, 0
	s.mu.Unlock()
}

// RemoveAndWait is Remove, and waits until a running call of the handler has returned or ctx ends. Called by the
// handler itself it would wait for itself: then it is an error and only removes.
func (s *Subscription) RemoveAndWait(ctx context.Context) error {
	s.Remove()
	if ctx.Value(subscriptionKey{}) == s {
		return fmt.Errorf("subscription %q: the handler cannot wait for its own end; use Remove", s.options.Name)
	}
	s.mu.Lock()
	done := s.runDone
	s.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("subscription %q: its handler is still running: %w", s.options.Name, context.Cause(ctx))
	}
}

// walk is the initial walk over a snapshot. A run that ends in the middle leaves it for the next one.
type walk struct {
	snapshot store.Snapshot
	last     string // the key that was handed out last
	count    int
}

// initialWalk hands out what was stored when the subscription began.
func (s *Subscription) initialWalk(ctx context.Context) {
	s.mu.Lock()
	w := s.walk
	s.mu.Unlock()
	if w == nil {
		return
	}
	for key, ref := range w.snapshot.Refs() {
		if w.count > 0 && key <= w.last {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		s.call(ctx, Change{Kind: Added, Initial: true, Key: key, New: ref})
		s.mu.Lock()
		w.last = key
		w.count++
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.walk = nil
	s.mu.Unlock()
}
