package reflector

import "github.com/tarn-dev/tarn/object"

// Sink is what a [Reflector] keeps in step with its source: a queue (*queue.DeltaFIFO[*object.Object]), a store, or a
// mirror. The reflector calls it from one goroutine. It keeps the objects it is given, which are immutable.
//
// An error from Add, Update or Delete is reported and concerns that one object; the position still moves. An error from
// Replace or Resync ends the watch and a relist follows.
type Sink interface {
	Add(obj *object.Object) error
	Update(obj *object.Object) error
	Delete(obj *object.Object) error
	// Replace makes the collection exactly list, as it was at version. The sink may keep the slice.
	Replace(list []*object.Object, version string) error
	Resync() error
}

// Bookmarker is an optional interface of a [Sink] that wants to know how far the source has come although nothing of
// its own changed.
type Bookmarker interface {
	Bookmark(version string) error
}

// Borrower is an optional interface of a [Sink] that may keep nothing of the objects it is given, neither they nor their
// stages. If it says so when the reflector is made, each object is released when the call that brought it has returned,
// and a list or a watch needs the memory of a few objects only.
type Borrower interface {
	Borrows() bool
}

// Flusher is an optional interface of a [Sink] that collects changes and publishes them together. Flush is called
// before the reflector blocks for more, and before it calls anything else than Add, Update, Delete and Bookmark.
type Flusher interface {
	Flush() error
}

// Stager is an optional interface of a [Sink] that takes a list item by item, so that no second copy of the set is held
// while it arrives. Without it, the list is collected and handed to Replace.
type Stager interface {
	// Stage starts a list. At most one is open at a time. With suspect, the source's history may have started over
	// (see Stage.Commit), so the stage keeps what it needs to take every object as changed.
	Stage(suspect bool) Stage
}

// Stage collects one list. Exactly one of Commit and Abort ends it.
type Stage interface {
	// Add takes one item; a later one of the same key replaces it. Its error concerns that one object.
	Add(obj *object.Object) error
	// Delete takes an item out again, whether it is among those so far or not: a streaming list may bring changes before
	// the bookmark that ends it. Its error concerns that one object.
	Delete(obj *object.Object) error
	// Commit makes the collection exactly the items, as it was at version, as one change. With newEpoch, the server's
	// history started over: no object counts as unchanged because its version is equal. newEpoch is only ever true for
	// a stage that was opened as suspect.
	Commit(version string, newEpoch bool) error
	// Abort leaves no trace of the stage.
	Abort()
}
