package store

import (
	"fmt"

	"github.com/tarn-dev/tarn/object"
)

// handle is how a layout finds an object again. It stays good for as long as somebody holds it: what it refers to is
// never changed or reused, only dropped when nothing refers to it any more.
type handle struct {
	obj *object.Object // nil where the object is made of the rest
	rec string         // see lean
	on  *base
}

// layout is the seam between the store and how objects are kept. Everything above it goes by keys, handles and
// metadata, and asks for an object when a reader wants one. Its methods are called concurrently, but for put and drop.
type layout interface {
	// prepare does the work that may run a codec, outside the lock. The handle shares nothing with obj that it may lose by
	// being released.
	// Where it fails, the object of the handle is marked and can be kept nevertheless.
	prepare(obj *object.Object) (handle, error)
	// put says that a prepared object is stored, drop that it no longer is. They are called under the write lock.
	put(h handle)
	drop(h handle)
	// get returns the object, which is shared or made anew.
	get(h handle) *object.Object
	// identity returns the object's uid and version, without decoding anything.
	identity(h handle) identity
	// labels returns the object's labels, without decoding its value. They must not be modified.
	labels(h handle) *object.Labels
	// size returns what [object.Object.Size] of the object returns.
	size(h handle) int
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

// identity tells one version of one object from all others.
type identity struct{ uid, version string }

// sameAs reports whether obj is known to be this very version.
func (id identity) sameAs(obj *object.Object) bool {
	return obj.Version != "" && id.version == obj.Version && id.uid == obj.UID
}

// rawLayout keeps objects as they are given.
type rawLayout struct{}

func (rawLayout) prepare(obj *object.Object) (handle, error) { return handle{obj: obj.Keep()}, nil }
func (rawLayout) put(handle)                                 {}
func (rawLayout) drop(handle)                                {}
func (rawLayout) get(h handle) *object.Object                { return h.obj }
func (rawLayout) identity(h handle) identity                 { return identity{h.obj.UID, h.obj.Version} }
func (rawLayout) labels(h handle) *object.Labels             { return &h.obj.Labels }
func (rawLayout) size(h handle) int                          { return h.obj.Size() }

// liveLayout keeps decoded values.
type liveLayout struct{ rawLayout }

func (liveLayout) prepare(obj *object.Object) (handle, error) {
	obj = obj.Keep()
	if obj.Encoding == object.None {
		return handle{obj: obj}, nil
	}
	live, err := decode(obj)
	if err != nil {
		return handle{obj: mark(obj, err)}, err
	}
	return handle{obj: live}, live.Err
}

func decode(obj *object.Object) (live *object.Object, err error) {
	defer guard(&err)
	return obj.Live(), nil
}

// Ref refers to one stored version of one object. The zero Ref refers to nothing. A Ref is good for as long as it is
// held, whatever happens to the store, and keeps what it refers to from being freed.
type Ref struct {
	l layout
	h handle
}

// IsZero reports whether r refers to nothing.
func (r Ref) IsZero() bool { return r.l == nil }

// Object returns the object, nil for the zero Ref. Depending on the layout it is shared or made anew.
func (r Ref) Object() *object.Object {
	if r.l == nil {
		return nil
	}
	return r.l.get(r.h)
}

// Labels returns the object's labels, without making the object. They must not be modified. The zero Ref has none.
func (r Ref) Labels() object.Labels {
	if r.l == nil {
		return nil
	}
	return *r.l.labels(r.h)
}

// UID and Version return the object's uid and version, without making the object.
func (r Ref) UID() string { return r.identity().uid }

// Version returns the object's version, without making the object; empty for the zero Ref.
func (r Ref) Version() string { return r.identity().version }

func (r Ref) identity() identity {
	if r.l == nil {
		return identity{}
	}
	return r.l.identity(r.h)
}

// Size returns the length of the object's encoded form, as [object.Object.Size] does; 0 for the zero Ref.
func (r Ref) Size() int {
	if r.l == nil {
		return 0
	}
	return r.l.size(r.h)
}

// Err returns what is wrong with the object, nil for a good one.
func (r Ref) Err() error {
	if r.h.obj == nil { // what is marked is kept as an object by every layout
		return nil
	}
	return r.h.obj.Err
}
