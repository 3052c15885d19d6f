package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/workload"
)

// informer is a copy made by tarn.
type informer[T any] struct {
	hub  *tarn.Hub
	i    *tarn.Informer[T]
	sub  *tarn.Subscription
	sink *Sink
}

func newTarnLive(o Options) (Copy, error) { return newTarn(o, tarn.Live()) }
func newTarnLean(o Options) (Copy, error) { return newTarn(o) }

func newTarn(o Options, options ...tarn.Option) (Copy, error) {
	if o.Index {
		options = append(options, tarn.IndexLabel(indexName, IndexLabel))
	}
	options = append(options, tarn.OnError(func(err error) {
		slog.Debug("tarn", "err", err) // of the source: it recovers
	}))
	switch o.Kind {
	case workload.Pods:
		return newInformer[*corev1.Pod](o, options)
	case workload.Secrets:
		return newInformer[*corev1.Secret](o, options)
	case workload.ConfigMaps:
		return newInformer[*corev1.ConfigMap](o, options)
	}
	return newInformer[*unstructured.Unstructured](o, append(options, tarn.GVR(o.Kind.GVR())))
}

func newInformer[T any](o Options, options []tarn.Option) (Copy, error) {
	hub, err := tarn.NewHub(o.Config, tarn.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		return nil, err
	}
	i, err := tarn.For[T](hub, options...)
	if err != nil {
		return nil, err
	}
	c := &informer[T]{hub: hub, i: i, sink: o.Sink}
	c.sub, err = i.Subscribe(tarn.HandlerFunc[T](c.handle))
	return c, err
}

func (c *informer[T]) handle(_ context.Context, e tarn.Event[T]) {
	mode := c.sink.Mode()
	if mode >= DecodeNew {
		_, err := e.New()
		c.sink.Fail(err)
	}
	if mode >= DecodeOldNew && e.Type == tarn.Updated {
		_, err := e.Old()
		c.sink.Fail(err)
	}
	switch e.Type {
	case tarn.Added:
		c.sink.Added(e.Key)
	case tarn.Updated:
		c.sink.Updated(e.Key)
	case tarn.Deleted:
		c.sink.Deleted(e.Key)
	}
}

func (c *informer[T]) Run(ctx context.Context) error {
	defer c.hub.Close()
	return c.i.Run(ctx)
}

func (c *informer[T]) Get(key string) (any, error) { return found(key)(c.i.Get(key)) }

func (c *informer[T]) View(key string) (any, error) { return found(key)(c.i.View(key)) }

func found(key string) func(value any, exists bool, err error) (any, error) {
	return func(value any, exists bool, err error) (any, error) {
		if err == nil && !exists {
			err = errNotFound(key)
		}
		return value, err
	}
}

func (c *informer[T]) List(selector labels.Selector) (n int, err error) {
	for _, err := range c.i.List(tarn.Matches(selector)) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (c *informer[T]) ByIndex(value string, limit int) (n int, err error) {
	for _, err := range c.i.By(indexName, value) {
		if err != nil {
			return n, err
		}
		if n++; n == limit {
			break
		}
	}
	return n, nil
}

// ViewByIndex is ByIndex for who only looks.
func (c *informer[T]) ViewByIndex(value string, limit int) (n int, err error) {
	objects, err := c.i.Objects(tarn.Indexed(indexName, value))
	if err != nil {
		return 0, err
	}
	for o := range objects {
		if _, err := c.View(o.Key); err != nil {
			return n, err
		}
		if n++; n == limit {
			break
		}
	}
	return n, nil
}

// Field reads one field, as text.
func (c *informer[T]) Field(key, path string) ([]string, error) {
	values, exists, err := c.i.Field(key, path)
	if err == nil && !exists {
		err = errNotFound(key)
	}
	return values, err
}

// Unmarshal returns how long the generated decoder takes for the object's bytes.
func (c *informer[T]) Unmarshal(key string) (time.Duration, error) {
	obj, exists := c.i.Object(key)
	if !exists {
		return 0, errNotFound(key)
	}
	var value interface{ Unmarshal([]byte) error }
	begin := time.Now()
	switch any(*new(T)).(type) {
	case *corev1.Pod:
		value = &corev1.Pod{}
	case *corev1.Secret:
		value = &corev1.Secret{}
	case *corev1.ConfigMap:
		value = &corev1.ConfigMap{}
	default:
		return 0, errors.ErrUnsupported
	}
	if len(obj.Raw) == 0 {
		return 0, fmt.Errorf("%s is not kept encoded: %w", key, errors.ErrUnsupported)
	}
	err := value.Unmarshal(obj.Raw)
	return time.Since(begin), err
}

// Conflated returns how many modifications were merged into later ones because the handler was behind.
func (c *informer[T]) Conflated() uint64 { return c.sub.Status().Conflated }
