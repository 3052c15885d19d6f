package controller

import (
	"errors"
	"fmt"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/queue"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/store"
)

// Handler is told what happens to a collection. Its methods are called one at a time, from Run's goroutine, after the
// store has changed. The objects are shared and immutable.
type Handler interface {
	// OnAdd tells of an object that the store did not have. isInInitialList is true for those of the first list.
	OnAdd(obj *object.Object, isInInitialList bool)
	// OnUpdate tells of a newer state, or of the same one after a relist or a resync: compare the versions.
	OnUpdate(old, obj *object.Object)
	// OnDelete tells that an object is gone. Where its end was not seen, deleted.FinalStateUnknown is true and
	// deleted.Object is the newest state that was seen, nil if there is none (deleted.NoObject).
	OnDelete(deleted Delta)
}

// HandlerFuncs is a [Handler] made of functions; those that are nil are left out.
type HandlerFuncs struct {
	AddFunc    func(obj *object.Object, isInInitialList bool)
	UpdateFunc func(old, obj *object.Object)
	DeleteFunc func(deleted Delta)
}

// OnAdd calls AddFunc.
func (h HandlerFuncs) OnAdd(obj *object.Object, isInInitialList bool) {
	if h.AddFunc != nil {
		h.AddFunc(obj, isInInitialList)
	}
}

// OnUpdate calls UpdateFunc.
func (h HandlerFuncs) OnUpdate(old, obj *object.Object) {
	if h.UpdateFunc != nil {
		h.UpdateFunc(old, obj)
	}
}

// OnDelete calls DeleteFunc.
func (h HandlerFuncs) OnDelete(deleted Delta) {
	if h.DeleteFunc != nil {
		h.DeleteFunc(deleted)
	}
}

// Options configures [NewInformer]. The zero value is valid.
type Options struct {
	// Reflector configures the reflector: name, expected kind, resync period and the rest.
	Reflector reflector.Options
	// Store configures the store: layout, indexes, the key function.
	Store store.Options
	// Transform, if set, runs exactly once per object received, before it is queued. It returns a new object of the same
	// key. Where it fails, the object is kept as it came, marked with the error in its Err.
	Transform func(obj *object.Object) (*object.Object, error)
	// ErrorHandler is told, from Run's goroutine, of objects that are marked with an error, and of those that the store
	// refuses: these are left out and not told to the handler, and the next ones go on. With Store.OnError set, the store
	// refuses nothing.
	ErrorHandler func(key string, err error)
}

// NewInformer returns a store that mirrors the collection while the controller runs, and the controller, which tells
// handler of every change. The store is the caller's to read; only the controller writes it.
func NewInformer(lw source.ListerWatcher, handler Handler, options Options) (*store.Store, *Controller) {
	s := store.New(options.Store)
	key := options.Store.KeyFunc
	if key == nil {
		key = metaKey
	}
	q := queue.NewDeltaFIFO(key, queue.Options[*object.Object]{KnownObjects: known{s}, Transform: tolerant(options.Transform)})
	return s, New(Config{
		Queue:         q,
		ListerWatcher: lw,
		Process: func(deltas Deltas, initial bool) error {
			return apply(s, handler, deltas, initial)
		},
		Reflector:    options.Reflector,
		ErrorHandler: options.ErrorHandler,
	})
}

// NewIndexerInformer is [NewInformer] with indexes, in place of those in options.
func NewIndexerInformer(lw source.ListerWatcher, handler Handler, indexers store.Indexers, options Options) (*store.Indexer, *Controller) {
	options.Store.Indexers = indexers
	return NewInformer(lw, handler, options)
}

func metaKey(obj *object.Object) (string, error) {
	if obj.Key == "" {
		return "", store.ErrNoKey
	}
	return obj.Key, nil
}

// tolerant keeps one object that a transform fails for from failing the list that it came with.
func tolerant(transform func(*object.Object) (*object.Object, error)) func(*object.Object) (*object.Object, error) {
	if transform == nil {
		return nil
	}
	return func(obj *object.Object) (*object.Object, error) {
		transformed, err := transform(obj)
		if err != nil {
			failed := *obj
			failed.Err = fmt.Errorf("transform: %w", err)
			return &failed, nil
		}
		return transformed, nil
	}
}

// known lets the queue read the store.
type known struct{ *store.Store }

func (k known) GetByKey(key string) (*object.Object, bool, error) {
	obj, exists := k.Store.GetByKey(key)
	return obj, exists, nil
}

// apply brings the store up to date and tells the handler, delta by delta. One that fails does not stop the next.
func apply(s *store.Store, handler Handler, deltas Deltas, initial bool) error {
	var errs []error
	for _, d := range deltas {
		if err := applyOne(s, handler, d, initial); err != nil {
			errs = append(errs, fmt.Errorf("%s of %s: %w", d.Type, d.Key, err))
		}
	}
	return errors.Join(errs...)
}

func applyOne(s *store.Store, handler Handler, d Delta, initial bool) error {
	old, exists := s.GetByKey(d.Key)
	if d.Type == queue.Deleted {
		gone := d.Object
		if d.NoObject {
			gone = old
		}
		if exists {
			if err := s.Delete(gone); err != nil {
				return err
			}
		}
		handler.OnDelete(d)
		return nil
	}
	if err := s.Update(d.Object); err != nil {
		return err
	}
	// The store's layout may keep another form of the object than the one that came.
	obj, _ := s.GetByKey(d.Key)
	if exists {
		handler.OnUpdate(old, obj)
	} else {
		handler.OnAdd(obj, initial)
	}
	if d.Type == queue.Sync {
		return nil // what is wrong with it has been told
	}
	return d.Object.Err
}
