package tarn

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/store"
)

// Option configures an [Informer].
type Option func(*config)

// apply applies options to what they configure. A nil one, which a condition of the caller's may leave, says nothing.
func apply[C any, O ~func(*C)](c *C, options []O) {
	for _, o := range options {
		if o != nil {
			o(c)
		}
	}
}

// config is what the options say.
type config struct {
	name       string
	resource   kube.Resource
	named      bool
	namespaces []string
	labels     string
	fields     string
	indexes    []indexOption
	keep       *function
	drop       []string
	keepOnly   []string
	partial    bool
	transform  *function
	layout     store.Layout
	hot        int64 // bytes
	codec      object.Codec
	logger     *slog.Logger
	metrics    Metrics
	reflector  reflectorConfig
	onError    func(error)
}

type reflectorConfig struct {
	pageSize     int64
	noStreaming  bool
	watchTimeout time.Duration
	idleSlack    time.Duration
	retry        time.Duration
	backoff      func() time.Duration
}

// function is a function of the user's over objects as values of some type.
type function struct {
	what  string
	takes reflect.Type
	keep  func(*object.Object) (bool, error)
	index store.IndexFunc
	apply func(*object.Object) (*object.Object, error)
}

// fits reports an error if the function does not take the informer's values.
func (f *function) fits(t reflect.Type) error {
	if f.takes != t && f.takes != reflect.TypeFor[*object.Object]() {
		return fmt.Errorf("%s takes %s, but the informer holds %s (or take *object.Object, which needs no decoding)", f.what, f.takes, t)
	}
	return nil
}

type indexOption struct {
	name, path, label string
	fn                *function
}

// Name names the informer in logs, metrics and errors. The default describes what it reads: pods in "prod". A name that the
// hub gave out before gets a number behind it: pods #2.
func Name(name string) Option { return func(c *config) { c.name = name } }

// Resource names the collection as a person types it: po, pods, deploy.apps, deployments.v1.apps. It is needed where the
// type does not tell: for *unstructured.Unstructured, *metav1.PartialObjectMetadata and types outside the hub's scheme.
// It may name one that the server does not have yet.
func Resource(name string) Option {
	return func(c *config) { c.resource, c.named = kube.Named(name), true }
}

// GVR names the collection by group, version and plural name.
func GVR(gvr schema.GroupVersionResource) Option {
	return func(c *config) { c.resource, c.named = kube.GVR(gvr), true }
}

// GVK names the collection by the kind of its objects.
func GVK(gvk schema.GroupVersionKind) Option {
	return func(c *config) { c.resource, c.named = kube.GVK(gvk), true }
}

// Namespace limits the informer to the given namespaces; each is listed and watched by itself. The default is all.
func Namespace(namespaces ...string) Option {
	return func(c *config) { c.namespaces = append(c.namespaces, namespaces...) }
}

// Labels limits the informer to objects that the label selector matches, such as "app=web,tier!=cache". The server does
// the selecting.
func Labels(selector string) Option { return func(c *config) { c.labels = selector } }

// Fields limits the informer to objects that the field selector matches, such as "spec.nodeName=n7". The server does the
// selecting, and supports few fields.
func Fields(selector string) Option { return func(c *config) { c.fields = selector } }

// IndexField adds an index over the values of a field, given by its path: spec.nodeName, metadata.labels[app],
// spec.containers[*].image. The field is read from the encoded bytes. A wrong path is an error of [For].
func IndexField(name, path string) Option {
	return func(c *config) { c.indexes = append(c.indexes, indexOption{name: name, path: path}) }
}

// IndexLabel adds an index over the values of a label.
func IndexLabel(name, label string) Option {
	return func(c *config) { c.indexes = append(c.indexes, indexOption{name: name, label: label}) }
}

// IndexFunc adds an index over what f returns. T is the informer's type, and then every arriving object is decoded; or
// *object.Object, and nothing is. f must not change its argument, which may be shared. An error or panic leaves that
// object out of the index and is reported.
func IndexFunc[T any](name string, f func(T) ([]string, error)) Option {
	if f == nil {
		return func(c *config) { c.indexes = append(c.indexes, indexOption{name: name}) }
	}
	fn := &function{what: fmt.Sprintf("index function %q", name), takes: reflect.TypeFor[T]()}
	fn.index = func(o *object.Object) ([]string, error) {
		v, err := shared[T](o)
		if err != nil {
			return nil, err
		}
		return f(v)
	}
	return func(c *config) { c.indexes = append(c.indexes, indexOption{name: name, fn: fn}) }
}

// Only keeps the objects for which keep returns true, and no others: one that stops to qualify is seen as deleted. T is
// as for [IndexFunc]. A selector, which the server evaluates, is cheaper where it can say the same. Nil keeps all.
func Only[T any](keep func(T) bool) Option {
	if keep == nil {
		return func(c *config) { c.keep = nil }
	}
	fn := &function{what: "predicate of Only", takes: reflect.TypeFor[T]()}
	fn.keep = func(o *object.Object) (bool, error) {
		v, err := shared[T](o)
		return err == nil && keep(v), err
	}
	return func(c *config) { c.keep = fn }
}

// Transform replaces every arriving object by what f returns for it, before it is stored: to drop what nobody needs. f
// gets a private value, which it may change and return; as *object.Object, a private copy of the metadata and the shared
// bytes, which it must replace and not change. The result must have the same key, uid and version. Where it fails, panics
// or returns nil, the object is kept as it came and reported. A nil f changes nothing.
func Transform[T any](f func(T) (T, error)) Option {
	if f == nil {
		return func(c *config) { c.transform = nil }
	}
	fn := &function{what: "transform", takes: reflect.TypeFor[T]()}
	fn.apply = func(o *object.Object) (*object.Object, error) {
		received := *o
		v, err := own[T](&received)
		if err != nil {
			return nil, err
		}
		if v, err = f(v); err != nil {
			return nil, err
		}
		return encode(o, v)
	}
	return func(c *config) { c.transform = fn }
}

// encode returns o with another value, and the metadata of that.
func encode(o *object.Object, value any) (*object.Object, error) {
	if v := reflect.ValueOf(value); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, errors.New("it returned nil; use Only to leave objects out")
	}
	replaced, ok := value.(*object.Object)
	if !ok {
		enc, raw, err := o.Codec.Encode(value)
		if err != nil {
			return nil, err
		}
		meta, err := o.Codec.Meta(value)
		if err != nil {
			return nil, err
		}
		replaced = &object.Object{Meta: meta, Encoding: enc, Raw: raw, Codec: o.Codec}
	}
	if replaced.Key != o.Key || replaced.UID != o.UID || replaced.Version != o.Version {
		return nil, fmt.Errorf("it changed the object's identity or version (to %s, uid %q, version %q)",
			replaced.Key, replaced.UID, replaced.Version)
	}
	return replaced, nil
}

// Live keeps decoded values instead of bytes: for a small set that is read in full all the time. See [store.Live].
func Live() Option { return func(c *config) { c.layout = store.Live } }

// HotViews is how many bytes of decoded values are kept for [Informer.View], of the objects that are looked at again and
// again (default 6 MB; each is counted with four times its encoded size). 0 keeps none.
func HotViews(bytes int64) Option { return func(c *config) { c.hot = bytes } }

// Codec decodes the objects; needed for a type that is neither of the Kubernetes API nor a struct with JSON tags.
func Codec(codec object.Codec) Option { return func(c *config) { c.codec = codec } }

// Logger is where the informer logs; the default is the hub's.
func Logger(l *slog.Logger) Option { return func(c *config) { c.logger = l } }

// ReportTo is what the informer reports its measurements to; the default is the hub's.
func ReportTo(m Metrics) Option { return func(c *config) { c.metrics = m } }

// OnError hears of every error: of the source, with what was being done and what happens now, and of each object that
// failed, once per version. It is called on the informer's goroutines and must not block. Errors are logged in any case.
func OnError(f func(error)) Option { return func(c *config) { c.onError = f } }

// PageSize is the limit of each page of a list; negative turns paging off. See reflector.Options for the default.
func PageSize(n int64) Option { return func(c *config) { c.reflector.pageSize = n } }

// NoStreamingList reads the collection with plain lists only, also where the server supports streaming ones (KEP-3157).
func NoStreamingList() Option { return func(c *config) { c.reflector.noStreaming = true } }

// WatchTimeout is the least that the server is asked to keep a watch open for (default 5 minutes), and the slack after
// which a watch that stays silent past that is given up (default 30 s). Zero keeps a default. Over HTTP/2 a dead connection
// is found by client-go's ping, 45 s after the last sign of life, however short these are: see reflector.Options.IdleSlack.
func WatchTimeout(least, slack time.Duration) Option {
	return func(c *config) { c.reflector.watchTimeout, c.reflector.idleSlack = least, slack }
}

// RetryInternalErrors is for how long a watch that the server ends with a 500 is tried again before a relist.
func RetryInternalErrors(d time.Duration) Option { return func(c *config) { c.reflector.retry = d } }

// Backoff returns how long to wait before the next attempt; it replaces the default (reflector.Options).
func Backoff(next func() time.Duration) Option {
	return func(c *config) { c.reflector.backoff = next }
}

// sharedKey is what two informers must agree on to share a mirror; the zero key stands for none.
type sharedKey struct {
	values reflect.Type
	rest   string
}

// shared returns the informer's key; the zero one where functions make it impossible to tell.
func (c *config) shared(t reflect.Type) sharedKey {
	if c.keep != nil || c.transform != nil || c.codec != nil || c.reflector.backoff != nil || c.onError != nil || c.logger != nil || c.metrics != nil {
		return sharedKey{}
	}
	return sharedKey{t, strings.Join([]string{
		c.resource.String(), strings.Join(c.namespaces, ","), c.labels, c.fields, c.layout.String(),
		fmt.Sprint(c.reflector.pageSize, c.reflector.noStreaming, c.reflector.watchTimeout, c.reflector.idleSlack, c.reflector.retry),
		fmt.Sprintf("%q %q %t", c.drop, c.keepOnly, c.partial),
	}, "\x00")}
}
