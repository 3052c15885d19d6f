package tarn

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Snapshot is one state of an informer's collection: what it answers never changes, and several reads of one belong
// together. It takes no lock and delays no writer. It may be kept, and then keeps what it shows in memory. Its methods
// may be called concurrently, its iterators more than once; they yield in the order of the keys. An [Informer] has the
// same reads, each on the newest state.
type Snapshot[T any] struct {
	s store.Snapshot
	i *Informer[T]
}

// Snapshot returns the newest state.
func (i *Informer[T]) Snapshot() Snapshot[T] { return Snapshot[T]{i.mirror.Snapshot(), i} }

// Cond is a condition of a read. Make one with [InNamespace], [HasLabels], [Matches] or [Indexed].
type Cond struct {
	cond    store.Cond
	indexed bool   // it is about an index
	index   string // the user's name
	value   string
	err     error
}

// InNamespace holds for the objects of a namespace; for all if it is empty.
func InNamespace(namespace string) Cond { return Cond{cond: store.InNamespace(namespace)} }

// Matches holds for the objects whose labels the selector matches. Nothing is decoded.
func Matches(selector labels.Selector) Cond { return Cond{cond: store.Matches(selector)} }

// HasLabels is [Matches] for a selector in text form, such as "app=web,tier!=cache".
func HasLabels(selector string) Cond {
	sel, err := labels.Parse(selector)
	if err != nil {
		return Cond{err: fmt.Errorf("label selector %q: %w", selector, err)}
	}
	return Matches(sel)
}

// Indexed holds for the objects that the index finds under value.
func Indexed(index, value string) Cond { return Cond{indexed: true, index: index, value: value} }

// Version returns the version of the source that the state was last brought to. With several namespaces each has its
// own: see [Informer.Status].
func (s Snapshot[T]) Version() string { return s.s.Version() }

// Len returns the number of objects.
func (s Snapshot[T]) Len() int { return s.s.Len() }

// Get returns the object with this key, decoded for the caller, who owns it, and whether there is one. The error is that
// of decoding; it names the key, and concerns no other object.
func (s Snapshot[T]) Get(key string) (value T, exists bool, err error) {
	return s.read(key, private[T])
}

// View is [Snapshot.Get] for who only looks: the value is shared with all who look at this version of the object and must
// not be changed. It is decoded for the first, and let go when the last has dropped it, but for what is looked at again and
// again ([HotViews]); where values are kept decoded ([Live]) it costs nothing.
func (s Snapshot[T]) View(key string) (value T, exists bool, err error) {
	return s.read(key, s.i.views.get)
}

func (s Snapshot[T]) read(key string, as func(store.Ref) (T, error)) (value T, exists bool, err error) {
	ref := s.s.Ref(key)
	if ref.IsZero() {
		return value, false, nil
	}
	value, err = s.value(ref, as)
	return value, true, err
}

func (s Snapshot[T]) value(ref store.Ref, as func(store.Ref) (T, error)) (T, error) {
	value, err := as(ref)
	if err != nil {
		s.i.failed(ref.Object(), err)
	}
	return value, err
}

// Object returns the object with this key in encoded form, with its metadata: shared and read-only, nothing is decoded.
func (s Snapshot[T]) Object(key string) (obj *object.Object, exists bool) { return s.s.Get(key) }

// Field returns the values that a path such as status.phase leads to in the object with this key: usually one, none where
// the field is not set, several where the path selects several ([*]). They are read from the encoded bytes.
func (s Snapshot[T]) Field(key, path string) (values []string, exists bool, err error) {
	read, err := s.i.compiled(path)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", s.i.name, err)
	}
	ref := s.s.Ref(key)
	if ref.IsZero() {
		return nil, false, nil
	}
	ref.Lend(func(obj *object.Object) { values, err = read(obj) })
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", key, err)
	}
	return values, true, nil
}

// compiled returns the reader of a path, which is compiled once.
func (i *Informer[T]) compiled(path string) (pathReader, error) {
	if read, ok := i.paths.Load(path); ok {
		return read.(pathReader), nil
	}
	read, err := pathsOf(i.of, i.thin)(path)
	if err == nil {
		i.paths.Store(path, read)
	}
	return read, err
}

// All iterates over all objects, each decoded for the caller when it comes; one that does not decode comes as its error
// and the next one follows.
func (s Snapshot[T]) All() iter.Seq2[T, error] { return s.List() }

// By iterates over the objects that the index finds under value, as [Snapshot.All] does. An unknown index is the one
// error that then comes (store.ErrUnknownIndex).
func (s Snapshot[T]) By(index, value string) iter.Seq2[T, error] {
	return s.List(Indexed(index, value))
}

// List iterates over the objects for which all conditions hold, as [Snapshot.All] does. All are answered from this one
// state.
func (s Snapshot[T]) List(conds ...Cond) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		refs, err := s.refs(conds)
		if err != nil {
			var zero T
			yield(zero, err)
			return
		}
		for ref := range refs {
			if !yield(s.value(ref, private[T])) {
				return
			}
		}
	}
}

// Objects iterates over the objects for which all conditions hold in encoded form, with their metadata: shared and
// read-only, nothing is decoded. The error is an unknown index or a selector that cannot be read.
func (s Snapshot[T]) Objects(conds ...Cond) (iter.Seq[*object.Object], error) {
	refs, err := s.refs(conds)
	if err != nil {
		return nil, err
	}
	return func(yield func(*object.Object) bool) {
		for ref := range refs {
			if !yield(ref.Object()) {
				return
			}
		}
	}, nil
}

// refs iterates over references to the objects for which all conditions hold.
func (s Snapshot[T]) refs(conds []Cond) (iter.Seq[store.Ref], error) {
	resolved := make([]store.Cond, len(conds))
	for n, c := range conds {
		if c.err != nil {
			return nil, fmt.Errorf("%s: %w", s.i.name, c.err)
		}
		if resolved[n] = c.cond; !c.indexed {
			continue
		}
		name, err := s.i.index(c.index)
		if err != nil {
			return nil, err
		}
		resolved[n] = store.Equals(name, c.value)
	}
	return s.s.RefsWhere(resolved...)
}

// IndexValues returns the values under which the index finds at least one object, sorted.
func (s Snapshot[T]) IndexValues(index string) ([]string, error) {
	name, err := s.i.index(index)
	if err != nil {
		return nil, err
	}
	return s.s.ListIndexValues(name)
}

// index returns the mirror's name of an index.
func (i *Informer[T]) index(name string) (string, error) {
	indexes := *i.indexes.Load()
	internal, ok := indexes[name]
	if !ok {
		hint := "there are none: give IndexField, IndexLabel or IndexFunc, or call AddIndexes"
		if len(indexes) > 0 {
			hint = fmt.Sprintf("there are: %q", slices.Sorted(maps.Keys(indexes)))
		}
		return "", fmt.Errorf("%s: %w %q (%s)", i.name, store.ErrUnknownIndex, name, hint)
	}
	return internal, nil
}

// Get is [Snapshot.Get] on the newest state.
func (i *Informer[T]) Get(key string) (value T, exists bool, err error) { return i.Snapshot().Get(key) }

// View is [Snapshot.View] on the newest state.
func (i *Informer[T]) View(key string) (value T, exists bool, err error) {
	return i.Snapshot().View(key)
}

// Object is [Snapshot.Object] on the newest state.
func (i *Informer[T]) Object(key string) (obj *object.Object, exists bool) {
	return i.Snapshot().Object(key)
}

// Field is [Snapshot.Field] on the newest state.
func (i *Informer[T]) Field(key, path string) (values []string, exists bool, err error) {
	return i.Snapshot().Field(key, path)
}

// Len is [Snapshot.Len] on the newest state.
func (i *Informer[T]) Len() int { return i.Snapshot().Len() }

// All is [Snapshot.All] on the newest state.
func (i *Informer[T]) All() iter.Seq2[T, error] { return i.Snapshot().All() }

// By is [Snapshot.By] on the newest state.
func (i *Informer[T]) By(index, value string) iter.Seq2[T, error] {
	return i.Snapshot().By(index, value)
}

// List is [Snapshot.List] on the newest state.
func (i *Informer[T]) List(conds ...Cond) iter.Seq2[T, error] { return i.Snapshot().List(conds...) }

// Objects is [Snapshot.Objects] on the newest state.
func (i *Informer[T]) Objects(conds ...Cond) (iter.Seq[*object.Object], error) {
	return i.Snapshot().Objects(conds...)
}

// IndexValues is [Snapshot.IndexValues] on the newest state.
func (i *Informer[T]) IndexValues(index string) ([]string, error) {
	return i.Snapshot().IndexValues(index)
}
