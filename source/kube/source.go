package kube

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/wire"
)

// Request says which objects are wanted, and as what.
type Request struct {
	Resource Resource
	// Namespace limits the request to one namespace; empty means all. It is ignored for a cluster-scoped resource.
	Namespace string
	// LabelSelector and FieldSelector limit it to what they match. Selectors in the options of a List or Watch are added.
	LabelSelector, FieldSelector string
	// MetadataOnly asks the server for the objects' metadata only, as *metav1.PartialObjectMetadata.
	MetadataOnly bool
	// Codec decodes the objects. By default they decode into *metav1.PartialObjectMetadata with MetadataOnly, into the
	// Go type of a resource named by [Type], else into *unstructured.Unstructured. Protobuf is only asked for where the
	// codec decodes it (see [ProtobufDecoder]).
	Codec object.Codec
	// WrapCodec, where it is not nil, returns what is used in place of the codec, whichever that is. It is called once
	// the resource is resolved, and again if it changes on the server.
	WrapCodec func(object.Codec) object.Codec
	// Trim, where it is not nil, says what is left of each object before anything is read of it or kept. What it cannot
	// be applied to as it came is decoded and encoded first; where that fails too, the object comes whole, with the reason
	// in its Err.
	Trim *wire.Trim
}

// Source is one collection of a Kubernetes server. It implements source.ListerWatcher, source.StreamingLister and
// source.Describer. It has no state to close. Its methods may be called concurrently.
//
// The resource is resolved by the first List or Watch. One that the server does not have (yet) is an error of that call,
// a *[NoMatchError], and the next call looks again; so does one after the server said 404.
type Source struct {
	client *Client
	req    Request
	found  atomic.Pointer[collection]
}

var (
	_ source.ListerWatcher   = (*Source)(nil)
	_ source.StreamingLister = (*Source)(nil)
	_ source.Describer       = (*Source)(nil)
)

// Source returns the collection of req. It sends nothing; what is wrong with req itself (a type that the scheme does not
// know, a malformed selector) is an error here, and everything else one of List and Watch.
func (c *Client) Source(req Request) (*Source, error) {
	if req.Resource.err != nil {
		return nil, req.Resource.err
	}
	if req.Resource.String() == (Resource{}).String() {
		return nil, fmt.Errorf("kube: request without a resource")
	}
	if _, err := labels.Parse(req.LabelSelector); err != nil {
		return nil, fmt.Errorf("kube: label selector %q: %w", req.LabelSelector, err)
	}
	if _, err := fields.ParseSelector(req.FieldSelector); err != nil {
		return nil, fmt.Errorf("kube: field selector %q: %w", req.FieldSelector, err)
	}
	if msgs := rest.IsValidPathSegmentName(req.Namespace); len(msgs) > 0 {
		return nil, fmt.Errorf("kube: namespace %q %s", req.Namespace, strings.Join(msgs, ", "))
	}
	if req.Resource.as == asMetadata {
		req.MetadataOnly = true
	}
	return &Source{client: c, req: req}, nil
}

// Mapping returns what the server calls the resource; see [Client.Resolve].
func (s *Source) Mapping(ctx context.Context) (Mapping, error) {
	c, err := s.collection(ctx)
	if err != nil {
		return Mapping{}, err
	}
	return c.mapping, nil
}

// Describe implements source.Describer: `pods in "prod"`. Before the resource was first resolved it has the name that
// was asked for.
func (s *Source) Describe() string {
	what, namespaced := s.req.Resource.guess(), true
	if c := s.found.Load(); c != nil {
		what, namespaced = c.mapping.String(), c.mapping.Namespaced
	}
	if s.req.Namespace == "" || !namespaced {
		return what
	}
	return fmt.Sprintf("%s in %q", what, s.req.Namespace)
}

// SupportsStreamingList implements source.StreamingLister. It is true: whether the server has streaming lists shows in
// its answer to the request for one.
func (s *Source) SupportsStreamingList() bool { return true }

// List implements source.ListerWatcher. The items are read from the response body one by one.
func (s *Source) List(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	c, err := s.collection(ctx)
	if err != nil {
		return nil, err
	}
	l, err := c.list(ctx, s.narrow(options))
	if err != nil {
		return nil, s.failed(err)
	}
	return l, nil
}

// Watch implements source.ListerWatcher.
func (s *Source) Watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	c, err := s.collection(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.watch(ctx, s.narrow(options))
	if err != nil {
		return nil, s.failed(err)
	}
	return w, nil
}

// narrow adds the request's selectors to options.
func (s *Source) narrow(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector = both(options.LabelSelector, s.req.LabelSelector)
	options.FieldSelector = both(options.FieldSelector, s.req.FieldSelector)
	return options
}

// both joins two selectors; in label and field selectors alike a comma means and.
func both(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "," + b
}

// failed looks at an error of the server: 404 means that the resource itself is gone (a namespace without objects
// answers with an empty list), so that the next call must ask what there is.
func (s *Source) failed(err error) error {
	if apierrors.IsNotFound(err) {
		s.found.Store(nil)
		s.client.resolver.forget()
	}
	return err
}

// collection resolves the resource, once.
func (s *Source) collection(ctx context.Context) (*collection, error) {
	if c := s.found.Load(); c != nil {
		return c, nil
	}
	m, err := s.client.Resolve(ctx, s.req.Resource)
	if err != nil {
		return nil, err
	}
	c := &collection{mapping: m, metadataOnly: s.req.MetadataOnly, codec: s.codecFor(m), trim: s.req.Trim}
	c.protobuf = decodesProtobuf(c.codec)
	prefix := []string{"/apis", m.Resource.Group, m.Resource.Version}
	if m.Resource.Group == "" {
		prefix = []string{"/api", m.Resource.Version}
	}
	c.request = func() *rest.Request {
		return s.client.rest.Get().AbsPath(prefix...).
			NamespaceIfScoped(s.req.Namespace, m.Namespaced && s.req.Namespace != "").Resource(m.Resource.Resource)
	}
	s.found.Store(c)
	return c, nil
}

func (s *Source) codecFor(m Mapping) object.Codec {
	codec := s.unwrappedFor(m)
	if s.req.WrapCodec != nil {
		codec = s.req.WrapCodec(codec)
	}
	return codec
}

func (s *Source) unwrappedFor(m Mapping) object.Codec {
	switch {
	case s.req.Codec != nil:
		return s.req.Codec
	case s.req.MetadataOnly:
		return metadataCodec
	case s.req.Resource.as == asGoType:
		return newGoCodec(s.req.Resource.goTyp)
	}
	return unstructuredCodec{kind: m.Kind}
}

func decodesProtobuf(c object.Codec) bool {
	p, ok := c.(ProtobufDecoder)
	return ok && p.DecodesProtobuf()
}
