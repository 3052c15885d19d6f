package store

import (
	"fmt"

	"github.com/tarn-dev/tarn/object"
)

// layout is how a store keeps objects. Everything else goes by keys, handles and metadata, and asks a handle for its object
// when a reader wants one. The methods are called concurrently, but for put and drop.
type layout interface {
	// prepare does the work that may run a codec, outside the lock. The handle shares nothing with obj that it may lose by
	// being released.
	// Where it fails, the object of the handle is marked and can be kept nevertheless.
	prepare(obj *object.Object) (handle, error)
	// put says that a prepared object is stored, drop that it no longer is. They are called under the write lock.
	put(h handle)
	drop(h handle)
	// stats returns how objects are kept.
	stats() Stats
}

// layoutOf returns a new implementation of l; an unknown one is a programming error and panics.
func layoutOf(l Layout) layout {
	switch l {
	case Lean:
		return newLean()
	case Raw:
		return rawLayout{}
	case Live:
		return liveLayout{}
	}
	panic(fmt.Sprintf("store: no such layout: %v", l))
}

// rawLayout keeps objects as they are given.
type rawLayout struct{}

func (rawLayout) prepare(obj *object.Object) (handle, error) { return handleOf(obj.Keep()), nil }
func (rawLayout) put(handle)                                 {}
func (rawLayout) drop(handle)                                {}
func (rawLayout) stats() Stats                               { return Stats{} }

// liveLayout keeps decoded values.
type liveLayout struct{ rawLayout }

func (liveLayout) prepare(obj *object.Object) (handle, error) {
	obj = obj.Keep()
	if obj.Encoding == object.None {
		return handleOf(obj), nil
	}
	live, err := decode(obj)
	if err != nil {
		return handleOf(mark(obj, err)), err
	}
	return handleOf(live), live.Err
}

func decode(obj *object.Object) (live *object.Object, err error) {
	defer guard(&err)
	return obj.Live(), nil
}
