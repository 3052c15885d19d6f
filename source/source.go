// Package source is the contract between tarn and where objects come from: a collection that can be listed at a version
// and watched from one. A Kubernetes resource is one (package source/kube), made of two functions it is a [ListWatch].
//
// Both answers are read by pulling: the reader asks for the next item, so nothing is buffered that was not asked for,
// and the memory of a list does not grow with its length.
package source

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
)

// ListerWatcher is a collection that can be listed and watched. Both methods may be called concurrently, also again
// while an earlier answer is still read. Errors of a Kubernetes server are *apierrors.StatusError (wrapped or not).
type ListerWatcher interface {
	// List asks for the collection, or for one page of it (options.Limit, options.Continue). It returns when the answer's
	// head is there; the items follow. The context bounds the whole reading.
	List(ctx context.Context, options metav1.ListOptions) (List, error)
	// Watch opens a stream of changes from options.ResourceVersion, or with options.SendInitialEvents a streaming list
	// (KEP-3157) followed by the changes. The context bounds the whole stream.
	Watch(ctx context.Context, options metav1.ListOptions) (Watch, error)
}

// ErrRestart is returned by [List.Next] of a list that has to be read again from its start (a paged list whose
// continuation token expired). The reader forgets the items so far and goes on calling Next, which starts over.
var ErrRestart = errors.New("list starts over")

// ErrTable is returned where a server answers with a meta.k8s.io Table instead of objects.
var ErrTable = errors.New("server sent a meta.k8s.io Table, not objects: the Accept header asks for a table")

// List is the answer to a list, read item by item. It is used by one goroutine. It must be closed.
type List interface {
	// Next returns the next item, which the caller may keep; io.EOF after the last one; any other error where the list
	// broke (nothing may be concluded from the items so far). Its object's Err is set where only that item is bad.
	Next() (*object.Object, error)
	// Meta returns what the list says of itself. It is complete when Next has returned io.EOF; before, the fields that
	// have not arrived are zero (a Kubernetes server sends them before the items).
	Meta() ListMeta
	// Close ends the reading and frees what it holds. It may be called more than once, and before the end.
	Close() error
}

// ListMeta is what a list says of itself.
type ListMeta struct {
	// Version is the resourceVersion that the list was read at.
	Version string
	// Continue is the token for the next page; empty on the last one.
	Continue string
	// Remaining is how many items follow after this page, as far as the server says; 0 where it does not.
	Remaining int64
	// GVK is the list's own kind (PodList), where the answer names it.
	GVK schema.GroupVersionKind
}

// EventType says what a watch event is.
type EventType uint8

// The types of watch event. Unknown is one that this version of tarn does not know; Name keeps what was sent.
const (
	Unknown EventType = iota
	Added
	Modified
	Deleted
	Bookmark
	Error
)

// String returns the type as the Kubernetes API writes it.
func (t EventType) String() string {
	switch t {
	case Added:
		return "ADDED"
	case Modified:
		return "MODIFIED"
	case Deleted:
		return "DELETED"
	case Bookmark:
		return "BOOKMARK"
	case Error:
		return "ERROR"
	}
	return "UNKNOWN"
}

// Event is one event of a watch.
type Event struct {
	Type EventType
	// Name is the type as it was sent, where Type is Unknown.
	Name string
	// GVK is the kind of the object in the event, where it is known; a reader compares it with the kind it expects.
	GVK schema.GroupVersionKind
	// Object is the object for Added, Modified and Deleted. For Bookmark only its Version is set.
	Object *object.Object
	// InitialEventsEnd is true for the bookmark that ends a streaming list (annotation k8s.io/initial-events-end).
	InitialEventsEnd bool
	// Err is the error of an Error event (an *apierrors.StatusError where the server sent a Status), or what is wrong
	// with this one event (a Table: ErrTable); the stream itself goes on.
	Err error
}

// Watch is a stream of events. It is used by one goroutine, except Close. It must be closed.
type Watch interface {
	// Next blocks for the next event, which the caller may keep. It returns io.EOF when the server ended the stream
	// normally, the context's cause when the context ended, any other error where the connection broke.
	Next() (Event, error)
	// Buffered reports whether Next would return at once, because a whole event has already been received: the reader
	// publishes what it has applied before it blocks.
	Buffered() bool
	// Close ends the stream and frees what it holds; a blocked Next returns. It may be called more than once and from
	// any goroutine.
	Close() error
}

// StreamingLister is an optional interface of a [ListerWatcher]: one that returns false is never asked for a streaming
// list (fake clients accept the option and then never send the bookmark that ends it).
type StreamingLister interface {
	SupportsStreamingList() bool
}

// Describer is an optional interface of a [ListerWatcher]: what it reads, for messages, such as `pods in "prod"`.
type Describer interface {
	Describe() string
}
