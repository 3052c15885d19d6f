package tarn

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

// withCodec gives the objects of a source that have no codec the informer's, and trims them.
type withCodec struct {
	source.ListerWatcher
	codec object.Codec
	thin  *thinning
}

func (w withCodec) give(o *object.Object) *object.Object {
	if o == nil {
		return nil
	}
	if o.Codec == nil || w.thin != nil {
		given := *o
		given.Codec = w.codec
		if o.Codec != nil {
			given.Codec = w.thin.codec(o.Codec)
		}
		o = &given
	}
	return w.thin.apply(o)
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

// ofKind is a source that was named by text, read as values of a type whose kinds are known: what the name stands for
// is only seen when the server is asked, and a mistake is an error of every list and watch.
type ofKind struct {
	*kube.Source
	kinds []schema.GroupVersionKind
	t     reflect.Type
	exact bool // the version counts, too
}

func (o ofKind) check(ctx context.Context) error {
	m, err := o.Mapping(ctx)
	if err == nil && !slices.ContainsFunc(o.kinds, func(k schema.GroupVersionKind) bool {
		return k == m.Kind || !o.exact && k.GroupKind() == m.Kind.GroupKind()
	}) {
		kind := m.Kind.Kind
		if o.exact {
			kind = m.Kind.GroupVersion().String() + " " + kind
		}
		err = fmt.Errorf("its objects are of kind %s, which is not %s: the option Resource and the type do not fit", kind, o.t)
	}
	return err
}

func (o ofKind) List(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.Source.List(ctx, options)
}

func (o ofKind) Watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	if err := o.check(ctx); err != nil {
		return nil, err
	}
	return o.Source.Watch(ctx, options)
}
