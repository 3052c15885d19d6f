package source

import (
	"context"
	"errors"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
)

// ListFunc is [ListerWatcher].List as a function.
type ListFunc func(ctx context.Context, options metav1.ListOptions) (List, error)

// WatchFunc is [ListerWatcher].Watch as a function.
type WatchFunc func(ctx context.Context, options metav1.ListOptions) (Watch, error)

var errNoFunc = errors.New("list watch lacks the function")

// ListWatch is a [ListerWatcher] made of two functions. Its fields must not change once it is in use; its methods may
// be called concurrently, as often as the functions may.
type ListWatch struct {
	ListFunc  ListFunc
	WatchFunc WatchFunc
	// DisablePaging asks for every list in one piece: the limit that a reader asks for is not sent.
	DisablePaging bool
	// DisableStreamingList says that WatchFunc cannot serve a streaming list (KEP-3157), so that it is never asked for one.
	DisableStreamingList bool
	// Description is what is read, for messages, such as `pods in "prod"`.
	Description string
}

// NewListWatch returns a [ListWatch] made of the two functions.
func NewListWatch(list ListFunc, watch WatchFunc) *ListWatch {
	return &ListWatch{ListFunc: list, WatchFunc: watch}
}

// List calls ListFunc.
func (lw *ListWatch) List(ctx context.Context, options metav1.ListOptions) (List, error) {
	if lw.ListFunc == nil {
		return nil, errNoFunc
	}
	if lw.DisablePaging {
		options.Limit = 0
	}
	return lw.ListFunc(ctx, options)
}

// Watch calls WatchFunc.
func (lw *ListWatch) Watch(ctx context.Context, options metav1.ListOptions) (Watch, error) {
	if lw.WatchFunc == nil {
		return nil, errNoFunc
	}
	return lw.WatchFunc(ctx, options)
}

// SupportsStreamingList implements [StreamingLister].
func (lw *ListWatch) SupportsStreamingList() bool { return !lw.DisableStreamingList }

// Describe implements [Describer].
func (lw *ListWatch) Describe() string { return lw.Description }

// WithOptions returns lw with modify applied to the options of every list, page and watch. It is meant for label and
// field selectors; version, limit, token, timeout and bookmarks belong to the reader, and changing them breaks it.
// modify may be called concurrently.
func WithOptions(lw ListerWatcher, modify func(options *metav1.ListOptions)) ListerWatcher {
	return &modified{lw, modify}
}

type modified struct {
	ListerWatcher
	modify func(*metav1.ListOptions)
}

func (m *modified) List(ctx context.Context, options metav1.ListOptions) (List, error) {
	m.modify(&options)
	return m.ListerWatcher.List(ctx, options)
}

func (m *modified) Watch(ctx context.Context, options metav1.ListOptions) (Watch, error) {
	m.modify(&options)
	return m.ListerWatcher.Watch(ctx, options)
}

// SupportsStreamingList implements [StreamingLister].
func (m *modified) SupportsStreamingList() bool { return SupportsStreamingList(m.ListerWatcher) }

// Describe implements [Describer].
func (m *modified) Describe() string { return Describe(m.ListerWatcher) }

// SupportsStreamingList reports whether lw may be asked for a streaming list: true unless it is a [StreamingLister]
// that says no.
func SupportsStreamingList(lw ListerWatcher) bool {
	s, ok := lw.(StreamingLister)
	return !ok || s.SupportsStreamingList()
}

// Describe returns what lw reads, for messages; "" where it does not say.
func Describe(lw ListerWatcher) string {
	if d, ok := lw.(Describer); ok {
		return d.Describe()
	}
	return ""
}

// ListOf returns a [List] of items that are already in memory: for sources that are not a server, and for tests. The
// slice must not change while it is read.
func ListOf(meta ListMeta, items ...*object.Object) List { return &listOf{meta, items} }

type listOf struct {
	meta  ListMeta
	items []*object.Object
}

func (l *listOf) Next() (*object.Object, error) {
	if len(l.items) == 0 {
		return nil, io.EOF
	}
	obj := l.items[0]
	l.items = l.items[1:]
	return obj, nil
}

func (l *listOf) Meta() ListMeta { return l.meta }

func (l *listOf) Close() error { return nil }
