package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/controller"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

// recorder writes down what a handler is told, and what the store holds of the key then.
type recorder struct {
	store *store.Store
	mu    sync.Mutex
	log   []string
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *recorder) stored(key string) string {
	if o, ok := r.store.GetByKey(key); ok {
		return "stored@" + o.Version
	}
	return "not stored"
}

func (r *recorder) OnAdd(o *object.Object, initial bool) {
	r.note("add %s@%s %v, %s", o.Key, o.Version, initial, r.stored(o.Key))
}

func (r *recorder) OnUpdate(old, o *object.Object) {
	r.note("update %s@%s from %s, %s", o.Key, o.Version, old.Version, r.stored(o.Key))
}

func (r *recorder) OnDelete(d controller.Delta) {
	r.note("delete %s@%s %v, %s", d.Key, d.Object.Version, d.FinalStateUnknown, r.stored(d.Key))
}

// told returns what was told since it was last called.
func (r *recorder) told() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.log, "\n")
	r.log = nil
	return s
}

func TestNewInformer_Events(t *testing.T) {
	// The handler is told of each change after the store has changed: adds with isInInitialList, updates with what the
	// store had, deletes with the final state, or a tombstone where a relist found the object gone; a resync is an update.
	synctest.Test(t, func(t *testing.T) {
		src := newSource("a", "b")
		r := &recorder{}
		s, c := controller.NewInformer(src, r, controller.Options{Reflector: reflector.Options{
			ResyncPeriod: time.Hour,
			Backoff:      func() time.Duration { return time.Second },
		}})
		r.store = s
		stop := start(t, c)
		equal(t, "initial list", r.told(), "add a@2 true, stored@2\nadd b@3 true, stored@3")
		src.Add(newGadget("c", 1))
		src.Update(newGadget("a", 2))
		src.Delete("b")
		equal(t, "watch", r.told(), "add c@4 false, stored@4\nupdate a@5 from 2, stored@5\ndelete b@6 false, not stored")
		src.FailNext(tarntest.WatchVerb, errors.New("the network is gone"), errors.New("still gone"))
		src.Disconnect(errors.New("broken"))
		src.Delete("c")
		src.Expire()
		pass(time.Minute)
		equal(t, "relist", r.told(), "update a@5 from 5, stored@5\ndelete c@4 true, not stored")
		pass(time.Hour)
		equal(t, "resync", r.told(), "update a@5 from 5, stored@5")
		stop()
		equal(t, "stored", keys(s), []string{"a"})
	})
}

func TestNewIndexerInformer_Index(t *testing.T) {
	// The informer's store answers by the indexes given, also inside the handler.
	synctest.Test(t, func(t *testing.T) {
		bySize := store.Indexers{"size": func(o *object.Object) ([]string, error) {
			v, err := o.View()
			if err != nil {
				return nil, err
			}
			return []string{fmt.Sprint(v.(*gadget).Size)}, nil
		}}
		var s *store.Indexer
		var inside []string
		src := newSource("a", "b")
		s, c := controller.NewIndexerInformer(src, controller.HandlerFuncs{UpdateFunc: func(_, o *object.Object) {
			found, err := s.ByIndex("size", "2")
			must(t, err)
			inside = append(inside, fmt.Sprint(o.Key, len(found)))
		}}, bySize, controller.Options{Store: store.Options{Layout: store.Live}})
		stop := start(t, c)
		src.Update(newGadget("b", 2))
		synctest.Wait()
		found, err := s.ByIndex("size", "1")
		must(t, err)
		equal(t, "found", []any{len(found), found[0].Key, inside}, []any{1, "a", []string{"b1"}})
		src.Delete("a")
		synctest.Wait()
		equal(t, "stored", keys(s), []string{"b"})
		stop()
	})
}

func TestNewInformer_StoreRefuses(t *testing.T) {
	// A change that the store refuses is reported with its key and type and not told to the handler; the rest goes on, the
	// list it came with included.
	synctest.Test(t, func(t *testing.T) {
		src := newSource("bad", "good")
		r := &recorder{}
		var reported []string
		s, c := controller.NewIndexerInformer(src, r, store.Indexers{"x": func(o *object.Object) ([]string, error) {
			if o.Key == "bad" {
				return nil, errors.New("no index value")
			}
			return nil, nil
		}}, controller.Options{ErrorHandler: func(key string, err error) { reported = append(reported, key+": "+err.Error()) }})
		r.store = s
		stop := start(t, c)
		equal(t, "told", r.told(), "add good@3 true, stored@3")
		if len(reported) != 1 || !strings.HasPrefix(reported[0], "bad: Replaced of bad: ") || !strings.HasSuffix(reported[0], "no index value") {
			t.Fatalf("reported %q", reported)
		}
		if !c.HasSynced() {
			t.Fatal("not synced")
		}
		stop()
	})
}

func TestNewInformer_Transform(t *testing.T) {
	// A transform runs once per object received. One that fails leaves its object marked and reported, once; the list that
	// it came with goes on.
	synctest.Test(t, func(t *testing.T) {
		src := newSource("bad", "good")
		calls := map[string]int{}
		var reported []string
		s, c := controller.NewInformer(src, controller.HandlerFuncs{}, controller.Options{
			Reflector: reflector.Options{ResyncPeriod: time.Minute},
			Transform: func(o *object.Object) (*object.Object, error) {
				calls[o.Key]++
				if o.Key == "bad" {
					return nil, errors.New("boom")
				}
				changed := *o
				changed.UID += "+"
				return &changed, nil
			},
			ErrorHandler: func(key string, err error) { reported = append(reported, key+": "+err.Error()) },
		})
		stop := start(t, c)
		pass(10 * time.Minute)
		good, _ := s.GetByKey("good")
		bad, _ := s.GetByKey("bad")
		if !strings.HasSuffix(good.UID, "+") || strings.HasSuffix(good.UID, "++") || good.Err != nil || bad.Err == nil {
			t.Fatalf("good %q (%v), bad %v", good.UID, good.Err, bad.Err)
		}
		equal(t, "calls", calls, map[string]int{"bad": 1, "good": 1})
		equal(t, "reported", reported, []string{"bad: Replaced of bad: transform: boom"})
		src.Delete("good")
		src.Delete("bad")
		synctest.Wait()
		equal(t, "stored", keys(s), []string{})
		stop()
	})
}

func TestNewInformer_KeyFunc(t *testing.T) {
	// A key function of the store's names the objects in the queue and in the tombstones, too.
	synctest.Test(t, func(t *testing.T) {
		src := newSource("a", "b")
		var deleted []string
		s, c := controller.NewInformer(src, controller.HandlerFuncs{DeleteFunc: func(d controller.Delta) { deleted = append(deleted, d.Key) }}, controller.Options{
			Store:     store.Options{KeyFunc: func(o *object.Object) (string, error) { return "gadget:" + o.Key, nil }},
			Reflector: reflector.Options{Backoff: func() time.Duration { return time.Second }},
		})
		stop := start(t, c)
		equal(t, "stored", keys(s), []string{"gadget:a", "gadget:b"})
		src.Delete("a")
		synctest.Wait()
		equal(t, "deleted", deleted, []string{"gadget:a"})
		stop()
	})
}

func TestNewInformer_NoKey(t *testing.T) {
	// An object without a key is an error that names the cause, not an entry under "".
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		var errs []error
		s, c := controller.NewInformer(src, controller.HandlerFuncs{}, controller.Options{Reflector: reflector.Options{
			ErrorHandler: func(_ string, _ int, err error) { errs = append(errs, err) },
		}})
		stop := start(t, c)
		src.Send(source.Event{Type: source.Added, Object: &object.Object{Meta: object.Meta{Version: "2"}}})
		synctest.Wait()
		if len(errs) != 1 || !errors.Is(errs[0], store.ErrNoKey) || len(s.ListKeys()) != 0 {
			t.Fatalf("errors %v, stored %v", errs, s.ListKeys())
		}
		stop()
	})
}
