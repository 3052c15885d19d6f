package tarn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Subscription is one handler's place in an informer's changes. Its methods may be called concurrently.
type Subscription struct {
	core   *mirror.Subscription
	name   string
	remove func()
}

// SubscriptionStatus is how a subscription stands.
type SubscriptionStatus struct {
	Name string
	// Synced says that the handler has returned from the last object of the initial state.
	Synced bool
	// Backlog is how many changes wait for the handler, BacklogBytes the size of their objects.
	Backlog      int
	BacklogBytes int64
	// Delivered counts changes that were taken up by the handler, or by its filter; Conflated those that were merged into
	// a later one because the handler fell too far behind; Panics the handler's panics.
	Delivered, Conflated, Panics uint64
}

// SubscribeOption configures a [Subscription].
type SubscribeOption func(*subscribeConfig)

type subscribeConfig struct {
	core    mirror.SubscriptionOptions
	filters []filter
	err     error
}

// filter decides which objects a subscription is about.
type filter struct {
	takes reflect.Type // nil: any
	pass  func(store.Ref) (bool, error)
}

// Where limits a subscription to the objects for which f returns true. One that begins to qualify is seen as added, one
// that stops as deleted. T is the informer's type, whose values f sees shared and must not change; or *object.Object, for
// decisions by metadata, which need no decoding. Several conditions must all hold. Where f panics, or the object does
// not decode, the change is delivered: nothing is lost. A nil f limits nothing.
func Where[T any](f func(T) bool) SubscribeOption {
	if f == nil {
		return func(*subscribeConfig) {}
	}
	pass := func(r store.Ref) (bool, error) {
		v, err := shared[T](r.Object())
		return err == nil && f(v), err
	}
	return func(c *subscribeConfig) { c.filters = append(c.filters, filter{reflect.TypeFor[T](), pass}) }
}

// WhereLabels is [Where] by a label selector, such as "app=web,tier!=cache". Nothing is decoded.
func WhereLabels(selector string) SubscribeOption {
	sel, err := labels.Parse(selector)
	return func(c *subscribeConfig) {
		if err != nil {
			c.err = fmt.Errorf("label selector %q: %w", selector, err)
			return
		}
		c.filters = append(c.filters, filter{nil, func(r store.Ref) (bool, error) { return sel.Matches(r.Labels()), nil }})
	}
}

// Resync hands every stored object to the handler again, as a Sync event, each period, and those that a relist finds
// unchanged. Periods under a second count as one; zero and less mean never. The smallest asked for before the informer
// first runs is the grid that later ones are rounded up to.
func Resync(period time.Duration) SubscribeOption {
	return func(c *subscribeConfig) { c.core.Resync = period }
}

// SubscriberName names the subscription in logs, metrics and errors. The default is the informer's name and a number.
func SubscriberName(name string) SubscribeOption {
	return func(c *subscribeConfig) { c.core.Name = name }
}

// Backlog is how many changes, and how many bytes of changed objects, may wait for the handler before they are conflated:
// then it gets, per object, one change from what it saw last to the newest state. Zero keeps a default: 65,536 and 64 MiB.
func Backlog(entries int, bytes int64) SubscribeOption {
	return func(c *subscribeConfig) { c.core.MaxEntries, c.core.MaxBytes = entries, bytes }
}

// Subscribe adds a handler. It may be called before, during and after Run. What is stored already is delivered first, as
// initial Added events, with no gap and no repetition to what follows. Errors are mistakes in the options.
func (i *Informer[T]) Subscribe(h Handler[T], options ...SubscribeOption) (*Subscription, error) {
	var c subscribeConfig
	apply(&c, options)
	if h == nil {
		return nil, fmt.Errorf("%s: subscribe: no handler", i.name)
	}
	if c.err != nil {
		return nil, fmt.Errorf("%s: subscribe: %w", i.name, c.err)
	}
	for _, f := range c.filters {
		if f.takes == nil {
			continue
		}
		if err := (&function{what: "filter of Where", takes: f.takes}).fits(reflect.TypeFor[T]()); err != nil {
			return nil, fmt.Errorf("%s: subscribe: %w", i.name, err)
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.numbered++
	if c.core.Name == "" {
		c.core.Name = fmt.Sprintf("%s subscription %d", i.name, i.numbered)
	}
	c.core.Resync = i.roundLocked(c.core.Resync)
	name := c.core.Name
	c.core.OnPanic = func(v any) { i.panicked(name, v) }
	var removed atomic.Bool
	failed := i.failed // once: each mention of a method makes a function
	deliver := func(ctx context.Context, change mirror.Change) {
		change, ok := i.filtered(c.filters, change)
		if ok && !removed.Load() { // the filter is the user's and may have taken its time
			h.Handle(ctx, newEvent[T](change, failed))
		}
	}
	s := &Subscription{core: i.mirror.Subscribe(c.core, deliver), name: name}
	s.remove = func() {
		removed.Store(true)
		i.mu.Lock()
		defer i.mu.Unlock()
		i.subs = slices.DeleteFunc(i.subs, func(o *Subscription) bool { return o == s })
	}
	i.subs = append(i.subs, s)
	if i.runCtx != nil {
		i.startLocked(s)
	}
	return s, nil
}

// roundLocked puts a resync period on the informer's grid.
func (i *Informer[T]) roundLocked(period time.Duration) time.Duration {
	if period <= 0 {
		return 0
	}
	period = max(period, time.Second)
	switch {
	case i.tick == 0, !i.fixed && period < i.tick:
		i.tick = period
	case i.fixed:
		period = (period + i.tick - 1) / i.tick * i.tick
	}
	return period
}

func (i *Informer[T]) panicked(name string, v any) {
	err := fmt.Errorf("%s: handler: %w: %v", name, mirror.ErrPanic, v)
	i.logger.Error("handler panicked; the next event still comes", "subscription", name, "panic", v, "stack", string(debug.Stack()))
	if i.onError != nil {
		i.onError(err)
	}
}

// filtered returns the change as a subscription with filters sees it.
func (i *Informer[T]) filtered(filters []filter, c mirror.Change) (mirror.Change, bool) {
	if len(filters) == 0 {
		return c, true
	}
	switch c.Kind {
	case mirror.Deleted: // what the handler saw decides, not the final state, which it never did
		return c, c.Old.IsZero() || i.pass(filters, c.Old)
	case mirror.Updated:
		before, after := i.pass(filters, c.Old), i.pass(filters, c.New)
		if before && !after {
			c.Kind = mirror.Deleted
		}
		if !before && after {
			c.Kind, c.Old = mirror.Added, store.Ref{}
		}
		return c, before || after
	}
	return c, i.pass(filters, c.New)
}

func (i *Informer[T]) pass(filters []filter, r store.Ref) bool {
	for _, f := range filters {
		ok, err := mirror.Call(func() (bool, error) { return f.pass(r) })
		if err != nil {
			i.filterFailed(r.Object(), err)
			continue
		}
		if !ok {
			return false
		}
	}
	return true
}

func (i *Informer[T]) filterFailed(o *object.Object, err error) {
	if errors.Is(err, mirror.ErrPanic) {
		i.logger.Error("filter panicked; the change is delivered", "informer", i.name, "key", o.Key, "err", err)
		if i.onError != nil {
			i.onError(fmt.Errorf("%s: filter: %s: %w", i.name, o.Key, err))
		}
		return
	}
	i.failed(o, err)
}

// Name returns the subscription's name.
func (s *Subscription) Name() string { return s.name }

// HasSynced reports whether the handler has returned from the last object of the initial state, of this run.
func (s *Subscription) HasSynced() bool { return s.core.Stats().Synced }

// Synced returns a channel that closes when [Subscription.HasSynced] turns true. Each run of the informer has its own; once
// Run has returned, it is that of the next.
func (s *Subscription) Synced() <-chan struct{} { return s.core.Synced() }

// WaitSynced returns nil as soon as the handler has returned from the last object of the initial state.
func (s *Subscription) WaitSynced(ctx context.Context) error {
	select {
	case <-s.core.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s: the handler has not been through the initial objects: %w", s.name, context.Cause(ctx))
	}
}

// Remove ends the subscription: no call of the handler follows Remove but one that is running or on its way. Removing
// twice is fine.
func (s *Subscription) Remove() {
	s.remove()
	s.core.Remove()
}

// RemoveAndWait is [Subscription.Remove], and waits for a running call of the handler to return, or for ctx to end, which
// is an error. So is calling it from the handler itself with the handler's context: it would wait for itself.
func (s *Subscription) RemoveAndWait(ctx context.Context) error {
	s.remove()
	return s.core.RemoveAndWait(ctx)
}

// Status returns how the subscription stands.
func (s *Subscription) Status() SubscriptionStatus { return SubscriptionStatus(s.core.Stats()) }
