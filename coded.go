package tarn

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// withCodec gives the objects of a source that have no codec the informer's.
type withCodec struct {
	source.ListerWatcher
	codec object.Codec
}

func (w withCodec) give(o *object.Object) *object.Object {
	if o == nil || o.Codec != nil {
		return o
	}
	given := *o
	given.Codec = w.codec
	return &given
}

func (w withCodec) List(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	l, err := w.ListerWatcher.List(ctx, options)
	if err != nil {
		return nil, err
	}
	return codedList{l, w}, nil
}

func (w withCodec) Watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	s, err := w.ListerWatcher.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return codedWatch{s, w}, nil
}

// SupportsStreamingList and Describe pass on what the source says.
func (w withCodec) SupportsStreamingList() bool { return source.SupportsStreamingList(w.ListerWatcher) }

func (w withCodec) Describe() string { return source.Describe(w.ListerWatcher) }

type codedList struct {
	source.List
	w withCodec
}

func (l codedList) Next() (*object.Object, error) {
	o, err := l.List.Next()
	return l.w.give(o), err
}

type codedWatch struct {
	source.Watch
	w withCodec
}

func (s codedWatch) Next() (source.Event, error) {
	e, err := s.Watch.Next()
	e.Object = s.w.give(e.Object)
	return e, err
}
