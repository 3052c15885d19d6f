package mirror

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/tarn-dev/tarn/object"
)

// Failure is an object that could not be decoded, transformed or indexed. It is stored nevertheless, marked.
type Failure struct {
	Key, Version string
	Err          error
}

// failures are the marked objects. One is reported once per version, however often it is tried again.
type failures struct {
	report func(Failure)
	total  atomic.Uint64

	mu    sync.Mutex
	byKey map[string]Failure
}

func (f *failures) note(obj *object.Object, err error) {
	failure := Failure{Key: obj.Key, Version: obj.Version, Err: err}
	f.mu.Lock()
	last, known := f.byKey[obj.Key]
	known = known && last.Version == obj.Version && obj.Version != ""
	if f.byKey == nil {
		f.byKey = make(map[string]Failure)
	}
	f.byKey[obj.Key] = failure
	f.mu.Unlock()
	if known {
		return
	}
	f.total.Add(1)
	if f.report != nil {
		f.report(failure)
	}
}

// forget drops the marks of objects that are gone or have a newer version now.
func (f *failures) forget(changes []Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.byKey) == 0 {
		return
	}
	for i := range changes {
		c := &changes[i]
		failure, ok := f.byKey[c.Object().Key]
		if !ok {
			continue
		}
		if c.Kind == Deleted || c.New.Err == nil && (c.New.Version != failure.Version || c.Old != nil && c.Old.Err != nil) {
			delete(f.byKey, c.Object().Key)
		}
	}
}

func (f *failures) all() map[string]Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.byKey)
}
