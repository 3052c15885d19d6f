package store

import (
	"fmt"

	"github.com/tarn-dev/tarn/object"
)

// handle is how a layout finds an object again. It stays good for as long as somebody holds it: what it refers to is
// never changed or reused, only dropped when nothing refers to it any more.
type handle struct {
	obj *object.Object
}

// layout is the seam between the store and how objects are kept. Everything above it goes by keys, handles and
// metadata, and asks for an object when a reader wants one.
type layout interface {
	// prepare does the work that may run a codec, outside the lock. Where it fails, the object that it returns is marked
	// and can be kept nevertheless.
	prepare(obj *object.Object) (*object.Object, error)
	// put keeps a prepared object. It is called under the write lock.
	put(obj *object.Object) handle
	// get returns the object. It is called concurrently.
	get(h handle) *object.Object
	// meta returns the object's metadata, without decoding anything. It is called concurrently.
	meta(h handle) *object.Meta
}

// layoutOf returns the implementation of l; an unknown one is a programming error and panics.
func layoutOf(l Layout) layout {
	switch l {
	case Raw:
		return rawLayout{}
	case Live:
		return liveLayout{}
	}
	panic(fmt.Sprintf("store: no such layout: %v", l))
}

// rawLayout keeps objects as they are given.
type rawLayout struct{}

func (rawLayout) prepare(obj *object.Object) (*object.Object, error) { return obj, nil }
func (rawLayout) put(obj *object.Object) handle                      { return handle{obj} }
func (rawLayout) get(h handle) *object.Object                        { return h.obj }
func (rawLayout) meta(h handle) *object.Meta                         { return &h.obj.Meta }

// liveLayout keeps decoded values.
type liveLayout struct{ rawLayout }

func (liveLayout) prepare(obj *object.Object) (live *object.Object, err error) {
	if obj.Encoding == object.None {
		return obj, nil
	}
	live, err = decode(obj)
	if err != nil {
		return mark(obj, err), err
	}
	if live.Encoding != object.None {
		return live, live.Err
	}
	return live, nil
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

// Meta returns the object's metadata, nil for the zero Ref. It costs no decoding. It must not be modified.
func (r Ref) Meta() *object.Meta {
	if r.l == nil {
		return nil
	}
	return r.l.meta(r.h)
}
