package tarn

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
)

// request says what to ask the server for, for objects of type t, of which type they are there, and of which kinds they may
// be.
func request(hub *Hub, t reflect.Type, c *config) (req kube.Request, of reflect.Type, expected []schema.GroupVersionKind, err error) {
	of = t
	req = kube.Request{Resource: c.resource, LabelSelector: c.labels, FieldSelector: c.fields, Codec: c.codec}
	needsResource := func(why string) error {
		if c.named {
			return nil
		}
		return fmt.Errorf("%s: name the collection, for example with tarn.Resource(\"deployments.apps\")", why)
	}
	switch {
	case t == reflect.TypeFor[*unstructured.Unstructured](), t == reflect.TypeFor[*object.Object]():
		return req, of, nil, needsResource("the type does not say what to read")
	case t == reflect.TypeFor[*metav1.PartialObjectMetadata]():
		req.MetadataOnly = true
		return req, of, nil, needsResource("the type does not say what to read")
	case t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct:
		switch {
		case req.Codec != nil:
		case t.Kind() == reflect.Struct:
			return req, of, nil, fmt.Errorf("not a pointer to a struct: use *%s, or give tarn.Codec", t)
		default:
			return req, of, nil, errors.New("not a pointer to a struct, and no tarn.Codec that makes it")
		}
		return req, of, nil, needsResource("the type does not say what to read")
	}
	example := reflect.New(t.Elem()).Interface()
	if o, ok := example.(runtime.Object); ok {
		if meta.IsListType(o) {
			return req, of, nil, errors.New("a list: an informer is of the type of its items")
		}
		if kinds, _, err := hub.scheme.ObjectKinds(o); err == nil {
			expected = kinds
			if !c.named {
				req.Resource = kube.Type(hub.scheme, o)
			}
		}
	}
	if expected == nil {
		if err := needsResource("the type is not in the hub's scheme (see tarn.WithScheme)"); err != nil {
			return req, of, nil, err
		}
	}
	if req.Codec != nil {
		return req, of, expected, nil
	}
	if expected == nil {
		if original, kind := hub.original(req.Resource); original != nil {
			if c.transform != nil && c.transform.takes == t {
				return req, of, nil, fmt.Errorf("it has only some of the fields of %T, so a Transform of it would lose the others: let it take *object.Object, or use Keep", original)
			}
			req.Codec, err = kube.SlimCodec(example, original)
			return req, reflect.TypeOf(original), []schema.GroupVersionKind{kind}, err
		}
		if !hasJSON(t.Elem()) {
			return req, of, nil, fmt.Errorf("none of its fields has a JSON tag, and by their names they are only found where the hub's scheme has a type for %q: "+
				"name the collection by its plural, or by tarn.GVR, or add the tags", req.Resource)
		}
	}
	req.Codec, err = kube.CodecFor(example)
	return req, of, expected, err
}

// hasJSON reports whether a struct says how its fields are called in JSON.
func hasJSON(t reflect.Type) bool {
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("json") != "" {
			return true
		}
	}
	return false
}
