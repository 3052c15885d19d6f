package kube

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// NewListWatch returns the collection of a resource, in one namespace or (with "") in all, limited by a field selector
// (nil: none), read with a REST client for the resource's group and version. Objects of the kinds that client-go's scheme
// knows decode into their Go types, others into *unstructured.Unstructured.
func NewListWatch(client rest.Interface, resource, namespace string, selector fields.Selector) *source.ListWatch {
	return NewFilteredListWatch(client, resource, namespace, func(options *metav1.ListOptions) {
		if selector != nil {
			options.FieldSelector = selector.String()
		}
	})
}

// NewFilteredListWatch is [NewListWatch] with a function that may set label and field selectors in the options of every
// list, page and watch. modify may be nil; it may be called concurrently.
func NewFilteredListWatch(client rest.Interface, resource, namespace string, modify func(options *metav1.ListOptions)) *source.ListWatch {
	c := &collection{
		request:  func() *rest.Request { return client.Get().Namespace(namespace).Resource(resource) },
		protobuf: scheme.Scheme.IsVersionRegistered(client.APIVersion()),
		codecOf:  schemeCodecs(),
	}
	list := func(ctx context.Context, options metav1.ListOptions) (source.List, error) {
		if modify != nil {
			modify(&options)
		}
		return c.list(ctx, options)
	}
	watch := func(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
		if modify != nil {
			modify(&options)
		}
		return c.watch(ctx, options)
	}
	lw := source.NewListWatch(list, watch)
	lw.Description = resource
	if namespace != "" {
		lw.Description = fmt.Sprintf("%s in %q", resource, namespace)
	}
	return lw
}

// schemeCodecs returns a function that gives the codec for a kind.
func schemeCodecs() func(schema.GroupVersionKind) object.Codec {
	var known sync.Map // of object.Codec by kind
	return func(kind schema.GroupVersionKind) object.Codec {
		if c, ok := known.Load(kind); ok {
			return c.(object.Codec)
		}
		var codec object.Codec = unstructuredCodec{kind: kind}
		if o, err := scheme.Scheme.New(kind); err == nil {
			codec, _ = CodecFor(o)
		}
		known.Store(kind, codec)
		return codec
	}
}
