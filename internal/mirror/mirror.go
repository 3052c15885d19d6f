// Package mirror is the middle of the path of an object: it applies what a reflector brings to a store, keeps the log of
// changes that goes with each published state, and feeds the subscriptions.
//
// Every commit publishes a snapshot and a place in the log together, so that a late subscriber walks the one and goes on
// from the other with no gap and no repetition. One lock, commit, orders all writers. No user code runs under it: index
// functions, predicates and transforms run before, handlers on goroutines of their own.
package mirror

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Options configures a [Mirror]; the zero value is the default.
type Options struct {
	Layout   store.Layout
	Indexers store.Indexers
	// Keep says whether an object is kept at all. Nil = all are. It may return an error or panic: then the object is kept
	// and marked.
	Keep func(*object.Object) (bool, error)
	// Transform replaces each object on arrival. Nil = none. Where it fails the object is kept as it came, and marked.
	Transform func(*object.Object) (*object.Object, error)
	// OnFailure hears of each object that failed, once per version.
	OnFailure func(Failure)
}

// Mirror is a store that is kept in step with a source, and its subscriptions. Its methods may be called concurrently.
type Mirror struct {
	options  Options
	store    *store.Store
	failures failures
	bytes    atomic.Int64

	commit sync.Mutex // held over the publication of a change and its announcement; taken after the store's lock
	tail   *node      // under commit
	subs   map[*Subscription]struct{}

	life   sync.Mutex // held while the mirror starts and stops
	users  int
	stop   context.CancelFunc
	runCtx context.Context

	mu        sync.Mutex // guards what follows; innermost
	scopes    []*Scope
	nextScope store.Scope
	synced    chan struct{}
	syncedSeq uint64
	isSynced  bool
}

// New returns an empty mirror without scopes.
func New(options Options) *Mirror {
	m := &Mirror{options: options, tail: &node{}, subs: map[*Subscription]struct{}{}, synced: make(chan struct{})}
	m.failures.report = options.OnFailure
	m.store = store.New(store.Options{Layout: options.Layout, Indexers: options.Indexers, OnError: m.failures.note})
	// The first state has its place in the log like every other.
	_ = m.store.Write(nil, func(tx *store.Txn) error { tx.Attach(m.tail); return nil })
	return m
}

// state is a published snapshot and the place in the log that belongs to it.
type state struct {
	snapshot store.Snapshot
	tail     *node
}

func (m *Mirror) current() state {
	s := m.store.Snapshot()
	return state{s, s.Attached().(*node)}
}

// Snapshot returns the published state.
func (m *Mirror) Snapshot() store.Snapshot { return m.store.Snapshot() }

// Layout returns how objects are kept.
func (m *Mirror) Layout() store.Layout { return m.options.Layout }

// Bytes returns the size of what is stored, in encoded form.
func (m *Mirror) Bytes() int64 { return m.bytes.Load() }

// Stats says how the objects are kept.
func (m *Mirror) Stats() store.Stats { return m.store.Stats() }

// weigh keeps count of the bytes.
func (m *Mirror) weigh(c *Change) {
	m.bytes.Add(-int64(c.Old.Size()))
	if c.Kind != Deleted {
		m.bytes.Add(int64(c.New.Size()))
	}
}

// AddIndexers adds indexes; what is stored already appears in them.
func (m *Mirror) AddIndexers(indexers store.Indexers) error {
	if err := m.store.AddIndexers(indexers); err != nil {
		return err
	}
	m.settleFailures()
	return nil
}

func (m *Mirror) settleFailures() {
	m.commit.Lock()
	defer m.commit.Unlock()
	m.failures.settled(m.Snapshot())
}

// Failures returns the objects that are stored and marked, by key.
func (m *Mirror) Failures() map[string]Failure { return m.failures.all() }

// Fail marks an object as failed because reading it did, if this version is what is stored.
func (m *Mirror) Fail(obj *object.Object, err error) {
	if m.failures.has(obj) { // who reads what is marked shall not wait for a lock
		return
	}
	m.commit.Lock()
	stored := m.Snapshot().Ref(obj.Key)
	failed := stored.Version() == obj.Version && stored.UID() == obj.UID && m.failures.markRead(obj, err)
	m.commit.Unlock()
	if failed {
		m.failures.tell(obj, err)
	}
}

// publish runs write, which commits to the store and returns the changes, and announces them: the store first, then the
// log. The transaction must call end with the changes, as the last thing it does: from there on the commit lock is held,
// under the store's own. What write does before, such as calling index functions, it does without.
func (m *Mirror) publish(write func(end func(tx *store.Txn, changes []Change)) error) error {
	var next *node
	var changes []Change
	defer func() {
		if next != nil {
			m.commit.Unlock()
		}
	}()
	err := write(func(tx *store.Txn, c []Change) {
		if changes = c; len(c) > 0 {
			m.commit.Lock()
			next = m.tail.after(c)
			tx.Attach(next)
		}
	})
	if err != nil || next == nil {
		return err
	}
	for i := range changes {
		m.weigh(&changes[i])
	}
	m.tail.fill(changes, next)
	m.tail = next
	m.failures.committed(changes)
	for s := range m.subs {
		s.published(next)
	}
	return nil
}

// Subscribe adds a subscription. What is stored already is handed to it first, as initial adds. It delivers while run by
// [Subscription.Run].
func (m *Mirror) Subscribe(options SubscriptionOptions, deliver func(context.Context, Change)) *Subscription {
	if options.MaxEntries <= 0 {
		options.MaxEntries = DefaultMaxEntries
	}
	if options.MaxBytes <= 0 {
		options.MaxBytes = DefaultMaxBytes
	}
	s := &Subscription{m: m, options: options, deliver: deliver, wake: make(chan struct{}, 1), synced: make(chan struct{})}
	m.commit.Lock()
	defer m.commit.Unlock()
	now := m.current()
	if s.at = now.tail; now.snapshot.Len() > 0 {
		s.walk = &walk{snapshot: now.snapshot}
	}
	m.subs[s] = struct{}{}
	return s
}

func (m *Mirror) unsubscribe(s *Subscription) {
	m.commit.Lock()
	delete(m.subs, s)
	m.commit.Unlock()
}

// receive applies the predicate and the transform to an object on its way in.
func (m *Mirror) receive(obj *object.Object) (received *object.Object, keep bool) {
	if obj.Err != nil { // the source could not read it
		obj = obj.Keep()
		m.failures.note(obj, obj.Err)
		return obj, true
	}
	if m.options.Keep != nil {
		keep, err := Call(func() (bool, error) { return m.options.Keep(obj) })
		switch {
		case err != nil:
			received = mark(obj, "predicate", err)
			m.failures.note(received, received.Err)
			return received, true
		case !keep:
			return obj, false
		}
	}
	received, err := m.transform(obj)
	if err != nil {
		m.failures.note(received, err)
	}
	return received, true
}

// final is receive for the final state of an object, which is kept by nobody but who hears of the deletion.
func (m *Mirror) final(obj *object.Object) *object.Object {
	if obj.Err != nil {
		return obj
	}
	received, err := m.transform(obj)
	if err != nil {
		m.failures.tell(received, err)
	}
	return received
}

// transform returns the object as transformed; where that fails, as it came, marked with the error.
func (m *Mirror) transform(obj *object.Object) (*object.Object, error) {
	if m.options.Transform == nil {
		return obj, nil
	}
	transformed, err := Call(func() (*object.Object, error) { return m.options.Transform(obj) })
	if err != nil {
		marked := mark(obj, "transform", err)
		return marked, marked.Err
	}
	return transformed, nil
}

func mark(obj *object.Object, step string, err error) *object.Object {
	marked := *obj
	marked.Err = fmt.Errorf("%s: %s: %w", obj.Key, step, err)
	return &marked
}

// ErrPanic is what a panic of a predicate, a transform or a handler is reported as: the store's, which users can name.
var ErrPanic = store.ErrPanic

// Call runs a function of the user's and turns its panic into an error that wraps [ErrPanic].
func Call[T any](f func() (T, error)) (result T, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", ErrPanic, v)
		}
	}()
	return f()
}
