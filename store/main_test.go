package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// layouts are what every test of behaviour runs against.
var layouts = []store.Layout{store.Lean, store.Raw, store.Live}

// eachLayout runs a test once per layout.
func eachLayout(t *testing.T, test func(t *testing.T, layout store.Layout)) {
	for _, layout := range layouts {
		t.Run(layout.String(), func(t *testing.T) { test(t, layout) })
	}
}

// thing is what the objects of these tests decode to.
type thing struct {
	Values []string `json:"values,omitempty"`
	Node   string   `json:"node,omitempty"`
}

type codec struct{}

func (codec) Decode(_ object.Encoding, raw []byte) (any, error) {
	v := new(thing)
	return v, json.Unmarshal(raw, v)
}

func (codec) Encode(value any) (object.Encoding, []byte, error) {
	raw, err := json.Marshal(value)
	return object.JSON, raw, err
}

func (codec) Copy(value any) any {
	c := *value.(*thing)
	c.Values = slices.Clone(c.Values)
	return &c
}

func (codec) Meta(any) (object.Meta, error) { return object.Meta{}, errors.ErrUnsupported }

// obj makes an encoded object with the given values.
func obj(key, version string, values ...string) *object.Object {
	return encoded(key, version, thing{Values: values})
}

func encoded(key, version string, v thing) *object.Object {
	enc, raw, _ := codec{}.Encode(v)
	o := &object.Object{
		Meta:     object.Meta{Key: key, UID: "uid-" + key, Version: version},
		Encoding: enc, Codec: codec{},
	}
	o.Raw = append(metadataOf(o), raw[1:]...)
	if len(raw) == 2 {
		o.Raw = append(metadataOf(o)[:len(o.Raw)-2], '}') // no comma before nothing
	}
	return o
}

// metadataOf returns the beginning of an encoded object, up to where its other fields follow.
func metadataOf(o *object.Object) []byte {
	meta, _ := json.Marshal(map[string]string{"namespace": o.Namespace(), "name": o.Name(), "uid": o.UID, "resourceVersion": o.Version})
	return fmt.Appendf(nil, `{"metadata":%s,`, meta)
}

// bad makes an object that does not decode.
func bad(key, version string) *object.Object {
	o := obj(key, version)
	o.Raw = append(metadataOf(o), `"values":1}`...)
	return o
}

func named(key string) *object.Object { return &object.Object{Meta: object.Meta{Key: key}} }

// byValue is the index of thing.Values.
func byValue(o *object.Object) ([]string, error) {
	v, err := o.View()
	if err != nil {
		return nil, err
	}
	return v.(*thing).Values, nil
}

// byNode is the index of thing.Node.
func byNode(o *object.Object) ([]string, error) {
	v, err := o.View()
	if err != nil || v.(*thing).Node == "" {
		return nil, err
	}
	return []string{v.(*thing).Node}, nil
}

// byNamespace needs the metadata only.
func byNamespace(o *object.Object) ([]string, error) { return []string{o.Namespace()}, nil }

var errFunc = errors.New("the function's own error")

// failing returns an index function that fails for the given key.
func failing(key string) store.IndexFunc {
	return func(o *object.Object) ([]string, error) {
		if o.Key == key {
			return []string{"x"}, errFunc
		}
		return []string{"x"}, nil
	}
}

// show writes objects as "key@version[values]", separated by blanks.
func show(objs ...*object.Object) string {
	var out []string
	for _, o := range objs {
		values := "?"
		if v, err := o.View(); err == nil {
			values = strings.Join(v.(*thing).Values, ",")
		}
		out = append(out, fmt.Sprintf("%s@%s[%s]", o.Key, o.Version, values))
	}
	return strings.Join(out, " ")
}

func showSeq(objs iter.Seq[*object.Object]) string { return show(slices.Collect(objs)...) }

// want fails the test if two texts differ.
func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Fatalf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantBy checks what an index finds under a value, through every way of asking for it.
func wantBy(t *testing.T, s *store.Store, index, value, expect string) {
	t.Helper()
	objs, err := s.ByIndex(index, value)
	must(t, err)
	want(t, fmt.Sprintf("ByIndex(%s, %s)", index, value), show(objs...), expect)
	keys, err := s.IndexKeys(index, value)
	must(t, err)
	var wantKeys []string
	for _, o := range objs {
		wantKeys = append(wantKeys, o.Key)
	}
	if !slices.Equal(keys, wantKeys) {
		t.Fatalf("IndexKeys(%s, %s) = %v, ByIndex has %v", index, value, keys, wantKeys)
	}
	values, err := s.ListIndexFuncValues(index)
	must(t, err)
	if slices.Contains(values, value) != (len(objs) > 0) {
		t.Fatalf("ListIndexFuncValues(%s) = %v, with %d objects under %s", index, values, len(objs), value)
	}
}
