package kube

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource says which collection is meant, in one of four ways: [Named], [GVR], [GVK] or [Type]. It names it only: the
// server is asked when the collection is first read ([Client.Resolve]), so a Resource may be one that does not exist
// yet. It is immutable.
type Resource struct {
	text  string
	gvr   schema.GroupVersionResource
	kinds []schema.GroupVersionKind // in order of preference
	as    decodedForm
	goTyp reflect.Type // the struct type, for asGoType
	err   error
}

// decodedForm is what the objects of a resource decode into where the request names no codec.
type decodedForm uint8

const (
	asUnstructured decodedForm = iota
	asGoType
	asMetadata
)

// Named is a resource as a person types it: a plural (pods), singular (pod) or short name (po) or a kind (Pod), with
// or without a group (deploy.apps) or a version and a group (deployments.v1.apps); letter case does not matter. Where
// a name fits several resources, the plural wins over the singular, then comes the short name, then the kind, and among
// groups the server's order decides. A group may be shortened where it is unambiguous in that order (deploy.app).
func Named(text string) Resource {
	if strings.TrimSpace(text) == "" {
		return Resource{err: fmt.Errorf("kube: empty resource name")}
	}
	return Resource{text: strings.TrimSpace(text)}
}

// GVR is a resource by group, version and plural name. With an empty version, the server's preferred one is taken.
func GVR(gvr schema.GroupVersionResource) Resource {
	if gvr.Resource == "" {
		return Resource{err: fmt.Errorf("kube: resource without a name: %s", gvr)}
	}
	return Resource{gvr: gvr}
}

// GVK is a resource by the kind of its objects. With an empty version, the server's preferred one is taken.
func GVK(gvk schema.GroupVersionKind) Resource {
	if gvk.Kind == "" {
		return Resource{err: fmt.Errorf("kube: kind without a name: %s", gvk)}
	}
	return Resource{kinds: []schema.GroupVersionKind{gvk}}
}

// Type is a resource by the Go type of its objects, which the scheme maps to a kind. obj is only looked at for its
// type, except that an *unstructured.Unstructured or *metav1.PartialObjectMetadata must say which kind it stands for;
// the latter asks the server for metadata only. Unless the request names a codec, objects decode into obj's type.
func Type(scheme *runtime.Scheme, obj runtime.Object) Resource {
	r := Resource{as: asGoType}
	switch o := obj.(type) {
	case *unstructured.Unstructured:
		r = GVK(o.GroupVersionKind())
	case *metav1.PartialObjectMetadata:
		r = GVK(o.GroupVersionKind())
		r.as = asMetadata
	case nil:
		r.err = fmt.Errorf("kube: no object to take the type from")
	default:
		r.kinds, _, r.err = scheme.ObjectKinds(obj)
		r.goTyp = reflect.TypeOf(obj).Elem()
	}
	if r.err != nil {
		r.err = fmt.Errorf("kube: resource of type %T: %w", obj, r.err)
	}
	return r
}

// String returns what the resource was named by.
func (r Resource) String() string {
	switch {
	case r.text != "":
		return r.text
	case r.gvr.Resource != "":
		return qualified(r.gvr.Resource, r.gvr.Version, r.gvr.Group)
	case len(r.kinds) > 0:
		return qualified(r.kinds[0].Kind, r.kinds[0].Version, r.kinds[0].Group)
	}
	return "unnamed resource"
}

// guess returns what the resource is probably called, before the server is asked: for a kind, its plural.
func (r Resource) guess() string {
	if r.text != "" || r.gvr.Resource != "" || len(r.kinds) == 0 {
		return r.String()
	}
	plural, _ := meta.UnsafeGuessKindToResource(r.kinds[0])
	return plural.GroupResource().String()
}

// qualified joins the parts as a person would type them: pods, deployments.v1.apps.
func qualified(name, version, group string) string {
	switch {
	case group == "":
		return name
	case version == "":
		return name + "." + group
	}
	return name + "." + version + "." + group
}

// Mapping is a resource as one server knows it.
type Mapping struct {
	// Resource is where the collection is found.
	Resource schema.GroupVersionResource
	// Kind is the kind of its objects.
	Kind schema.GroupVersionKind
	// Namespaced is false for a cluster-scoped resource.
	Namespaced bool
}

// String returns the resource as a person types it: pods, deployments.apps.
func (m Mapping) String() string { return m.Resource.GroupResource().String() }
