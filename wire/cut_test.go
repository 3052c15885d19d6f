package wire_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// Ensures that several fields go at once, that the rest stays as it was, and that the original is not touched.
func TestCut_Pod_SeveralPaths(t *testing.T) {
	pod := newPod(2)
	paths := []*wire.Path{
		compile(t, pod, "metadata.managedFields"),
		compile(t, pod, "metadata.annotations[checksum/config]"),
		compile(t, pod, "spec.containers[*].env"),
		compile(t, pod, "spec.containers[0].args[1]"),
		compile(t, pod, "status.podIPs"),
		compile(t, pod, "metadata.labels[absent]"),
	}
	want := pod.DeepCopy()
	want.ManagedFields = nil
	delete(want.Annotations, "checksum/config")
	want.Spec.Containers[0].Env, want.Spec.Containers[1].Env = nil, nil
	want.Spec.Containers[0].Args = []string{"--listen=:8080", "--config=/etc/checkout/config.yaml"}
	want.Status.PodIPs = nil
	for _, enc := range encodings {
		raw := encode(t, enc, pod)
		before := bytes.Clone(raw)
		cut := must[[]byte](t)(wire.Cut(enc, raw, paths...))
		if !bytes.Equal(raw, before) {
			t.Errorf("%s: the original was changed", enc)
		}
		if got := decode(t, enc, cut, &corev1.Pod{}); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: %s", enc, cmp.Diff(want, got))
		}
		if !bytes.Equal(cut, encode(t, enc, want)) {
			t.Errorf("%s: not the bytes that the object without the fields has", enc)
		}
		same := must[[]byte](t)(wire.Cut(enc, raw))
		if !bytes.Equal(same, raw) || &same[0] == &raw[0] {
			t.Errorf("%s: no path must give a copy", enc)
		}
	}
}

// Ensures that commas, spaces and nulls come out right in JSON.
func TestCut_JSON_Forms(t *testing.T) {
	for _, test := range []struct{ path, raw, want string }{
		{"a", `{"a":1}`, `{}`},
		{"a", `{ "a" : 1 , "b" : [ 2 ] }`, `{"b" :[ 2 ]}`},
		{"b", `{"a":1,"b":2}`, `{"a":1}`},
		{"b", `{"a":1,"b":2,"c":3}`, `{"a":1,"c":3}`},
		{"a", `{"a":1,"a":2}`, `{}`},
		{"\u0061", `{"\u0061":1}`, `{}`},
		{"a.b", `{"a":null}`, `{"a":null}`},
		{"a.b", `{"a":{"b":{"c":[1,"]"]}}}`, `{"a":{}}`},
		{"a[0]", `{"a":[1,2,3]}`, `{"a":[2,3]}`},
		{"a[2]", `{"a":[1,2,3]}`, `{"a":[1,2]}`},
		{"a[*]", `{"a":[1,2,3]}`, `{"a":[]}`},
		{"a[*].b", `{"a":[{"b":1,"c":2},null,{"b":3}]}`, `{"a":[{"c":2},null,{}]}`},
		{"a[k]", `{"a":{"k":1,"l":2}}`, `{"a":{"l":2}}`},
		{"a[k].x", `{"a":{"k":{"x":1},"l":2}}`, `{"a":{"k":{},"l":2}}`},
	} {
		p := must[*wire.Path](t)(wire.CompileJSONPath(test.path))
		if got, err := wire.Cut(object.JSON, []byte(test.raw), p); err != nil || string(got) != test.want {
			t.Errorf("%s of %s = %s, %v, want %s", test.path, test.raw, got, err, test.want)
		}
	}
}

// Ensures that trouble on the way is an error that names the path.
func TestCut_Trouble(t *testing.T) {
	env := compile(t, &corev1.Pod{}, "spec.containers[*].env")
	for _, test := range []struct {
		enc  object.Encoding
		raw  string
		want error
	}{
		{object.JSON, `{"spec":{"containers":{}}}`, wire.ErrMalformed},
		{object.JSON, `{"spec":{"containers":[{"env":[]}]}`, wire.ErrMalformed},
		{object.JSON, `{"spec":1}`, wire.ErrMalformed},
		{object.Protobuf, string(field(2, []byte{0x12, 9})), wire.ErrMalformed},
		{object.Protobuf, string(varint(2, 3)), wire.ErrMalformed},
		{object.Protobuf, string(field(2, []byte{0x0b})), wire.ErrUnusual},
	} {
		_, err := wire.Cut(test.enc, []byte(test.raw), env)
		wantErr(t, err, test.want)
	}
	ids := compile(t, &corev1.Pod{}, "spec.securityContext.supplementalGroups[0]")
	_, err := wire.Cut(object.Protobuf, field(2, field(14, field(4, []byte{1, 2}))), ids)
	wantErr(t, err, wire.ErrUnusual) // packed
}
