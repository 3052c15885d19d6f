package tarn

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/tarn-dev/tarn/internal/hot"
	"github.com/tarn-dev/tarn/store"
)

// views are the shared values of an informer: of each version that somebody is looking at, the value that was decoded
// for the first who asked. They are held weakly, by a pointer to the value itself, so that the collector ends the sharing
// when nobody has the value any more; what is looked at again and again is kept as long as there is room.
type views[T any] struct {
	hot    *hot.Cache[*byte, T] // by the ID of a store.Ref
	mu     sync.Mutex
	shared map[*byte]weak.Pointer[byte]
}

// hotViews is how many bytes of values are kept by default.
const hotViews = 6 << 20

// sizeOfValue says what a value is counted with, by the size of its encoded form: about what an unstructured one takes,
// and more than a typed one.
func sizeOfValue(encoded int) int64 { return 4*int64(encoded) + 512 }

func newViews[T any](limit int64) *views[T] {
	return &views[T]{hot: hot.New[*byte, T](limit), shared: map[*byte]weak.Pointer[byte]{}}
}

// get returns the shared value of what ref refers to.
func (v *views[T]) get(ref store.Ref) (T, error) {
	id := ref.ID()
	if value, ok := v.hot.Get(id); ok {
		return value, nil
	}
	if value, ok := ref.Value(); ok {
		return as[T](value)
	}
	if isObject[T]() || reflect.TypeFor[T]().Kind() != reflect.Pointer { // what is no pointer cannot be shared
		return private[T](ref)
	}
	value, ok := v.find(id)
	if !ok {
		var err error
		if value, err = private[T](ref); err != nil {
			return value, err
		}
		value = v.share(id, value)
	}
	v.hot.Offer(id, sizeOfValue(ref.Size()), func() T { return value })
	return value, nil
}

// share makes value the one that all get, unless somebody else was quicker, and returns that.
func (v *views[T]) share(id *byte, value T) T {
	// T is a pointer, so its value is an address; as a *byte it keeps alive, and is kept alive by, the same object.
	p := *(**byte)(unsafe.Pointer(&value))
	if p == nil {
		return value
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if first := v.shared[id].Value(); first != nil {
		return *(*T)(unsafe.Pointer(&first))
	}
	v.shared[id] = weak.Make(p)
	runtime.AddCleanup(p, v.drop, id)
	return value
}

func (v *views[T]) find(id *byte) (value T, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.shared[id].Value()
	if p == nil {
		return value, false
	}
	return *(*T)(unsafe.Pointer(&p)), true
}

// drop forgets a value that is gone, unless another one has taken its place.
func (v *views[T]) drop(id *byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shared[id].Value() == nil {
		delete(v.shared, id)
	}
}
