package tarn

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
)

// Lister reads an informer's collection the way generated listers do: with slices and the API's errors. The objects are
// the caller's own. Its methods may be called concurrently.
type Lister[T any] struct {
	i         *Informer[T]
	namespace string
}

// Lister returns a lister of all namespaces.
func (i *Informer[T]) Lister() Lister[T] { return Lister[T]{i: i} }

// Namespace returns a lister of one namespace.
func (l Lister[T]) Namespace(namespace string) Lister[T] { return Lister[T]{l.i, namespace} }

// Get returns the object of this name in the lister's namespace; with a lister of all namespaces, name is the key. If
// there is none, apierrors.IsNotFound holds for the error.
func (l Lister[T]) Get(name string) (T, error) {
	value, ok, err := l.i.Get(object.JoinKey(l.namespace, name))
	if err == nil && !ok {
		err = apierrors.NewNotFound(l.i.group, name)
	}
	return value, err
}

// List returns the objects that the selector matches, in the order of their keys; nil and labels.Everything() match all.
// The first object that does not decode is the error.
func (l Lister[T]) List(selector labels.Selector) ([]T, error) {
	var values []T
	for v, err := range l.i.List(InNamespace(l.namespace), Matches(selector)) {
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}

// guessResource returns the resource that a kind is usually served as.
func guessResource(kinds []schema.GroupVersionKind, named string) schema.GroupResource {
	if len(kinds) == 0 {
		return schema.ParseGroupResource(named)
	}
	plural, _ := meta.UnsafeGuessKindToResource(kinds[0])
	return plural.GroupResource()
}
