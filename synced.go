package tarn

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// HasSynced reports whether the whole collection has been stored since Run was called. It is false again when Run has
// returned, unless another informer keeps the same mirror in step (see [Hub]). Handlers may still be behind: see
// [Subscription.Synced].
func (i *Informer[T]) HasSynced() bool { return i.mirror.HasSynced() }

// Synced returns a channel that closes when [Informer.HasSynced] turns true. Each Run has its own; once Run has returned, it
// is that of the next.
func (i *Informer[T]) Synced() <-chan struct{} { return i.mirror.Synced() }

// WaitSynced returns nil as soon as the whole collection has been stored. If ctx ends before, the error says in one line
// what the informer is waiting for and why: a missing right, a resource that does not exist (yet), a server that does not
// answer. All of those it recovers from by itself, so waiting again is right. It is a *[NotSyncedError], which wraps what
// the server said: apierrors.IsForbidden, meta.IsNoMatchError (no such resource) and the like hold for it.
func (i *Informer[T]) WaitSynced(ctx context.Context) error {
	select {
	case <-i.mirror.Synced():
		return nil
	default:
	}
	select {
	case <-i.mirror.Synced():
		return nil
	case <-ctx.Done():
	}
	i.mu.Lock()
	active := i.active
	i.mu.Unlock()
	why := i.mirror.WhyNotSynced()
	switch {
	case !active:
		why = errors.New("it does not run: call Run")
	case why == nil:
		return nil // it synced just now
	}
	return &NotSyncedError{Informer: i.name, Why: why, Cause: context.Cause(ctx)}
}

// NotSyncedError says why an informer is not synced. It wraps both Why and Cause.
type NotSyncedError struct {
	// Informer is the informer's name.
	Informer string
	// Why is what it is waiting for, with the reason of the last failure if there was one.
	Why error
	// Cause is why the waiting ended.
	Cause error
}

// Error is one line.
func (e *NotSyncedError) Error() string {
	text := e.Why.Error()
	if !strings.HasPrefix(text, e.Informer) {
		text = e.Informer + ": " + text
	}
	// A proxy's answer may be a whole page.
	return fmt.Sprintf("not synced: %s (%v)", strings.Join(strings.Fields(text), " "), e.Cause)
}

// Unwrap returns Why and Cause.
func (e *NotSyncedError) Unwrap() []error { return []error{e.Why, e.Cause} }

// WaitSynced waits for several informers at once: it returns nil as soon as all are synced, else the errors of those that
// are not.
func WaitSynced(ctx context.Context, informers ...interface{ WaitSynced(context.Context) error }) error {
	var errs []error
	for _, i := range informers {
		if err := i.WaitSynced(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
