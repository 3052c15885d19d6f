package store

import "github.com/tarn-dev/tarn/object"

// Ref refers to one stored version of one object. The zero Ref refers to nothing. A Ref is good for as long as it is
// held, whatever happens to the store, and keeps what it refers to from being freed.
type Ref struct{ h handle }

// IsZero reports whether r refers to nothing.
func (r Ref) IsZero() bool { return r.h.kept == nil }

// Object returns the object, nil for the zero Ref. Depending on the layout it is shared or made anew.
func (r Ref) Object() *object.Object {
	if r.IsZero() {
		return nil
	}
	return r.h.get()
}

// Decode returns the object's value, which the caller owns: what [object.Object.Decode] of the object returns, for less
// where the object would be made anew. The error names the object. Not for the zero Ref.
func (r Ref) Decode() (any, error) { return r.h.decode() }

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
	if !r.IsZero() {
		r.h.lend(read)
	}
}

// ID returns a pointer that stands for the stored version: it is the same for all Refs to it, and that of no other for as
// long as somebody holds one of them or the pointer itself. Nil for the zero Ref.
func (r Ref) ID() *byte {
	return (*byte)(r.h.kept)
}

// Labels returns the object's labels, without making the object. They must not be modified. The zero Ref has none.
func (r Ref) Labels() object.Labels {
	if r.IsZero() {
		return nil
	}
	return *r.h.labels()
}

// UID returns the object's uid, without making the object; empty for the zero Ref.
func (r Ref) UID() string {
	if r.IsZero() {
		return ""
	}
	return r.h.uid()
}

// Version returns the object's version, without making the object; empty for the zero Ref.
func (r Ref) Version() string {
	if r.IsZero() {
		return ""
	}
	return r.h.version()
}

// SameUID reports whether r and o refer to versions of one object. It allocates nothing.
func (r Ref) SameUID(o Ref) bool {
	switch {
	case r.IsZero() || o.IsZero():
		return r.UID() == o.UID()
	case r.h.object() != nil:
		return o.h.isUID(r.h.object().UID)
	case o.h.object() != nil:
		return r.h.isUID(o.h.object().UID)
	}
	a, b := readRecord(r.h), readRecord(o.h)
	return a.isUUID == b.isUUID && a.uid == b.uid
}

// Size returns the length of the object's encoded form, as [object.Object.Size] does; 0 for the zero Ref.
func (r Ref) Size() int {
	if r.IsZero() {
		return 0
	}
	return r.h.length()
}

// Err returns what is wrong with the object, nil for a good one.
func (r Ref) Err() error { return r.h.err() }
