package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that the second of two index functions failing, by error or by panic, makes the call fail with an error that
// says which and wraps the cause, and leaves the store and every index as they were. [case 27]
func TestStore_Add_IndexFails(t *testing.T) {
	kinds := map[string]func() ([]string, error){
		"error":       func() ([]string, error) { return []string{"x"}, errFunc },
		"panic error": func() ([]string, error) { panic(errFunc) },
		"panic text":  func() ([]string, error) { panic("boom") },
	}
	for name, fail := range kinds {
		t.Run(name, func(t *testing.T) {
			eachLayout(t, func(t *testing.T, layout store.Layout) {
				s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"a": byValue, "z": func(o *object.Object) ([]string, error) {
					if o.Version == "bad" {
						return fail()
					}
					return []string{"all"}, nil
				}}})
				must(t, s.Add(obj("k", "1", "p")))
				before := s.Snapshot()
				for call, err := range map[string]error{
					"Add":     s.Add(obj("new", "bad", "q")),
					"Update":  s.Update(obj("k", "bad", "q")),
					"Replace": s.Replace([]*object.Object{obj("other", "2", "q"), obj("k", "bad", "q")}, "3"),
				} {
					var ie *store.IndexError
					if !errors.As(err, &ie) || ie.Index != "z" || ie.Version != "bad" {
						t.Fatalf("%s: %v, want an IndexError of index z", call, err)
					}
					if strings.Contains(name, "error") && !errors.Is(err, errFunc) {
						t.Errorf("%s: %v does not wrap the cause", call, err)
					}
					if strings.Contains(name, "panic") && !errors.Is(err, store.ErrPanic) {
						t.Errorf("%s: %v does not say that it was a panic", call, err)
					}
				}
				if s.Snapshot() != before {
					t.Error("a call that failed published something")
				}
				want(t, "List", show(s.List()...), "k@1[p]")
				wantBy(t, s, "a", "q", "")
				wantBy(t, s, "a", "p", "k@1[p]")
				wantBy(t, s, "z", "all", "k@1[p]")
			})
		})
	}
}

// Ensures that a tolerant store keeps an object that an index function fails for, marks it, leaves it out of that index
// only, and reports it once per version, while the rest of the list goes in. [case 27, in an informer]
func TestStore_Add_Tolerant(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		var reports []string
		s := store.New(store.Options{
			Layout:   layout,
			Indexers: store.Indexers{"v": byValue, "f": failing("k")},
			OnError: func(o *object.Object, err error) {
				var ie *store.IndexError
				if !errors.Is(err, errFunc) || !errors.As(err, &ie) || o.Err == nil {
					t.Errorf("reported %v of %+v", err, o)
				}
				reports = append(reports, o.Key+"@"+o.Version)
			},
		})
		list := []*object.Object{obj("j", "1", "p"), obj("k", "2", "p"), obj("l", "3", "p")}
		must(t, s.Replace(list, "3"))
		must(t, s.Replace(list, "4"))
		must(t, s.Add(obj("k", "2", "p")))
		wantBy(t, s, "v", "p", "j@1[p] k@2[p] l@3[p]")
		wantBy(t, s, "f", "x", "j@1[p] l@3[p]")
		got, _ := s.GetByKey("k")
		if !errors.Is(got.Err, errFunc) {
			t.Errorf("the stored object carries %v, want the error", got.Err)
		}
		if list[1].Err != nil {
			t.Error("the object that was given was changed")
		}
		must(t, s.Add(obj("k", "5", "q")))
		want(t, "reports", strings.Join(reports, " "), "k@2 k@5")
		must(t, s.Delete(obj("k", "6")))
		wantBy(t, s, "v", "q", "")
		wantBy(t, s, "f", "x", "j@1[p] l@3[p]")
	})
}

// Ensures that an object that does not decode makes the call fail in a store with the Live layout, and is kept with its
// bytes, marked and reported where the store is tolerant.
func TestStore_Add_Undecodable(t *testing.T) {
	strict := store.New(store.Options{Layout: store.Live})
	if err := strict.Add(bad("k", "1")); err == nil || !strings.Contains(err.Error(), "k: decode") {
		t.Errorf("Add: %v, want the decode error with the key", err)
	}
	if strict.Snapshot().Len() != 0 {
		t.Error("what could not be stored is stored")
	}
	reports := 0
	tolerant := store.New(store.Options{Layout: store.Live, OnError: func(*object.Object, error) { reports++ }})
	must(t, tolerant.Add(bad("k", "1")))
	must(t, tolerant.Add(bad("k", "1")))
	got, ok := tolerant.GetByKey("k")
	if !ok || got.Err == nil || got.Raw == nil || reports != 1 {
		t.Errorf("stored %v: %+v; %d reports, want it marked, with its bytes, and 1 report", ok, got, reports)
	}
	must(t, tolerant.Add(obj("k", "2", "p")))
	if got, _ := tolerant.GetByKey("k"); got.Err != nil {
		t.Error("the mark outlived the version that it was about")
	}
}

// Ensures that a codec that panics is one object's error.
func TestStore_Add_CodecPanics(t *testing.T) {
	o := obj("k", "1")
	o.Codec = panicking{}
	if err := store.New(store.Options{Layout: store.Live}).Add(o); !errors.Is(err, store.ErrPanic) {
		t.Errorf("Add: %v, want ErrPanic", err)
	}
	tolerant := store.New(store.Options{Layout: store.Live, OnError: func(*object.Object, error) {}})
	must(t, tolerant.Add(o))
	if got, _ := tolerant.GetByKey("k"); got == nil || !errors.Is(got.Err, store.ErrPanic) {
		t.Errorf("stored %+v, want it marked", got)
	}
}

type panicking struct{ codec }

func (panicking) Decode(object.Encoding, []byte) (any, error) { panic("boom") }

// Ensures that user code runs without a lock: index functions, the key function and OnError may read and write the store
// that calls them.
func TestStore_UserCode_Unlocked(t *testing.T) {
	var s *store.Store
	enter := func(o *object.Object) {
		if o.Key == "k" {
			_ = s.Add(obj("inner", fmt.Sprint(s.Snapshot().Seq())))
		}
	}
	s = store.New(store.Options{
		KeyFunc: func(o *object.Object) (string, error) { enter(o); return o.Key, nil },
		Indexers: store.Indexers{"v": func(o *object.Object) ([]string, error) {
			enter(o)
			if o.Key == "k" {
				return nil, errFunc
			}
			return nil, nil
		}},
		OnError: func(o *object.Object, _ error) { enter(o) },
	})
	must(t, s.Add(obj("k", "1")))
	must(t, s.AddIndexers(store.Indexers{"w": func(o *object.Object) ([]string, error) { enter(o); return nil, nil }}))
	want(t, "ListKeys", strings.Join(s.ListKeys(), " "), "inner k")
}
