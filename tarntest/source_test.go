package tarntest_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/google/go-cmp/cmp"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/tarntest"
)

// Ensures that every change gets the next version, in the metadata and in the encoded form, and that the value given
// stays as it was.
func TestSource_Add_AssignsVersions(t *testing.T) {
	s := newSource(tarntest.StartAt(41))
	equal(t, "version of the empty collection", s.Version(), "41")

	given := widget("default/a", 1, "app", "web")
	o := s.Add(given)
	equal(t, "key@version", o.Key+"@"+o.Version, "default/a@42")
	equal(t, "version of the given value", given.ResourceVersion, "")
	equal(t, "label", o.Labels.Get("app"), "web")

	v, err := o.Decode()
	if err != nil {
		t.Fatal(err)
	}
	w := v.(*Widget)
	equal(t, "version in the value", w.ResourceVersion, "42")
	equal(t, "uid in the value", string(w.UID), o.UID)
	equal(t, "creation in the value", w.CreationTimestamp.Unix(), o.Created)
	equal(t, "size", w.Size, 1)

	u := s.Update(widget("default/a", 2))
	equal(t, "key@version after the update", u.Key+"@"+u.Version, "default/a@43")
	equal(t, "uid after the update", u.UID, o.UID)
	equal(t, "creation after the update", u.Created, o.Created)
	equal(t, "version of the earlier object", o.Version, "42")

	d := s.Delete("default/a")
	equal(t, "key@version of the deletion", d.Key+"@"+d.Version, "default/a@44")
	equal(t, "objects left", len(s.Objects()), 0)
	if again := s.Add(widget("default/a", 1)); again.UID == o.UID || again.UID == "" {
		t.Errorf("an object of the same name has the uid %q of the earlier one", again.UID)
	}
}

// Ensures that uid and creation time are left alone where the value has them.
func TestSource_Add_KeepsIdentity(t *testing.T) {
	s := newSource()
	w := widget("a", 1)
	w.UID, w.CreationTimestamp = "mine", metav1.Unix(1000, 0)
	o := s.Add(w)
	equal(t, "uid", o.UID, "mine")
	equal(t, "created", o.Created, int64(1000))
	w.UID = "other"
	equal(t, "uid after the update", s.Update(w).UID, "other")
}

// Ensures that JSON which does not fit the codec's type can be stored, and is an error only for who decodes it.
func TestSource_Add_RawJSON(t *testing.T) {
	s := newSource()
	o := s.Add([]byte(`{"metadata":{"name":"bad","namespace":"default","labels":{"a":"b"}},"size":"large"}`))
	equal(t, "key@version", o.Key+"@"+o.Version, "default/bad@2")
	if _, err := o.Decode(); err == nil {
		t.Error("a string decoded into an int")
	}
	if len(o.Raw) == 0 || o.Labels.Get("a") != "b" || o.UID == "" {
		t.Errorf("stored %+v", o)
	}
}

// Ensures that an object is taken as it is but for its version, which its value carries too, and is itself not changed.
func TestSource_Add_Object(t *testing.T) {
	codec := tarntest.JSON[Widget]()
	s := tarntest.NewSource(nil)
	value := widget("default/a", 7)
	tests := map[string]*object.Object{
		"no bytes":     {Meta: object.Meta{Key: "a", UID: "u", Version: "x", Created: 5}, Value: value, Codec: codec},
		"no codec":     {Meta: object.Meta{Key: "b", UID: "u", Created: 5}, Encoding: object.Protobuf, Raw: []byte{1}},
		"broken bytes": {Meta: object.Meta{Key: "c", UID: "u", Created: 5}, Encoding: object.JSON, Raw: []byte(`{"met`)},
		"undecodable":  {Meta: object.Meta{Key: "d", UID: "u", Created: 5}, Encoding: object.Protobuf, Raw: []byte{1}, Codec: codec},
	}
	for name, given := range tests {
		t.Run(name, func(t *testing.T) {
			before := *given
			o := s.Add(given)
			equal(t, "version", o.Version, s.Version())
			if diff := cmp.Diff(before, *given); diff != "" {
				t.Errorf("the given object changed: %s", diff)
			}
			equal(t, "bytes", string(o.Raw), string(given.Raw))
		})
	}
	for _, o := range s.Objects() {
		if o.Key == "a" {
			equal(t, "version in the value", o.Value.(*Widget).ResourceVersion, o.Version)
		}
	}
	equal(t, "version in the given value", value.ResourceVersion, "")
}

// Ensures that a test which uses a Source wrongly is told so.
func TestSource_Misuse_Panics(t *testing.T) {
	tests := map[string]func(s *tarntest.Source){
		"add what is there":         func(s *tarntest.Source) { s.Add(widget("a", 1)) },
		"add without a name":        func(s *tarntest.Source) { s.Add(&Widget{}) },
		"add another type":          func(s *tarntest.Source) { s.Add("a") },
		"add nil":                   func(s *tarntest.Source) { s.Add((*Widget)(nil)) },
		"add what is no JSON":       func(s *tarntest.Source) { s.Add([]byte("a")) },
		"update what is not there":  func(s *tarntest.Source) { s.Update(widget("b", 1)) },
		"delete what is not there":  func(s *tarntest.Source) { s.Delete("b") },
		"set the version back":      func(s *tarntest.Source) { s.SetVersion(1) },
		"start at 0":                func(*tarntest.Source) { tarntest.StartAt(0) },
		"add a value without codec": func(*tarntest.Source) { tarntest.NewSource(nil).Add(widget("a", 1)) },
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			s.Add(widget("a", 1))
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
				// The lock is free again.
				equal(t, "version", s.Version(), "2")
			}()
			f(s)
		})
	}
}

// Ensures that lists and events name the kind that was asked for.
func TestSource_Kind(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Widget"}
	s := newSource(tarntest.Kind(kind))
	s.Add(widget("a", 1))
	_, meta := list(t, s, metav1.ListOptions{})
	equal(t, "kind of the list", meta.GVK.String(), "example.org/v1, Kind=WidgetList")
	e, err := watch(t, s, metav1.ListOptions{}).Next()
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "kind of the event", e.GVK, kind)
	equal(t, "description", s.Describe(), "Widget of a test")
	equal(t, "description without a kind", newSource().Describe(), "")
}
