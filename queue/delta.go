package queue

import (
	"fmt"
	"slices"
)

// DeltaType says what happened to an object.
type DeltaType uint8

// The types of delta.
const (
	// Added says that the source reported a new object.
	Added DeltaType = iota + 1
	// Updated says that the source reported a newer state of an object.
	Updated
	// Deleted says that the object is gone.
	Deleted
	// Replaced says that the object was in a full list; it may be new, changed or the same.
	Replaced
	// Sync says that nothing happened: a resync hands over what is known.
	Sync
)

// String returns the name of the constant.
func (t DeltaType) String() string {
	switch t {
	case Added:
		return "Added"
	case Updated:
		return "Updated"
	case Deleted:
		return "Deleted"
	case Replaced:
		return "Replaced"
	case Sync:
		return "Sync"
	}
	return fmt.Sprintf("DeltaType(%d)", uint8(t))
}

// Delta is one thing that happened to an object, and the object after it (before it, for a Deleted).
//
// A Deleted that nobody saw happen is a tombstone: FinalStateUnknown is true, and Object is the newest state that was
// seen, which may be old. Where none was seen, NoObject is true as well and Object is the zero value.
type Delta[T any] struct {
	Type DeltaType
	// FinalStateUnknown marks a tombstone. Only a Deleted has it.
	FinalStateUnknown bool
	// NoObject marks a tombstone without an object.
	NoObject bool
	// Key is the object's key; for a tombstone without an object it is all there is.
	Key    string
	Object T
}

// Deltas is what happened to one object, the oldest first. Adjacent Deleted are collapsed into one.
type Deltas[T any] []Delta[T]

// Oldest returns the first delta, or nil where there is none. It points into ds.
func (ds Deltas[T]) Oldest() *Delta[T] {
	if len(ds) == 0 {
		return nil
	}
	return &ds[0]
}

// Newest returns the last delta, or nil where there is none. It points into ds.
func (ds Deltas[T]) Newest() *Delta[T] {
	if len(ds) == 0 {
		return nil
	}
	return &ds[len(ds)-1]
}

// push appends d, or collapses it with a Deleted before it: what says more of the final state stays, else the newer.
func (ds Deltas[T]) push(d Delta[T]) Deltas[T] {
	last := ds.Newest()
	if last == nil || last.Type != Deleted || d.Type != Deleted {
		return append(ds, d)
	}
	if !d.FinalStateUnknown || last.FinalStateUnknown && !d.NoObject {
		*last = d
	}
	return ds
}

// fill gives a tombstone without an object the newest one in ds, if there is one.
func (ds Deltas[T]) fill(d Delta[T]) Delta[T] {
	if !d.NoObject {
		return d
	}
	for _, older := range slices.Backward(ds) {
		if !older.NoObject {
			d.Object, d.NoObject = older.Object, false
			break
		}
	}
	return d
}
