package store

import (
	"fmt"
	"unsafe"

	"github.com/tarn-dev/tarn/object"
)

// handle is how a layout finds an object again. It stays good for as long as somebody holds it: what it refers to is
// never changed or reused, only dropped when nothing refers to it any more.
// It is small, because there is one for each stored object.
type handle struct {
	kept unsafe.Pointer // an *object.Object, or where on is set the bytes of a record: see lean
	on   *base
	size uint32 // of the record
}

func handleOf(obj *object.Object) handle { return handle{kept: unsafe.Pointer(obj)} }

// object returns nil where the object is made of the rest.
func (h handle) object() *object.Object {
	if h.on != nil {
		return nil
	}
	return (*object.Object)(h.kept)
}

func (h handle) record() string { return unsafe.String((*byte)(h.kept), h.size) }

// err returns what is wrong with the object. Every layout keeps one that is marked as an object.
func (h handle) err() error {
	if obj := h.object(); obj != nil {
		return obj.Err
	}
	return nil
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
	// decode returns the object's value, for the caller alone.
	decode(h handle) (any, error)
	// lend calls read with the object, of which nothing is good when read has returned; Meta need not be there.
	lend(h handle, read func(*object.Object))
	// uid and version return the object's, without decoding anything; isUID compares, and allocates nothing.
	uid(h handle) string
	version(h handle) string
	isUID(h handle, uid string) bool
	// labels returns the object's labels, without decoding its value. They must not be modified.
	labels(h handle) *object.Labels
	// stats returns how objects are kept.
	stats() Stats
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

// isVersion reports whether what is stored is known to be this very version of this object.
func isVersion(l layout, h handle, obj *object.Object) bool {
	return obj.Version != "" && l.version(h) == obj.Version && l.isUID(h, obj.UID)
}

// rawLayout keeps objects as they are given.
type rawLayout struct{}

func (rawLayout) prepare(obj *object.Object) (handle, error) { return handleOf(obj.Keep()), nil }
func (rawLayout) put(handle)                                 {}
func (rawLayout) drop(handle)                                {}
func (rawLayout) get(h handle) *object.Object                { return h.object() }
func (rawLayout) decode(h handle) (any, error)               { return h.object().Decode() }
func (rawLayout) lend(h handle, read func(*object.Object))   { read(h.object()) }
func (rawLayout) uid(h handle) string                        { return h.object().UID }
func (rawLayout) version(h handle) string                    { return h.object().Version }
func (rawLayout) isUID(h handle, uid string) bool            { return h.object().UID == uid }
func (rawLayout) labels(h handle) *object.Labels             { return &h.object().Labels }
func (rawLayout) stats() Stats                               { return Stats{} }
func (rawLayout) size(h handle) int                          { return h.object().Size() }

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

// Decode returns the object's value, which the caller owns: what [object.Object.Decode] of the object returns, for less
// where the object would be made anew. The error names the object. Not for the zero Ref.
func (r Ref) Decode() (any, error) { return r.l.decode(r.h) }

// Value returns the object's value where it is kept decoded; it is shared and must not be changed.
func (r Ref) Value() (value any, ok bool) {
	obj := r.h.object()
	if obj == nil || obj.Value == nil {
		return nil, false
	}
	return obj.Value, true
}

// Lend calls read with the object in encoded form, for who only has to look into the bytes. What read gets is not to be
// kept or changed, and need not have its metadata. Nothing happens for the zero Ref.
func (r Ref) Lend(read func(*object.Object)) {
	if r.l != nil {
		r.l.lend(r.h, read)
	}
}

// ID returns a pointer that stands for the stored version: it is the same for all Refs to it, and that of no other for as
// long as somebody holds one of them or the pointer itself. Nil for the zero Ref.
func (r Ref) ID() *byte {
	return (*byte)(r.h.kept)
}

// Labels returns the object's labels, without making the object. They must not be modified. The zero Ref has none.
func (r Ref) Labels() object.Labels {
	if r.l == nil {
		return nil
	}
	return *r.l.labels(r.h)
}

// UID returns the object's uid, without making the object; empty for the zero Ref.
func (r Ref) UID() string {
	if r.l == nil {
		return ""
	}
	return r.l.uid(r.h)
}

// Version returns the object's version, without making the object; empty for the zero Ref.
func (r Ref) Version() string {
	if r.l == nil {
		return ""
	}
	return r.l.version(r.h)
}

// SameUID reports whether r and o refer to versions of one object. It allocates nothing.
func (r Ref) SameUID(o Ref) bool {
	switch {
	case r.l == nil || o.l == nil:
		return r.UID() == o.UID()
	case r.h.object() != nil:
		return o.l.isUID(o.h, r.h.object().UID)
	case o.h.object() != nil:
		return r.l.isUID(r.h, o.h.object().UID)
	}
	a, b := readRecord(r.h), readRecord(o.h)
	return a.isUUID == b.isUUID && a.uid == b.uid
}

// Size returns the length of the object's encoded form, as [object.Object.Size] does; 0 for the zero Ref.
func (r Ref) Size() int {
	if r.l == nil {
		return 0
	}
	return r.l.size(r.h)
}

// Err returns what is wrong with the object, nil for a good one.
func (r Ref) Err() error { return r.h.err() }
