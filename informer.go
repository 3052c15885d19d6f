package tarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// ErrRunning is returned by [Informer.Run] while it runs already.
var ErrRunning = errors.New("the informer runs already")

// Informer keeps a local, indexed copy of a collection in step with its source and delivers every change to its
// subscriptions. T is what its objects decode into: a pointer to a type of the Kubernetes API or to any struct with JSON
// tags, *unstructured.Unstructured, *metav1.PartialObjectMetadata (the server then sends metadata only), or
// *object.Object for the encoded form. All methods may be called concurrently, before, during and after Run.
type Informer[T any] struct {
	name    string
	mirror  *mirror.Mirror
	indexes atomic.Pointer[map[string]string] // by the user's name of an index: the mirror's; replaced, never changed
	logger  *slog.Logger
	metrics Metrics
	onError func(error)
	group   schema.GroupResource
	adding  sync.Mutex   // held by who replaces indexes
	paths   sync.Map     // of pathReader by path
	of      reflect.Type // of the objects on the server; T's, unless that is slim
	thin    *thinning
	views   *views[T]

	mu       sync.Mutex
	runCtx   context.Context // nil while not running, or about to end
	active   bool            // Run has been called and has not returned
	done     sync.WaitGroup  // the subscriptions of this run
	subs     []*Subscription
	numbered int           // subscriptions ever
	tick     time.Duration // the grid of resync periods; 0 = nobody asked
	fixed    bool          // the informer has started, so tick stays
}

// For returns an informer of hub's server for the collection that T's type, or the option [Resource], names. It sends
// nothing: Run does. Errors are mistakes in the options: a path that T does not have, a function of another type.
func For[T any](hub *Hub, options ...Option) (*Informer[T], error) {
	c := config{hot: hotViews}
	apply(&c, options)
	t := reflect.TypeFor[T]()
	if hub == nil {
		return nil, fmt.Errorf("informer of %s: no hub: NewHub returned an error that nobody looked at", t)
	}
	req, of, expected, err := request(hub, t, &c)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", t, err)
	}
	thin, err := c.thinning(t, of)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", t, err)
	}
	if thin != nil {
		req.Trim, req.WrapCodec = thin.trim, thin.codec
	}
	var sources []source.ListerWatcher
	namespaces := slices.Compact(slices.Sorted(slices.Values(c.namespaces)))
	if len(namespaces) == 0 || slices.Contains(namespaces, "") {
		namespaces = []string{""}
	}
	for _, ns := range namespaces {
		req.Namespace = ns
		src, err := hub.client.Source(req)
		if err != nil {
			return nil, fmt.Errorf("informer of %s: %w", t, err)
		}
		if len(expected) > 0 && c.named {
			sources = append(sources, ofKind{src, expected, t, of != t})
			continue
		}
		sources = append(sources, src)
	}
	c.resource, c.namespaces = req.Resource, namespaces
	key := c.shared(t)
	if c.name == "" {
		c.name = describe(sources, namespaces)
	}
	c.name = hub.name(c.name)
	if c.logger == nil {
		c.logger = hub.logger
	}
	if c.metrics == nil {
		c.metrics = hub.metrics
	}
	inf, err := newInformer[T](&c, of, thin, func() (*mirror.Mirror, error) {
		return hub.mirror(key, func() (*mirror.Mirror, error) {
			return newMirror(&c, t, sources, namespaces, expected)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", t, err)
	}
	inf.group = guessResource(expected, req.Resource.String())
	return inf, nil
}

// New returns an informer of any source. The options that say what to read (Resource, Namespace, Labels, Fields) do not
// apply: the source does. codec makes T; the source's objects may carry it, or one that makes the same. Errors are
// mistakes in the options, and a source that is nil.
func New[T any](src source.ListerWatcher, codec object.Codec, options ...Option) (*Informer[T], error) {
	c := config{hot: hotViews}
	apply(&c, options)
	if c.logger == nil {
		c.logger = slog.Default()
	}
	t := reflect.TypeFor[T]()
	if c.named || len(c.namespaces) > 0 || c.labels != "" || c.fields != "" {
		return nil, fmt.Errorf("informer of %s: Resource, Namespace, Labels and Fields are for informers of a hub; here the source says what is read", t)
	}
	if src == nil {
		return nil, fmt.Errorf("informer of %s: no source", t)
	}
	thin, err := c.thinning(t, t)
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", t, err)
	}
	if thin != nil {
		codec = thin.codec(codec)
	}
	sources := []source.ListerWatcher{withCodec{src, codec, thin}}
	if c.name == "" {
		c.name = cmp.Or(describe(sources, []string{""}), "informer of "+t.String())
	}
	inf, err := newInformer[T](&c, t, thin, func() (*mirror.Mirror, error) {
		return newMirror(&c, t, sources, []string{""}, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("informer of %s: %w", t, err)
	}
	inf.group = schema.GroupResource{Resource: c.name} // the nearest to a resource that any source has
	return inf, nil
}

func newInformer[T any](c *config, of reflect.Type, thin *thinning, build func() (*mirror.Mirror, error)) (*Informer[T], error) {
	t := reflect.TypeFor[T]()
	indexes, indexers, err := c.indexers(t, of, thin)
	if err != nil {
		return nil, err
	}
	for _, f := range []*function{c.keep, c.transform} {
		if f != nil {
			if err := f.fits(t); err != nil {
				return nil, err
			}
		}
	}
	m, err := build()
	if err != nil {
		return nil, err
	}
	if err := addIndexers(m, indexers); err != nil {
		return nil, err
	}
	i := &Informer[T]{name: c.name, mirror: m, logger: c.logger, metrics: c.metrics, onError: c.onError, of: of, thin: thin}
	i.views = newViews[T](c.hot)
	i.indexes.Store(&indexes)
	return i, nil
}

func describe(sources []source.ListerWatcher, namespaces []string) string {
	if len(sources) == 1 {
		return source.Describe(sources[0])
	}
	return fmt.Sprintf("%s and %d more", source.Describe(sources[0]), len(namespaces)-1)
}

// newMirror returns a mirror with a scope for each source.
func newMirror(c *config, t reflect.Type, sources []source.ListerWatcher, namespaces []string, expected []schema.GroupVersionKind) (*mirror.Mirror, error) {
	report := func(err error) {
		if c.onError != nil {
			c.onError(err)
		}
	}
	o := mirror.Options{Layout: c.layout, OnFailure: func(f mirror.Failure) {
		c.logger.Warn("object failed; it is kept and marked", "informer", c.name, "key", f.Key, "version", f.Version, "err", f.Err)
		report(f.Err)
	}}
	if c.keep != nil {
		o.Keep = c.keep.keep
	}
	if c.transform != nil {
		o.Transform = c.transform.apply
	}
	m := mirror.New(o)
	for i, src := range sources {
		name := c.name
		if len(sources) > 1 {
			name = source.Describe(src)
		}
		opts := reflector.Options{
			Name: name, PageSize: c.reflector.pageSize, MinWatchTimeout: c.reflector.watchTimeout,
			IdleSlack: c.reflector.idleSlack, InternalErrorRetry: c.reflector.retry, Backoff: c.reflector.backoff,
			Logger: c.logger, ErrorHandler: func(_ string, _ int, err error) { report(err) },
		}
		if len(expected) == 1 {
			opts.Expected = expected[0]
		}
		if c.reflector.noStreaming {
			opts.StreamingList = reflector.StreamingOff
		}
		if c.metrics != nil {
			opts.Metrics = reflectorMetrics{c.name, c.metrics}
		}
		m.AddScope(namespaces[i], func(sink reflector.Sink) *reflector.Reflector { return reflector.New(src, sink, opts) })
	}
	return m, nil
}

// Name returns the informer's name.
func (i *Informer[T]) Name() string { return i.name }

// Run keeps the informer in step and delivers to its subscriptions until ctx ends; then it waits for the handlers that
// are running, and returns nil with no goroutine left. It may be called again after it returned: what is stored is kept
// and brought up to date, and subscriptions go on from where they were. While it runs, it returns [ErrRunning].
func (i *Informer[T]) Run(ctx context.Context) error {
	i.mu.Lock()
	if i.active {
		i.mu.Unlock()
		return fmt.Errorf("%s: %w", i.name, ErrRunning)
	}
	i.active, i.fixed, i.runCtx = true, true, ctx
	for _, s := range i.subs {
		i.startLocked(s)
	}
	i.mu.Unlock()
	if i.metrics != nil {
		detach := i.metrics.Attach(i.name, i.Status)
		defer detach()
	}
	release := i.mirror.Acquire()
	<-ctx.Done()
	i.mu.Lock()
	i.runCtx = nil
	i.mu.Unlock()
	i.done.Wait()
	release()
	i.mu.Lock()
	i.active = false
	i.mu.Unlock()
	return nil
}

func (i *Informer[T]) startLocked(s *Subscription) {
	ctx := i.runCtx
	i.done.Go(func() { s.core.Run(ctx) })
}

// valueType is the type that the objects decode into.
func (*Informer[T]) valueType() reflect.Type { return reflect.TypeFor[T]() }

// failed marks an object that does not decode.
func (i *Informer[T]) failed(obj *object.Object, err error) { i.mirror.Fail(obj, err) }

var indexCount atomic.Uint64
