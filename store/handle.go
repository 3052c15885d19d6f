package store

import (
	"unsafe"

	"github.com/tarn-dev/tarn/object"
)

// handle is an object as it is kept. It stays good for as long as somebody holds it: what it refers to is
// never changed or reused, only dropped when nothing refers to it any more.
// It is small, because there is one for each stored object.
type handle struct {
	kept unsafe.Pointer // an *object.Object, or where on is set the bytes of a record: see lean
	on   *base
	size uint32 // of the record
}

func handleOf(obj *object.Object) handle { return handle{kept: unsafe.Pointer(obj)} }

// object returns nil where the object is made of a record.
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

// get returns the object, which is shared or made anew.
func (h handle) get() *object.Object {
	if obj := h.object(); obj != nil {
		return obj
	}
	return h.on.kind.l.get(h)
}

// decode returns the object's value, for the caller alone.
func (h handle) decode() (any, error) {
	if obj := h.object(); obj != nil {
		return obj.Decode()
	}
	return h.on.kind.l.decode(h)
}

// lend calls read with the object, of which nothing is good when read has returned; Meta need not be there.
func (h handle) lend(read func(*object.Object)) {
	if obj := h.object(); obj != nil {
		read(obj)
		return
	}
	h.on.kind.l.lend(h, read)
}

// uid returns the object's uid, without decoding anything.
func (h handle) uid() string {
	if obj := h.object(); obj != nil {
		return obj.UID
	}
	return readRecord(h).uidText()
}

// isUID compares the object's uid, and allocates nothing.
func (h handle) isUID(uid string) bool {
	if obj := h.object(); obj != nil {
		return obj.UID == uid
	}
	return readRecord(h).isUID(uid)
}

// version returns the object's version, without decoding anything.
func (h handle) version() string {
	if obj := h.object(); obj != nil {
		return obj.Version
	}
	return readRecord(h).version
}

// isVersion reports whether the object is known to be this very version of obj.
func (h handle) isVersion(obj *object.Object) bool {
	return obj.Version != "" && h.version() == obj.Version && h.isUID(obj.UID)
}

// labels returns the object's labels, without decoding its value. They must not be modified.
func (h handle) labels() *object.Labels {
	if obj := h.object(); obj != nil {
		return &obj.Labels
	}
	return h.on.kind.l.labels(h)
}

// length returns what [object.Object.Size] of the object returns.
func (h handle) length() int {
	if obj := h.object(); obj != nil {
		return obj.Size()
	}
	return readRecord(h).length()
}
