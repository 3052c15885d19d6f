package tarn

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/tarn-dev/tarn/object"
)

// views are the shared values of an informer: of each version that somebody is looking at, the value that was decoded
// for the first who asked. They are held weakly, by a pointer to the value itself, so that the collector ends the sharing
// when nobody has the value any more.
type views[T any] struct {
	mu     sync.Mutex
	shared map[viewKey]weak.Pointer[byte]
}

type viewKey struct{ key, uid, version string }

// get returns the shared value of obj.
func (v *views[T]) get(obj *object.Object) (T, error) {
	// Without a version one state cannot be told from the next, and what is no pointer cannot be shared.
	if obj.Value != nil || obj.Version == "" || reflect.TypeFor[T]().Kind() != reflect.Pointer {
		return view[T](obj)
	}
	k := viewKey{obj.Key, obj.UID, obj.Version}
	if value, ok := v.find(k); ok {
		return value, nil
	}
	value, err := view[T](obj)
	// T is a pointer, so its value is an address; as a *byte it keeps alive, and is kept alive by, the same object.
	p := *(**byte)(unsafe.Pointer(&value))
	if err != nil || p == nil {
		return value, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if first := v.shared[k].Value(); first != nil { // somebody else was quicker
		return *(*T)(unsafe.Pointer(&first)), nil
	}
	if v.shared == nil {
		v.shared = make(map[viewKey]weak.Pointer[byte])
	}
	v.shared[k] = weak.Make(p)
	runtime.AddCleanup(p, v.drop, k)
	return value, nil
}

func (v *views[T]) find(k viewKey) (value T, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.shared[k].Value()
	if p == nil {
		return value, false
	}
	return *(*T)(unsafe.Pointer(&p)), true
}

// drop forgets a value that is gone, unless another one has taken its place.
func (v *views[T]) drop(k viewKey) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.shared[k].Value() == nil {
		delete(v.shared, k)
	}
}
