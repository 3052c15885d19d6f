package wire_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

var encodings = []object.Encoding{object.Protobuf, object.JSON}

// eachKind runs f for every built-in kind that has metadata, filled in several ways, with the places of the kind in
// random order.
func eachKind(t *testing.T, f func(t *testing.T, v message, fresh func() message, places []place)) {
	pick := rand.New(rand.NewPCG(1, 2))
	kinds := scheme.Scheme.AllKnownTypes()
	var sorted []schema.GroupVersionKind
	for gvk, typ := range kinds {
		if _, ok := reflect.New(typ).Interface().(message); ok {
			sorted = append(sorted, gvk)
		}
	}
	if len(sorted) < 100 {
		t.Fatalf("the scheme has only %d kinds", len(sorted))
	}
	slices.SortFunc(sorted, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	for _, gvk := range sorted {
		fresh := func() message { return reflect.New(kinds[gvk]).Interface().(message) }
		t.Run(strings.ReplaceAll(gvk.GroupVersion().String()+"/"+gvk.Kind, "/", "."), func(t *testing.T) {
			places := enumerate(kinds[gvk])
			for seed := range uint64(4) {
				v := fresh()
				if seed < 3 {
					newFiller(seed).fill(reflect.ValueOf(v).Elem(), 14)
				}
				pick.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
				f(t, v, fresh, places)
			}
		})
	}
}

func decode(tb testing.TB, enc object.Encoding, raw []byte, into message) message {
	tb.Helper()
	if err := tryDecode(enc, raw, into); err != nil {
		tb.Fatalf("%s: %v\n%s", enc, err, raw)
	}
	return into
}

func tryDecode(enc object.Encoding, raw []byte, into message) error {
	if enc == object.Protobuf {
		return into.Unmarshal(raw)
	}
	return kjson.Unmarshal(raw, into)
}

// Ensures that metadata and annotations read from the bytes of every built-in kind equal those of the decoded object.
func TestMeta_Read_EqualsDecoderForEveryKind(t *testing.T) {
	eachKind(t, func(t *testing.T, v message, fresh func() message, _ []place) {
		for _, enc := range encodings {
			raw := encode(t, enc, v)
			decoded := decode(t, enc, raw, fresh())
			got := must[object.Meta](t)(wire.Meta(enc, raw))
			if diff := cmp.Diff(object.MetaOf(decoded), got); diff != "" {
				t.Errorf("%s: %s", enc, diff)
			}
			if diff := cmp.Diff(object.MetaOf(v), got); diff != "" {
				t.Errorf("%s: differs from the original: %s", enc, diff)
			}
			all := must[map[string]string](t)(wire.Annotations(enc, raw))
			if diff := cmp.Diff(decoded.GetAnnotations(), all); diff != "" {
				t.Errorf("%s: %s", enc, diff)
			}
			for _, key := range append(keys, "absent") {
				value, found, err := wire.Annotation(enc, raw, key)
				want, exists := decoded.GetAnnotations()[key]
				if value != want || found != exists || err != nil {
					t.Errorf("%s: annotation %q = %q, %v, %v, want %q, %v", enc, key, value, found, err, want, exists)
				}
			}
		}
	})
}

// Ensures that every field of every built-in kind reads the same from protobuf, from JSON, from the decoded value, from
// the unstructured value, and as the JSON encoding has it.
func TestPath_Strings_EqualsDecoderForEveryKind(t *testing.T) {
	paths := 0
	eachKind(t, func(t *testing.T, v message, fresh func() message, places []place) {
		raws := map[object.Encoding][]byte{}
		decoded := map[object.Encoding]message{}
		for _, enc := range encodings {
			raws[enc] = encode(t, enc, v)
			decoded[enc] = decode(t, enc, raws[enc], fresh())
		}
		var tree map[string]any
		if err := kjson.Unmarshal(raws[object.JSON], &tree); err != nil {
			t.Fatal(err)
		}
		for _, at := range places[:min(len(places), 40)] {
			p := compile(t, v, at.path)
			if !p.Scalar() {
				continue
			}
			paths++
			want := lookup(tree, at.steps)
			check := func(how string, got []string, err error) {
				t.Helper()
				if err != nil || !slices.Equal(got, want) {
					t.Fatalf("%s from %s = %q, %v, want %q", at.path, how, got, err, want)
				}
			}
			for _, enc := range encodings {
				got, err := p.Strings(enc, raws[enc])
				check(enc.String(), got, err)
				got, err = p.FromValue(decoded[enc])
				check("value decoded from "+enc.String(), got, err)
				one, found, err := p.Read(enc, raws[enc])
				if err != nil || found != (len(want) > 0) || found && one != want[0] {
					t.Fatalf("%s: Read = %q, %v, %v, want the first of %q", at.path, one, found, err, want)
				}
			}
			got, err := p.FromValue(tree)
			check("map", got, err)
			untyped := must[*wire.Path](t)(wire.CompileJSONPath(at.path))
			got, err = untyped.Strings(object.JSON, raws[object.JSON])
			check("JSON without a type", got, err)
			got, err = untyped.FromValue(tree)
			check("map without a type", got, err)
		}
	})
	t.Logf("%d fields compared", paths)
}

// Ensures that an object without some field decodes to the object with that field zero, for fields of every kind.
func TestCut_Decoded_EqualsFieldZeroedForEveryKind(t *testing.T) {
	eachKind(t, func(t *testing.T, v message, fresh func() message, places []place) {
		for _, at := range places[:min(len(places), 4)] {
			p := compile(t, v, at.path)
			for _, enc := range encodings {
				raw := encode(t, enc, v)
				cut := must[[]byte](t)(wire.Cut(enc, raw, p))
				got, want := decode(t, enc, cut, fresh()), decode(t, enc, raw, fresh())
				zeroAt(reflect.ValueOf(want).Elem(), at.steps)
				if !equality.Semantic.DeepEqual(got, want) {
					t.Fatalf("%s: without %s: %s", enc, at.path, cmp.Diff(want, got))
				}
			}
		}
	})
}

// place is a field of a type: its path, and the way there as the tests go it.
type place struct {
	path  string
	steps []hop
}

// hop is one step of a place: a member, or a key, index or star.
type hop struct {
	name  string
	index []int // of the Go field
	sel   string
	at    int
}

// enumerate lists the fields of a type, down to a depth, with the protobuf form.
func enumerate(t reflect.Type) (all []place) {
	var walk func(t reflect.Type, at place, depth int)
	add := func(at place, path string, h hop) place {
		return place{at.path + path, append(slices.Clone(at.steps), h)}
	}
	walk = func(t reflect.Type, at place, depth int) {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if at.path != "" {
			all = append(all, at)
		}
		if _, opaque := reflect.New(t).Interface().(json.Marshaler); opaque || depth == 0 {
			return
		}
		switch t.Kind() {
		case reflect.Struct:
			dot := "."
			if at.path == "" {
				dot = ""
			}
			for _, f := range reflect.VisibleFields(t) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if name != "" && f.Tag.Get("protobuf") != "" && (len(f.Index) == 1 || promoted(t, f)) {
					walk(f.Type, add(at, dot+name, hop{name: name, index: f.Index}), depth-1)
				}
			}
		case reflect.Slice:
			if t.Elem().Kind() == reflect.Uint8 {
				return
			}
			walk(t.Elem(), add(at, "[*]", hop{sel: "*"}), depth-1)
			if t.Elem().Kind() != reflect.Struct {
				walk(t.Elem(), add(at, "[1]", hop{sel: "at", at: 1}), depth-1)
			}
		case reflect.Map:
			for i, form := range []string{"[%s]", "[%s]", `["%s"]`} {
				walk(t.Elem(), add(at, fmt.Sprintf(form, keys[i]), hop{sel: keys[i]}), depth-1)
			}
		}
	}
	walk(t, place{}, 8)
	return all
}

// promoted reports whether f is a field of a struct that t inlines and that has a place in protobuf.
func promoted(t reflect.Type, f reflect.StructField) bool {
	for i := 1; i < len(f.Index); i++ {
		outer := t.FieldByIndex(f.Index[:i])
		name, _, _ := strings.Cut(outer.Tag.Get("json"), ",")
		if name != "" || outer.Tag.Get("protobuf") == "" {
			return false
		}
	}
	return true
}

// lookup goes to a place in decoded JSON and returns the scalars there.
func lookup(v any, steps []hop) (found []string) {
	if len(steps) == 0 {
		switch x := v.(type) {
		case nil:
			return nil
		case string:
			return []string{x}
		}
		return []string{fmt.Sprint(v)}
	}
	h := steps[0]
	switch {
	case h.name != "":
		m, _ := v.(map[string]any)
		return lookup(m[h.name], steps[1:])
	case h.sel == "*" || h.sel == "at":
		list, _ := v.([]any)
		for i, e := range list {
			if h.sel == "*" || i == h.at {
				found = append(found, lookup(e, steps[1:])...)
			}
		}
		return found
	}
	m, _ := v.(map[string]any)
	return lookup(m[h.sel], steps[1:])
}

// zeroAt makes what stands at a place zero.
func zeroAt(v reflect.Value, steps []hop) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return
		}
		v = v.Elem()
	}
	h, last := steps[0], len(steps) == 1
	switch {
	case h.name != "":
		f := v.FieldByIndex(h.index)
		if last {
			f.SetZero()
			return
		}
		zeroAt(f, steps[1:])
	case h.sel == "*" || h.sel == "at":
		for i := v.Len() - 1; i >= 0; i-- {
			switch {
			case h.sel == "at" && i != h.at:
			case last:
				v.Set(reflect.AppendSlice(v.Slice3(0, i, i), v.Slice(i+1, v.Len())))
			default:
				zeroAt(v.Index(i), steps[1:])
			}
		}
	default:
		key := reflect.ValueOf(h.sel).Convert(v.Type().Key())
		if v.IsNil() || !v.MapIndex(key).IsValid() {
			return
		}
		if last {
			v.SetMapIndex(key, reflect.Value{})
			return
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		elem.Set(v.MapIndex(key))
		zeroAt(elem, steps[1:])
		v.SetMapIndex(key, elem)
	}
}
