package tarn

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// EventType says what an [Event] reports.
type EventType uint8

// The types of event. Sync hands out a stored object again, unchanged, to a subscription that asked for resync.
const (
	Added   = EventType(mirror.Added)
	Updated = EventType(mirror.Updated)
	Deleted = EventType(mirror.Deleted)
	Sync    = EventType(mirror.Sync)
)

// String returns the type's name in lower case.
func (t EventType) String() string {
	switch t {
	case Added:
		return "added"
	case Updated:
		return "updated"
	case Deleted:
		return "deleted"
	case Sync:
		return "sync"
	}
	return fmt.Sprintf("event(%d)", uint8(t))
}

// ErrNoValue is returned where an event has no such value: the old one of an Added.
var ErrNoValue = errors.New("the event has no such value")

// Event is one change of one object. Key, versions, labels and owners are there without decoding; the values are
// decoded when asked for. An Event may be kept and passed on; it holds the bytes of its objects.
type Event[T any] struct {
	Type EventType
	// Key is "namespace/name", or "name" for a cluster-scoped object.
	Key string
	// Initial is true for an Added of an object that was there before the informer, or the subscription, began.
	Initial bool
	// FinalStateUnknown is true for a Deleted that was missed and noticed by a relist: the last state is not known, and
	// the event carries the last one that was stored.
	FinalStateUnknown bool

	change mirror.Change
	failed func(*object.Object, error) // hears of an object that does not decode
}

func newEvent[T any](c mirror.Change, failed func(*object.Object, error)) Event[T] {
	return Event[T]{
		Type: EventType(c.Kind), Key: c.Key, Initial: c.Initial,
		FinalStateUnknown: c.Kind == mirror.Deleted && c.New.IsZero(),
		change:            c, failed: failed,
	}
}

// Before returns the object as it was stored, encoded and read-only; nil for Added. Depending on the layout it is made
// anew by each call, without decoding its value.
func (e Event[T]) Before() *object.Object { return e.change.Old.Object() }

// After returns the object as it is now, as [Event.Before] does; for Deleted its final state, or nil where that is not
// known.
func (e Event[T]) After() *object.Object { return e.change.New.Object() }

// Object returns the newest known state, metadata and encoded bytes, as [Event.Before] does. It is never nil.
func (e Event[T]) Object() *object.Object { return e.change.Newest().Object() }

// Labels returns the labels of the newest known state, read-only.
func (e Event[T]) Labels() object.Labels { return e.change.Newest().Labels() }

// Version returns the version of the newest known state.
func (e Event[T]) Version() string { return e.change.Newest().Version() }

// New returns the newest known value, decoded for the caller, who owns it. For Deleted it is the final state, or the last
// stored one where that is not known.
func (e Event[T]) New() (T, error) { return e.read(e.change.Newest()) }

// Old returns the value before the change, decoded for the caller, who owns it; [ErrNoValue] for Added.
func (e Event[T]) Old() (T, error) {
	if e.change.Old.IsZero() {
		var zero T
		return zero, fmt.Errorf("%s %s: %w", e.Type, e.Key, ErrNoValue)
	}
	return e.read(e.change.Old)
}

func (e Event[T]) read(ref store.Ref) (T, error) {
	v, err := private[T](ref)
	if err != nil && e.failed != nil {
		e.failed(ref.Object(), err)
	}
	return v, err
}

// Handler receives the events of a subscription, one at a time and in order, on the subscription's own goroutine. A slow
// one delays nobody else. The context ends with the subscription or the informer's Run, which waits for Handle to return.
type Handler[T any] interface {
	Handle(ctx context.Context, e Event[T])
}

// HandlerFunc is a function as a [Handler].
type HandlerFunc[T any] func(ctx context.Context, e Event[T])

// Handle calls f.
func (f HandlerFunc[T]) Handle(ctx context.Context, e Event[T]) { f(ctx, e) }

// Funcs is a [Handler] made of a function per type of event; nil ones are skipped. Sync events go to Resynced, or to
// Updated where that is nil.
type Funcs[T any] struct {
	Added, Updated, Deleted, Resynced func(ctx context.Context, e Event[T])
}

// Handle calls the function for the event's type.
func (f Funcs[T]) Handle(ctx context.Context, e Event[T]) {
	call := f.Updated
	switch e.Type {
	case Added:
		call = f.Added
	case Deleted:
		call = f.Deleted
	case Sync:
		if f.Resynced != nil {
			call = f.Resynced
		}
	}
	if call != nil {
		call(ctx, e)
	}
}

// private returns the private value of what ref refers to, as a T.
func private[T any](ref store.Ref) (T, error) {
	if isObject[T]() {
		return as[T](ref.Object())
	}
	return typed[T](ref.Decode())
}

// shared returns the shared value of obj as a T.
func shared[T any](obj *object.Object) (T, error) {
	if isObject[T]() {
		return as[T](obj)
	}
	return typed[T](obj.View())
}

// own returns the private value of obj as a T.
func own[T any](obj *object.Object) (T, error) {
	if isObject[T]() {
		return as[T](obj)
	}
	return typed[T](obj.Decode())
}

// isObject reports whether T is the encoded form itself.
func isObject[T any]() bool { return reflect.TypeFor[T]() == reflect.TypeFor[*object.Object]() }

func typed[T any](v any, err error) (T, error) {
	if err != nil {
		var zero T
		return zero, err
	}
	return as[T](v)
}

func as[T any](v any) (T, error) {
	t, ok := v.(T)
	if !ok {
		return t, fmt.Errorf("the codec makes %T, not %T", v, t)
	}
	return t, nil
}
