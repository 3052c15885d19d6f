package store_test

import (
	"errors"
	"testing"
	"unsafe"

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
