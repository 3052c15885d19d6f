package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that what is added, updated and deleted is what Get, GetByKey, List and ListKeys show, in key order.
func TestStore_Add_ThenRead(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout})
		must(t, s.Add(obj("b/y", "1", "p")))
		must(t, s.Add(obj("a/z", "2", "q")))
		must(t, s.Update(obj("a/x", "3", "r"))) // an update of what is not there adds it
		must(t, s.Update(obj("b/y", "4", "s")))
		want(t, "List", show(s.List()...), "a/x@3[r] a/z@2[q] b/y@4[s]")
		want(t, "ListKeys", strings.Join(s.ListKeys(), " "), "a/x a/z b/y")
		got, ok, err := s.Get(named("b/y"))
		if err != nil || !ok {
			t.Fatalf("Get = %v, %v", ok, err)
		}
		want(t, "Get", show(got), "b/y@4[s]")
		must(t, s.Delete(named("a/z")))
		must(t, s.Delete(named("a/z"))) // deleting what is not there does nothing
		if got, ok := s.GetByKey("a/z"); ok || got != nil {
			t.Fatalf("GetByKey of a deleted key = %v, %v", got, ok)
		}
		want(t, "List", show(s.List()...), "a/x@3[r] b/y@4[s]")
	})
}

// Ensures that Raw gives back the very object, and Live one that is decoded and has no bytes.
func TestStore_Add_Layout(t *testing.T) {
	o := obj("a", "1", "p")
	raw := store.New(store.Options{Layout: store.Raw})
	must(t, raw.Add(o))
	if got, _ := raw.GetByKey("a"); got != o {
		t.Fatalf("Raw returned another object: %v", got)
	}
	live := store.New(store.Options{Layout: store.Live})
	must(t, live.Add(o))
	got, _ := live.GetByKey("a")
	if got.Value == nil || got.Raw != nil || got.Encoding != object.None {
		t.Fatalf("Live returned %+v, want a value and no bytes", got)
	}
	if o.Value != nil || o.Raw == nil {
		t.Fatal("Live changed the object that it was given")
	}
}

// Ensures that an object with nothing to decode can be stored in every layout.
func TestStore_Add_MetadataOnly(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout})
		must(t, s.Add(named("a")))
		if got, ok := s.GetByKey("a"); !ok || got.Err != nil {
			t.Fatalf("GetByKey = %+v, %v", got, ok)
		}
	})
}

// Ensures that a key function that fails or panics makes the call fail with an error that wraps the cause and names the
// object, and that nothing changes; the same for an object without a key. [case 7]
func TestStore_KeyFunc_Fails(t *testing.T) {
	for name, fn := range map[string]func(o *object.Object) (string, error){
		"error": func(o *object.Object) (string, error) { return "k", errFunc },
		"panic": func(o *object.Object) (string, error) { panic(errFunc) },
	} {
		t.Run(name, func(t *testing.T) {
			s := store.New(store.Options{KeyFunc: func(o *object.Object) (string, error) {
				if o.Key == "bad" {
					return fn(o)
				}
				return o.Key, nil
			}})
			must(t, s.Add(obj("good", "1")))
			stage := s.Stage(0, false)
			_, _, getErr := s.Get(named("bad"))
			_, prepareErr := s.Prepare(named("bad"))
			for call, err := range map[string]error{
				"Add": s.Add(named("bad")), "Update": s.Update(named("bad")), "Delete": s.Delete(named("bad")),
				"Replace": s.Replace([]*object.Object{named("new"), named("bad")}, "2"), "Get": getErr, "Prepare": prepareErr,
				"Stage.Add": stage.Add(named("bad")), "Stage.Delete": stage.Delete(named("bad")),
			} {
				if !errors.Is(err, errFunc) || !strings.Contains(err.Error(), `"bad"`) {
					t.Errorf("%s: error %v, want one that wraps the cause and names the object", call, err)
				}
			}
			want(t, "ListKeys", strings.Join(s.ListKeys(), " "), "good")
			must(t, s.Resync()) // never asks for a key
		})
	}
	s := store.New(store.Options{})
	for _, o := range []*object.Object{nil, {}} {
		if err := s.Add(o); !errors.Is(err, store.ErrNoKey) {
			t.Errorf("Add(%v): %v, want ErrNoKey", o, err)
		}
	}
	s = store.New(store.Options{KeyFunc: func(o *object.Object) (string, error) { return o.UID, nil }})
	must(t, s.Add(obj("a", "1")))
	if _, ok := s.GetByKey("uid-a"); !ok {
		t.Error("the object is not under the key function's key")
	}
}

// Ensures that Replace makes the store exactly the list, the last of a key counting, with indexes and version.
func TestStore_Replace_Exactly(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		must(t, s.Replace([]*object.Object{obj("a", "1", "p"), obj("b", "2", "p"), obj("c", "3", "q")}, "3"))
		before := s.Snapshot()
		must(t, s.Replace([]*object.Object{obj("b", "2", "r"), obj("d", "4", "p"), obj("d", "5", "s")}, "6"))
		want(t, "List", show(s.List()...), "b@2[r] d@5[s]") // b has the same version and other content
		wantBy(t, s, "v", "p", "")
		wantBy(t, s, "v", "q", "")
		wantBy(t, s, "v", "r", "b@2[r]")
		wantBy(t, s, "v", "s", "d@5[s]")
		want(t, "version", s.LastStoreSyncResourceVersion(), "6")
		if got := s.Snapshot().Seq() - before.Seq(); got != 1 {
			t.Errorf("Replace took %d commits, want 1", got)
		}
		want(t, "earlier snapshot", showSeq(before.All()), "a@1[p] b@2[p] c@3[q]")
		must(t, s.Replace(nil, "7"))
		if s.Snapshot().Len() != 0 {
			t.Error("Replace by nothing left something")
		}
	})
}

// Ensures that the version follows Replace and Bookmark exactly, and single objects forward only.
func TestStore_LastStoreSyncResourceVersion_Moves(t *testing.T) {
	s := store.New(store.Options{})
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, ""},
		{func() error { return s.Replace(nil, "10") }, "10"},
		{func() error { return s.Add(obj("a", "12")) }, "12"},
		{func() error { return s.Add(obj("b", "9")) }, "12"},
		{func() error { return s.Add(obj("b", "")) }, "12"},
		{func() error { return s.Delete(obj("b", "100")) }, "100"},
		{func() error { return s.Bookmark("120") }, "120"},
		{func() error { return s.Update(obj("a", "opaque")) }, "opaque"},
		{func() error { return s.Bookmark("7") }, "7"},
	} {
		must(t, step.do())
		want(t, "version", s.LastStoreSyncResourceVersion(), step.want)
		want(t, "snapshot's version", s.Snapshot().Version(), step.want)
	}
}

// Ensures that an object is found under exactly its current values, and that no empty value sets stay behind.
func TestStore_Update_IndexValues(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue, "ns": byNamespace}})
		must(t, s.Add(obj("n/other", "1", "b")))
		all := []string{"a", "b", "c", ""}
		for i, values := range [][]string{{"a"}, {"a", "b"}, {"b", "a", "b"}, {"a"}, {}, {"c", ""}, {"b"}} {
			version := fmt.Sprint(i + 2)
			must(t, s.Update(obj("n/x", version, values...)))
			for _, value := range all {
				expect := ""
				if value == "b" {
					expect = "n/other@1[b]"
				}
				for _, v := range values {
					if v == value {
						expect = strings.TrimSpace(expect + " " + show(obj("n/x", version, values...)))
						break
					}
				}
				wantBy(t, s, "v", value, expect)
			}
			if keys, _ := s.IndexKeys("ns", "n"); len(keys) != 2 {
				t.Fatalf("IndexKeys(ns, n) = %v", keys)
			}
		}
		must(t, s.Delete(named("n/x")))
		wantBy(t, s, "v", "b", "n/other@1[b]")
		must(t, s.Delete(named("n/other")))
		if values, _ := s.ListIndexFuncValues("v"); len(values) != 0 {
			t.Errorf("values %q are left of an empty store", values)
		}
	})
}

// Ensures that an impure index function leaves nothing behind: what it returned when the object was stored is removed,
// whatever it would return now.
func TestStore_Update_ImpureIndex(t *testing.T) {
	n := 0
	s := store.New(store.Options{Indexers: store.Indexers{"n": func(*object.Object) ([]string, error) {
		n++
		return []string{fmt.Sprint(n)}, nil
	}}})
	o := obj("a", "1")
	for range 3 {
		must(t, s.Update(o))
	}
	values, _ := s.ListIndexFuncValues("n")
	want(t, "values", strings.Join(values, " "), "3")
	must(t, s.Delete(o))
	if values, _ := s.ListIndexFuncValues("n"); len(values) != 0 {
		t.Errorf("values %q are left of a deleted object", values)
	}
}

// Ensures that Index accepts an object with nothing but metadata and returns each hit once.
func TestStore_Index_Once(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue, "ns": byNamespace}})
		must(t, s.Add(obj("n/x", "1", "a", "b")))
		must(t, s.Add(obj("n/y", "2", "b", "c")))
		must(t, s.Add(obj("m/z", "3", "c")))
		got, err := s.Index("ns", named("n/"))
		must(t, err)
		want(t, "Index(ns)", show(got...), "n/x@1[a,b] n/y@2[b,c]")
		got, err = s.Index("v", obj("not/stored", "", "b", "a", "b"))
		must(t, err)
		want(t, "Index(v)", show(got...), "n/x@1[a,b] n/y@2[b,c]")
		if _, err := s.Index("v", bad("q", "1")); err == nil || !strings.Contains(err.Error(), `q: index "v"`) {
			t.Errorf("Index of an object that the function fails for: %v", err)
		}
		if _, err := s.Index("v", nil); err == nil {
			t.Error("Index of nil succeeded")
		}
	})
}

// Ensures that an index that does not exist is an error of every call that names one.
func TestStore_ByIndex_Unknown(t *testing.T) {
	s := store.New(store.Options{})
	calls := map[string]func() error{
		"Index":               func() error { _, err := s.Index("nope", named("a")); return err },
		"IndexKeys":           func() error { _, err := s.IndexKeys("nope", "v"); return err },
		"ByIndex":             func() error { _, err := s.ByIndex("nope", "v"); return err },
		"ListIndexFuncValues": func() error { _, err := s.ListIndexFuncValues("nope"); return err },
		"By":                  func() error { _, err := s.Snapshot().By("nope", "v"); return err },
		"Where":               func() error { _, err := s.Snapshot().Where(store.Equals("nope", "v")); return err },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, store.ErrUnknownIndex) || !strings.Contains(err.Error(), `"nope"`) {
			t.Errorf("%s: %v, want ErrUnknownIndex with the name", name, err)
		}
	}
}

// Ensures that a layout that does not exist is noticed at once, and that layouts have names.
func TestNew_UnknownLayout(t *testing.T) {
	want(t, "names", fmt.Sprint(store.Lean, store.Raw, store.Live, store.Layout(9)), "lean raw live layout(9)")
	defer func() {
		if recover() == nil {
			t.Error("New accepted an unknown layout")
		}
	}()
	store.New(store.Options{Layout: 9})
}
