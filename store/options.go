package store

import (
	"fmt"

	"github.com/tarn-dev/tarn/object"
)

// IndexFunc returns the values that an object is found under in an index: none, one or many; a value that is returned
// twice counts once. It is called concurrently and never under a lock. It may be called with an object that was never
// stored ([Store.Index]). It need not return the same values each time: what it returned when the object was stored counts
// until the object is replaced or deleted. After an error it may be called once more for the same object. The object is only
// lent: what a function keeps of it, it has to copy ([object.Object.Keep]); the values and the error it may return as they are.
type IndexFunc func(obj *object.Object) ([]string, error)

// Indexers are index functions by the name of their index.
type Indexers map[string]IndexFunc

// Layout says how a store keeps its objects. It decides about memory and about what a read costs, nothing else.
type Layout uint8

const (
	// Lean keeps the encoded bytes, compressed against those of similar objects: a tenth of their size and less. A read
	// makes the bytes anew, which costs a few microseconds, a read of the value decodes them as well; keys, versions, labels
	// and indexes cost nothing. What has no bytes is kept as with Raw. It is the default.
	Lean Layout = iota
	// Raw keeps every object exactly as it was given; what comes out is the same pointer that went in. An object that came
	// from a server has its encoded bytes and no value, so every read of the value decodes: reads that need none (keys,
	// metadata, labels, indexes) are free, and nobody can corrupt the store.
	Raw
	// Live keeps the decoded value and lets the bytes go ([object.Object.Live]). A read of the shared value
	// ([object.Object.View]) costs nothing; memory is that of the decoded tree, several times the bytes, and the garbage
	// collector walks all of it. For small sets that are read all the time. Decoding happens in Prepare, outside the lock.
	Live
)

// String returns the layout's name in lower case.
func (l Layout) String() string {
	switch l {
	case Lean:
		return "lean"
	case Raw:
		return "raw"
	case Live:
		return "live"
	}
	return fmt.Sprintf("layout(%d)", uint8(l))
}

// Options configure a [Store]. The zero value is a store without indexes that keeps objects as they are given.
type Options struct {
	// KeyFunc names an object. Nil: its Key, which must not be empty. Called concurrently, never under a lock.
	KeyFunc func(obj *object.Object) (string, error)
	// Indexers are the indexes to start with. The map is copied.
	Indexers Indexers
	// Layout is how objects are kept.
	Layout Layout
	// OnError, where set, makes the store tolerant, which is what an informer needs, so that one bad object never blocks a
	// list: an object that an index function fails for, or that a layout cannot decode, is stored nevertheless, left out of
	// the failing index, and marked (a copy of it that carries the error in Err is what is stored). OnError hears of it, with
	// the marked object, once per version that is stored or about to be. It is called without a lock held, concurrently.
	//
	// Nil: such an object makes the call that brought it fail, and nothing changes.
	OnError func(obj *object.Object, err error)
}

// key returns the key of obj, or an error that wraps the cause and names the object.
func (o *Options) key(obj *object.Object) (key string, err error) {
	if obj == nil {
		return "", fmt.Errorf("nil: %w", ErrNoKey)
	}
	if o.KeyFunc == nil {
		if obj.Key == "" {
			return "", fmt.Errorf("object with uid %q at version %q: %w", obj.UID, obj.Version, ErrNoKey)
		}
		return obj.Key, nil
	}
	if key, err = callKey(o.KeyFunc, obj); err != nil {
		return "", fmt.Errorf("key of %q: %w", obj.Key, err)
	}
	return key, nil
}

func callKey(fn func(*object.Object) (string, error), obj *object.Object) (key string, err error) {
	defer guard(&err)
	return fn(obj)
}

func callIndex(fn IndexFunc, obj *object.Object) (values []string, err error) {
	defer guard(&err)
	return fn(obj)
}
