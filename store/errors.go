package store

import (
	"errors"
	"fmt"
)

var (
	// ErrUnknownIndex is returned, wrapped with the name, by reads of an index that does not exist.
	ErrUnknownIndex = errors.New("unknown index")
	// ErrIndexExists is returned, wrapped with the name, by [Store.AddIndexers] where there is such an index already.
	ErrIndexExists = errors.New("index exists already")
	// ErrNoKey is returned where the object is nil or, with the default key function, has no key.
	ErrNoKey = errors.New("object has no key")
	// ErrPanic is what a panic in a function that the user gave is reported as.
	ErrPanic = errors.New("panic")
)

// IndexError says that an index function failed for one version of one object. It wraps the cause, which for a panic
// also is [ErrPanic].
type IndexError struct {
	// Index is the index's name, Key the object's key and Version its resourceVersion.
	Index, Key, Version string
	// Err is what the index function returned.
	Err error
}

// Error names the object, the index and the cause.
func (e *IndexError) Error() string { return fmt.Sprintf("%s: index %q: %v", e.Key, e.Index, e.Err) }

// Unwrap returns the cause.
func (e *IndexError) Unwrap() error { return e.Err }

// guard turns a panic of the function that it is deferred in into an error.
func guard(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("%w: %w", ErrPanic, r)
	default:
		*err = fmt.Errorf("%w: %v", ErrPanic, r)
	}
}
