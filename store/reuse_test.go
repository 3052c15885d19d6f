package store_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"
	"unsafe"
	"weak"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// lent returns o with its key, uid and version in memory that is overwritten when it is released, as a source lends it.
func lent(o *object.Object) *object.Object {
	var memory []byte
	lend := func(s string) string {
		b := []byte(s)
		memory = append(memory, b...)
		b = memory[len(memory)-len(b):]
		return unsafe.String(unsafe.SliceData(b), len(b))
	}
	memory = make([]byte, 0, len(o.Key)+len(o.UID)+len(o.Version))
	o.Key, o.UID, o.Version = lend(o.Key), lend(o.UID), lend(o.Version)
	raw := o.Raw
	o.Release = func() {
		for _, b := range [][]byte{memory, raw} {
			for i := range b {
				b[i] = '!'
			}
		}
	}
	return o
}

// Ensures that what one object was prepared in can be used for others, whose memory is lent: what was put, what the changes
// say, and errors keep nothing of the memory, nor of what was prepared in it before.
func TestStore_PrepareInto_Again(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue, "ns": byNamespace, "z": func(o *object.Object) ([]string, error) {
			if o.Version == "bad" {
				return nil, errFunc
			}
			return nil, nil
		}}})
		p := new(store.Prepared)
		var all []store.Change
		var failed error
		for _, o := range []*object.Object{
			obj("first/a", "1", "p", "q"), obj("first/b", "bad"), obj("other/x", "2"), obj("first/a", "3", "q"),
			obj("b", "4", "r", "s", "t"),
		} {
			o = lent(o)
			err := s.PrepareInto(p, o)
			o.Release()
			if err != nil {
				failed = err
				if p.Key() != "" || !p.Ref().IsZero() {
					t.Errorf("after an error it is of %q", p.Key())
				}
				continue
			}
			must(t, s.Write([]*store.Prepared{p}, func(tx *store.Txn) error {
				all = append(all, tx.Put(p, 0))
				return nil
			}))
		}
		want(t, "changes", showChanges(all), "+first/a@1[p,q] +other/x@2[] first/a@1[p,q]>first/a@3[q] +b@4[r,s,t]")
		want(t, "List", show(s.List()...), "b@4[r,s,t] first/a@3[q] other/x@2[]")
		wantBy(t, s, "v", "q", "first/a@3[q]")
		wantBy(t, s, "v", "p", "")
		wantBy(t, s, "v", "s", "b@4[r,s,t]")
		wantBy(t, s, "ns", "other", "other/x@2[]")
		var ie *store.IndexError
		if !errors.As(failed, &ie) || ie.Key != "first/b" || ie.Version != "bad" || ie.Index != "z" {
			t.Errorf("the error says %v", failed)
		}
		p.Reset()
		if p.Key() != "" || !p.Ref().IsZero() || p.Err() != nil {
			t.Errorf("after Reset it is of %q", p.Key())
		}
	})
}

// Ensures that memory that waits to be used again keeps nothing from being freed: index values of an object that was prepared,
// and what a transaction has deleted, however much that was.
func TestStore_Reuse_KeepsNothing(t *testing.T) {
	var texts []weak.Pointer[byte]
	watched := func(key string) *object.Object {
		o := obj(key, "1")
		text := []byte("a value in memory of the object's own")
		texts = append(texts, weak.Make(&text[0]))
		o.Labels = object.Labels{{Key: "k", Value: unsafe.String(&text[0], len(text))}}
		return o
	}
	byLabel := func(o *object.Object) ([]string, error) { return []string{o.Labels[0].Value}, nil }
	s := store.New(store.Options{Layout: store.Raw, Indexers: store.Indexers{"l": byLabel}})
	p := new(store.Prepared)
	must(t, s.PrepareInto(p, watched("alone")))
	p.Reset()

	const n, burst = 3000, 500
	for i := 0; i < n; i += burst {
		var objs []*object.Object
		for k := range burst {
			objs = append(objs, watched(fmt.Sprintf("ns/%04d", i+k)))
		}
		write(t, s, 1, objs)
	}
	must(t, s.Write(nil, func(tx *store.Txn) error { tx.DropScope(1); return nil }))
	runtime.GC()
	kept := 0
	for _, text := range texts {
		if text.Value() != nil {
			kept++
		}
	}
	if kept > 0 {
		t.Errorf("%d of %d objects are not freed", kept, len(texts))
	}
	runtime.KeepAlive(s)
	runtime.KeepAlive(p)
}

// keyError is what an index function may return.
type keyError struct{ key string }

func (e *keyError) Error() string { return "cannot index " + e.key }

// Ensures that an index function's own error keeps nothing of memory that was lent.
func TestStore_Add_ErrorOfLent(t *testing.T) {
	var told error
	s := store.New(store.Options{
		OnError:  func(_ *object.Object, err error) { told = err },
		Indexers: store.Indexers{"f": func(o *object.Object) ([]string, error) { return nil, &keyError{o.Key} }},
	})
	o := lent(obj("ns/a", "1"))
	must(t, s.Add(o))
	o.Release()
	for _, err := range []error{told, s.Snapshot().Ref("ns/a").Err()} {
		var ke *keyError
		if !errors.As(err, &ke) || ke.key != "ns/a" {
			t.Errorf("the error is %v", err)
		}
	}
}

// Ensures that an object that an index added later fails for is counted as what it is kept as, and not at all once it is gone.
func TestStore_Stats_Failed(t *testing.T) {
	s := store.New(store.Options{OnError: func(*object.Object, error) {}})
	must(t, s.Add(obj("a", "1")))
	must(t, s.AddIndexers(store.Indexers{"f": func(*object.Object) ([]string, error) { return nil, errFunc }}))
	if st := s.Stats(); st.AsIs != 1 || st.Alone != 0 {
		t.Errorf("%+v", st)
	}
	must(t, s.Delete(obj("a", "1")))
	if st := s.Stats(); st.AsIs != 0 || st.Alone != 0 || st.Kept != 0 {
		t.Errorf("when it is gone: %+v", st)
	}
}
