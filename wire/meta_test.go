package wire_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// field returns a length-delimited protobuf field.
func field(num protowire.Number, parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, num, protowire.BytesType), body)
}

func varint(num protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(nil, num, protowire.VarintType), v)
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

// Ensures that what a server never writes is refused as unusual, and what is broken as malformed, in protobuf.
func TestMeta_Protobuf_Trouble(t *testing.T) {
	name := field(1, []byte("web"))
	for _, test := range []struct {
		name string
		raw  []byte
		want error
	}{
		{"metadata twice", join(field(1, name), field(1, name)), wire.ErrUnusual},
		{"metadata again at the end", join(field(1, name), field(2), field(1, name)), wire.ErrUnusual},
		{"name twice", field(1, name, name), wire.ErrUnusual},
		{"label twice", field(1, field(11, field(1, []byte("a")), field(2)), field(11, field(1, []byte("a")), field(2))), wire.ErrUnusual},
		{"label with two keys", field(1, field(11, field(1, []byte("a")), field(1, []byte("b")), field(2))), wire.ErrUnusual},
		{"label without a value", field(1, field(11, field(1, []byte("a")))), wire.ErrUnusual},
		{"owner with two names", field(1, field(13, field(3), field(3))), wire.ErrUnusual},
		{"seconds twice", field(1, field(8, varint(1, 1), varint(1, 2))), wire.ErrUnusual},
		{"group", field(1, []byte{100<<3&0x7f | 3}, []byte{1}), wire.ErrUnusual},
		{"field number too large", field(1, protowire.AppendVarint(nil, 1<<40)), wire.ErrUnusual},
		{"varint too long", append([]byte{0x38}, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f), wire.ErrUnusual},
		{"name as a number", field(1, varint(1, 7)), wire.ErrMalformed},
		{"generation as a text", field(1, field(7, []byte("x"))), wire.ErrMalformed},
		{"field number 0", []byte{0x02, 0x00}, wire.ErrUnusual},
		{"wire type 7", field(1, []byte{0x0f}), wire.ErrMalformed},
		{"end of a group", []byte{0x0c}, wire.ErrMalformed},
		{"length beyond the end", []byte{0x0a, 0x05, 'x'}, wire.ErrMalformed},
		{"inner length beyond the end", field(1, []byte{0x0a, 0x05, 'x'}), wire.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := wire.Meta(object.Protobuf, test.raw)
			wantErr(t, err, test.want)
		})
	}
}

// Ensures the same in JSON, and that what decoders read alike is read.
func TestMeta_JSON_Trouble(t *testing.T) {
	for _, test := range []struct {
		name, raw string
		want      error
	}{
		{"label twice", `{"metadata":{"labels":{"a":"1","a":"2"}}}`, wire.ErrUnusual},
		{"name twice", `{"metadata":{"name":"a","name":"b"}}`, wire.ErrUnusual},
		{"labels twice", `{"metadata":{"labels":{},"labels":{}}}`, wire.ErrUnusual},
		{"owner with two uids", `{"metadata":{"ownerReferences":[{"uid":"1","uid":"2"}]}}`, wire.ErrUnusual},
		{"null label", `{"metadata":{"labels":{"a":null}}}`, wire.ErrUnusual},
		{"null owner", `{"metadata":{"ownerReferences":[null]}}`, wire.ErrUnusual},
		{"half a surrogate", `{"metadata":{"name":"\ud83d"}}`, wire.ErrUnusual},
		{"no UTF-8", "{\"metadata\":{\"name\":\"\xff\"}}", wire.ErrUnusual},
		{"member name with escapes", `{"metadata":{"n\u0061me":"a"}}`, wire.ErrUnusual},
		{"nothing", ``, wire.ErrMalformed},
		{"cut off", `{"metadata":{"name":"a"`, wire.ErrMalformed},
		{"cut off in a string", `{"metadata":{"name":"a`, wire.ErrMalformed},
		{"cut off before the metadata", `{"kind":{"a":[1`, wire.ErrMalformed},
		{"a list", `[]`, wire.ErrMalformed},
		{"name as a number", `{"metadata":{"name":1}}`, wire.ErrMalformed},
		{"label as a number", `{"metadata":{"labels":{"a":1}}}`, wire.ErrMalformed},
		{"labels as a list", `{"metadata":{"labels":[]}}`, wire.ErrMalformed},
		{"generation as a fraction", `{"metadata":{"generation":1.5}}`, wire.ErrMalformed},
		{"time that is none", `{"metadata":{"creationTimestamp":"yesterday"}}`, wire.ErrMalformed},
		{"no comma", `{"metadata":{"name":"a" "uid":"b"}}`, wire.ErrMalformed},
		{"a comma too many", `{"metadata":{"name":"a",}}`, wire.ErrMalformed},
		{"no colon", `{"metadata" {}}`, wire.ErrMalformed},
		{"bad escape", `{"metadata":{"name":"\x"}}`, wire.ErrMalformed},
		{"control character", "{\"metadata\":{\"name\":\"a\nb\"}}", wire.ErrMalformed},
		{"bad word", `{"metadata":nul}`, wire.ErrMalformed},
		{"bad number", `{"metadata":{"generation":01}}`, wire.ErrMalformed},
		{"controller as a text", `{"metadata":{"ownerReferences":[{"controller":"true"}]}}`, wire.ErrMalformed},

		{"nulls", `{"metadata":{"name":null,"labels":null,"ownerReferences":null,"creationTimestamp":null,"generation":null}}`, nil},
		{"no metadata", `{"kind":"Pod"}`, nil},
		{"null metadata", ` { "metadata" : null } `, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := wire.Meta(object.JSON, []byte(test.raw))
			wantErr(t, err, test.want)
			if diff := cmp.Diff(object.Meta{}, m); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Ensures that JSON is read wherever the metadata stands and however it is spaced, and not past it.
func TestMeta_JSON_Reads(t *testing.T) {
	raw := `
	{ "spec" : { "metadata": {"name": "not this"}, "s": "}\"]" , "n": [1, -2.5e+3, true, null] },
	  "metadata" : { "generation": 7, "name": "gr\u00fc\u00dfe \ud83d\udc1f", "namespace": "n", "resourceVersion": "12",
	    "deletionTimestamp": "2026-02-29T01:00:00+01:00", "finalizers": ["a"] },
	  and here it stops`
	_, err := wire.Meta(object.JSON, []byte(raw))
	wantErr(t, err, wire.ErrMalformed) // 2026 has no 29 February

	m, err := wire.Meta(object.JSON, []byte(`{"metadata":{"deletionTimestamp":"2026-03-31T01:00:00.5+01:00","creationTimestamp":"2026-02-28T00:00:00Z",
		"name":"gr\u00fc\u00dfe \ud83d\udc1f", "namespace":"n","generation":-0,"labels":{"b":"\"","a":"1"}}, and here it stops`))
	want := object.Meta{
		Key: "n/grüße 🐟", Created: 1772236800, Deleting: 1774915200,
		Labels: object.Labels{{Key: "a", Value: "1"}, {Key: "b", Value: `"`}},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
}

// Ensures that an encoding that is none is refused by everything that takes one.
func TestMeta_Encoding_Unsupported(t *testing.T) {
	p := compile(t, &corev1.Pod{}, "spec.nodeName")
	_, err := wire.Meta(object.None, nil)
	wantErr(t, err, wire.ErrEncoding)
	_, _, err = wire.Annotation(object.None, nil, "a")
	wantErr(t, err, wire.ErrEncoding)
	_, _, err = wire.TypeMeta(object.None, nil)
	wantErr(t, err, wire.ErrEncoding)
	_, _, err = p.Read(object.None, nil)
	wantErr(t, err, wire.ErrEncoding)
	_, err = wire.Cut(object.None, nil, p)
	wantErr(t, err, wire.ErrEncoding)
	_, err = wire.NewListReader(nil, object.None, wire.ListOptions{})
	wantErr(t, err, wire.ErrEncoding)
	_, err = wire.NewFrameReader(nil, object.None, wire.FrameOptions{})
	wantErr(t, err, wire.ErrEncoding)
}

// podCodec decodes pods with the API's own decoder.
type podCodec struct{ object.Codec }

func (podCodec) Decode(enc object.Encoding, raw []byte) (any, error) {
	p := &corev1.Pod{}
	return p, tryDecode(enc, raw, p)
}

func (podCodec) Meta(v any) (object.Meta, error) { return object.MetaOf(v.(metav1.Object)), nil }

// Ensures that the full decoder answers where reading notices something unusual, and that its error is the error.
func TestMetaOrDecode_Unusual_Decodes(t *testing.T) {
	merged := join(field(1, field(1, []byte("web"))), field(1, field(3, []byte("prod"))))
	if _, err := wire.MetaOrDecode(nil, object.Protobuf, merged); !errors.Is(err, wire.ErrUnusual) {
		t.Errorf("without a codec: %v", err)
	}
	m, err := wire.MetaOrDecode(podCodec{}, object.Protobuf, merged)
	if err != nil || m.Key != "prod/web" {
		t.Errorf("key = %q, %v", m.Key, err)
	}
	if _, err := wire.MetaOrDecode(podCodec{}, object.Protobuf, merged[:3]); err == nil || errors.Is(err, wire.ErrMalformed) {
		t.Errorf("cut off: error = %v, want the decoder's", err)
	}
}

// Ensures that a JSON object's type is found in any order, and that protobuf has none.
func TestTypeMeta_Read(t *testing.T) {
	for raw, want := range map[string][2]string{
		`{"kind":"Pod","apiVersion":"v1",!`:              {"v1", "Pod"},
		`{"apiVersion":"v1","metadata":{},"kind":"Pod"}`: {"v1", "Pod"},
		`{"metadata":{"kind":"x"}}`:                      {"", ""},
	} {
		apiVersion, kind, err := wire.TypeMeta(object.JSON, []byte(raw))
		if got := [2]string{apiVersion, kind}; got != want || err != nil {
			t.Errorf("%s: %q, %v", raw, got, err)
		}
	}
	_, _, err := wire.TypeMeta(object.JSON, []byte(`{"kind":"a","kind":"b"}`))
	wantErr(t, err, wire.ErrUnusual)
	if apiVersion, kind, err := wire.TypeMeta(object.Protobuf, field(1)); apiVersion+kind != "" || err != nil {
		t.Errorf("protobuf: %q %q %v", apiVersion, kind, err)
	}
}

// Ensures that an annotation that is there twice is not guessed at.
func TestAnnotation_Twice_Unusual(t *testing.T) {
	raw := []byte(`{"metadata":{"annotations":{"a":"1","a":"2"}}}`)
	_, _, err := wire.Annotation(object.JSON, raw, "a")
	wantErr(t, err, wire.ErrUnusual)
	_, err = wire.Annotations(object.JSON, raw)
	wantErr(t, err, wire.ErrUnusual)
	if v, found, err := wire.Annotation(object.JSON, raw, "b"); v != "" || found || err != nil {
		t.Errorf("b = %q, %v, %v", v, found, err)
	}
}

// Ensures that the pipeline's fields of a pod cost at most five allocations: three for the metadata, one a field.
func TestMeta_Pod_Allocations(t *testing.T) {
	pod := newPod(1)
	node, phase := compile(t, pod, "spec.nodeName"), compile(t, pod, "status.phase")
	for _, enc := range encodings {
		raw := encode(t, enc, pod)
		if enc == object.Protobuf && (len(raw) < 6500 || len(raw) > 7500) {
			t.Errorf("the pod has %d bytes, want about 7,000", len(raw))
		}
		if n := testing.AllocsPerRun(100, func() { pipeline(t, enc, raw, node, phase) }); n > 5 {
			t.Errorf("%s: %v allocations, want at most 5", enc, n)
		}
		buf := make([]byte, 0, 64)
		if n := testing.AllocsPerRun(100, func() { _, _, _ = node.Append(buf, enc, raw) }); n > 0 {
			t.Errorf("%s: Append: %v allocations, want none", enc, n)
		}
	}
}
