package object_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/object"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a value that a test can tell apart from its copies.
type counter struct{ N int }

type counterCodec struct{}

func (counterCodec) Decode(_ object.Encoding, raw []byte) (any, error) {
	c := new(counter)
	return c, json.Unmarshal(raw, c)
}

func (counterCodec) Encode(v any) (object.Encoding, []byte, error) {
	raw, err := json.Marshal(v)
	return object.JSON, raw, err
}

func (counterCodec) Copy(v any) any { c := *v.(*counter); return &c }

func (counterCodec) Meta(any) (object.Meta, error) { return object.Meta{}, nil }

func encoded(raw string) *object.Object {
	return &object.Object{Meta: object.Meta{Key: "a/b"}, Encoding: object.JSON, Raw: []byte(raw), Codec: counterCodec{}}
}

// Ensures that Decode gives a private value each time, from bytes and from a value, and View the shared one.
func TestObject_Decode_Private(t *testing.T) {
	o := encoded(`{"N":3}`)
	live := o.Live()
	for name, o := range map[string]*object.Object{"encoded": o, "live": live} {
		v, err := o.Decode()
		if err != nil {
			t.Fatal(err)
		}
		v.(*counter).N = 99
		if again, _ := o.Decode(); again.(*counter).N != 3 {
			t.Errorf("%s: a change of one value shows in the next", name)
		}
	}
	one, _ := live.View()
	two, _ := live.View()
	if one != two {
		t.Error("the views of a live object are not shared")
	}
	if live.Raw != nil || live.Size() != 7 || o.Raw == nil {
		t.Errorf("Live kept its bytes, lost their size, or changed the original: %d", live.Size())
	}
	if live.Live() != live {
		t.Error("Live of a live object is another one")
	}
}

// Ensures that an object that does not decode keeps its bytes, names itself in the error, and stays marked.
func TestObject_Live_Bad(t *testing.T) {
	live := encoded(`{"N":"three"}`).Live()
	if live.Err == nil || !strings.Contains(live.Err.Error(), "a/b") || live.Raw == nil || live.Value != nil {
		t.Errorf("%+v", live)
	}
	none := &object.Object{Meta: object.Meta{Key: "a/b"}, Encoding: object.JSON, Raw: []byte("{}")}
	if _, err := none.Decode(); !errors.Is(err, object.ErrNoCodec) {
		t.Errorf("without a codec: %v", err)
	}
	none.Encoding, none.Raw = object.None, nil
	if _, _, err := none.Encoded(); !errors.Is(err, object.ErrNoCodec) {
		t.Errorf("without a codec: %v", err)
	}
}

// Ensures that Encoded gives the bytes as they are, and encodes a value that has none.
func TestObject_Encoded(t *testing.T) {
	o := encoded(`{"N":3}`)
	_, raw, _ := o.Encoded()
	if &raw[0] != &o.Raw[0] {
		t.Error("the bytes were copied")
	}
	enc, raw, err := o.Live().Encoded()
	if enc != object.JSON || string(raw) != `{"N":3}` || err != nil {
		t.Errorf("%v %s %v", enc, raw, err)
	}
}

// Ensures that versions compare as the numbers that Kubernetes promises, and not at all otherwise.
func TestCompareVersions(t *testing.T) {
	for _, tc := range []struct {
		a, b  string
		order int
		ok    bool
	}{
		{"9", "10", -1, true},
		{"10", "9", 1, true},
		{"7", "7", 0, true},
		{"18446744073709551616", "9", 1, true},
		{"", "1", 0, false},
		{"1", "", 0, false},
		{"0", "1", 0, false},
		{"01", "1", 0, false},
		{"a", "1", 0, false},
		{"-1", "1", 0, false},
	} {
		order, ok := object.CompareVersions(tc.a, tc.b)
		if sign(order) != tc.order || ok != tc.ok {
			t.Errorf("%q to %q: %d %v", tc.a, tc.b, order, ok)
		}
	}
}

func sign(n int) int {
	switch {
	case n < 0:
		return -1
	case n > 0:
		return 1
	}
	return 0
}

// Ensures that labels made in any order are found, and that a selector can be matched against them.
func TestLabels(t *testing.T) {
	ls := object.LabelsFromMap(map[string]string{"tier": "cache", "app": "web", "empty": ""})
	if ls.String() != "app=web,empty=,tier=cache" {
		t.Errorf("not sorted: %s", ls)
	}
	if v, ok := ls.Lookup("empty"); v != "" || !ok || ls.Has("none") || ls.Get("app") != "web" {
		t.Error("lookup")
	}
	var _ labels.Labels = ls
	for text, want := range map[string]bool{"app=web": true, "app!=web": false, "!none": true, "tier in (cache,db)": true} {
		sel, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if sel.Matches(ls) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	if m := ls.Map(); len(m) != 3 || m["tier"] != "cache" {
		t.Errorf("%v", m)
	}
	if object.LabelsFromMap(nil) != nil || object.Labels(nil).Map() != nil {
		t.Error("no labels are nil")
	}
}

// Ensures that keys split and join, and the controller is found among the owners.
func TestMeta(t *testing.T) {
	m := object.Meta{Key: "ns/name", Owners: []object.Owner{{Name: "one"}, {Name: "two", Controller: true}}}
	if m.Namespace() != "ns" || m.Name() != "name" || m.Controller().Name != "two" {
		t.Errorf("%+v", m)
	}
	m = object.Meta{Key: "node"}
	if m.Namespace() != "" || m.Name() != "node" || m.Controller() != nil {
		t.Errorf("%+v", m)
	}
	for _, key := range []string{"a/b", "b"} {
		if got := object.JoinKey(object.SplitKey(key)); got != key {
			t.Errorf("%s became %s", key, got)
		}
	}
}

// Metadata is there without decoding; the value when it is asked for.
func ExampleObject() {
	o := &object.Object{
		Meta:     object.Meta{Key: "prod/web", Version: "7", Labels: object.LabelsFromMap(map[string]string{"app": "web"})},
		Encoding: object.JSON, Raw: []byte(`{"N":3}`), Codec: counterCodec{},
	}
	fmt.Println(o.Namespace(), o.Name(), o.Version, o.Labels.Get("app"))
	v, err := o.Decode()
	fmt.Println(v.(*counter).N, err)
	// Output:
	// prod web 7 web
	// 3 <nil>
}
