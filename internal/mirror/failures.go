package mirror

import (
	"maps"
	"sync"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Failure is an object that could not be decoded, transformed or indexed. It is stored nevertheless, marked.
type Failure struct {
	Key, Version string
	Err          error
}

// failures are the marked objects. One is reported once per version, however often it is tried again.
type failures struct {
	report func(Failure)

	mu      sync.Mutex
	marked  map[string]Failure // what is stored, by key
	arrived map[string]Failure // what has been reported on its way in and is not stored yet
}

// note reports an object that is on its way into the store.
func (f *failures) note(obj *object.Object, err error) {
	f.mu.Lock()
	known := f.knows(obj)
	if !known {
		if f.arrived == nil {
			f.arrived = make(map[string]Failure)
		}
		f.arrived[obj.Key] = Failure{Key: obj.Key, Version: obj.Version, Err: err}
	}
	f.mu.Unlock()
	if !known {
		f.tell(obj, err)
	}
}

// tell reports a failure. No lock is held: what listens is the user's.
func (f *failures) tell(obj *object.Object, err error) {
	if f.report != nil {
		f.report(Failure{Key: obj.Key, Version: obj.Version, Err: err})
	}
}

// markRead marks what is stored and could not be read, and says whether that is news. The commit lock is held.
func (f *failures) markRead(obj *object.Object, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.knows(obj) {
		return false
	}
	f.mark(Failure{Key: obj.Key, Version: obj.Version, Err: err})
	return true
}

// has reports whether this version of the object is marked, or has been reported.
func (f *failures) has(obj *object.Object) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.knows(obj)
}

// knows is has with the lock held. Without a version nothing can be told.
func (f *failures) knows(obj *object.Object) bool {
	return obj.Version != "" && (f.marked[obj.Key].Version == obj.Version || f.arrived[obj.Key].Version == obj.Version)
}

// mark marks what is stored. f.mu is held.
func (f *failures) mark(failure Failure) {
	if f.marked == nil {
		f.marked = make(map[string]Failure)
	}
	f.marked[failure.Key] = failure
}

// committed brings the marks up to date with what is stored now. The commit lock is held.
func (f *failures) committed(changes []Change) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range changes {
		c := &changes[i]
		err := c.New.Err()
		if c.Kind == Deleted || err == nil {
			delete(f.marked, c.Key)
			continue
		}
		version := c.New.Version()
		f.mark(Failure{Key: c.Key, Version: version, Err: err})
		if f.arrived[c.Key].Version == version {
			delete(f.arrived, c.Key)
		}
	}
}

// settled marks those of the reported that are stored although no change says so (a new index failed for them), and
// forgets the others: a list that was committed has overtaken them. The commit lock is held.
func (f *failures) settled(stored store.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, failure := range f.arrived {
		if ref := stored.Ref(key); ref.Err() != nil && ref.Version() == failure.Version {
			f.mark(failure)
		}
	}
	clear(f.arrived)
}

func (f *failures) all() map[string]Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.marked)
}
