package wire_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

func paths(t testing.TB, texts ...string) (all []*wire.Path) {
	for _, text := range texts {
		all = append(all, must[*wire.Path](t)(wire.CompilePath(reflect.TypeFor[corev1.Pod](), text)))
	}
	return all
}

// Ensures that what is kept is as it was, in whole messages, lists and maps, and that all else is gone, from both encodings.
func TestTrim_Append_Keep(t *testing.T) {
	pod := newPod(2)
	trim := must[*wire.Trim](t)(wire.NewTrim(
		paths(t, "metadata.name", "metadata.labels", "metadata.annotations[checksum/config]", "spec.nodeName", "spec.containers[*].image", "status.phase"),
		nil,
	))
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Labels: pod.Labels, Annotations: map[string]string{}}}
	want.Annotations["checksum/config"] = pod.Annotations["checksum/config"]
	want.Spec.NodeName, want.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	for _, c := range pod.Spec.Containers {
		want.Spec.Containers = append(want.Spec.Containers, corev1.Container{Image: c.Image})
	}
	if pod.Spec.NodeName == "" || pod.Annotations["checksum/config"] == "" || len(pod.Spec.Containers) < 2 {
		t.Fatal("the pod has nothing to keep")
	}
	for _, enc := range encodings {
		raw := encode(t, enc, pod)
		before := bytes.Clone(raw)
		got := must[[]byte](t)(trim.Append([]byte("in front"), enc, raw))
		if !bytes.Equal(raw, before) || !bytes.HasPrefix(got, []byte("in front")) {
			t.Errorf("%s: the original, or what was there before, was changed", enc)
		}
		if got := decode(t, enc, got[len("in front"):], &corev1.Pod{}); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: %s", enc, cmp.Diff(want, got))
		}
	}
}

// Ensures that of what is kept some can be dropped, and that no rule at all gives a copy.
func TestTrim_Append_KeepAndDrop(t *testing.T) {
	pod := newPod(2)
	both := must[*wire.Trim](t)(wire.NewTrim(paths(t, "metadata"), paths(t, "metadata.managedFields", "metadata.labels[app]")))
	none := must[*wire.Trim](t)(wire.NewTrim(nil, nil))
	want := &corev1.Pod{ObjectMeta: *pod.ObjectMeta.DeepCopy()}
	want.ManagedFields = nil
	delete(want.Labels, "app")
	for _, enc := range encodings {
		raw := encode(t, enc, pod)
		got := must[[]byte](t)(both.Append(nil, enc, raw))
		if got := decode(t, enc, got, &corev1.Pod{}); !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%s: %s", enc, cmp.Diff(want, got))
		}
		same := must[[]byte](t)(none.Append(nil, enc, raw))
		if !bytes.Equal(same, raw) || &same[0] == &raw[0] {
			t.Errorf("%s: no copy", enc)
		}
	}
}

// Ensures that JSON keeps its form, whatever order, space and nulls it comes with.
func TestTrim_Append_JSONForms(t *testing.T) {
	for _, test := range []struct{ keep, raw, want string }{
		{"a", `{"a":1,"b":2}`, `{"a":1}`},
		{"b", `{ "a" : 1 , "b" : [ 2 ] }`, `{"b" :[ 2 ]}`},
		{"c", `{"a":1}`, `{}`},
		{"a.b", `{"a":{"b":{"c":1},"d":2},"b":3}`, `{"a":{"b":{"c":1}}}`},
		{"a.b", `{"a":null}`, `{"a":null}`},
		{"a[*].b", `{"a":[{"b":1,"c":2},null,{"c":3}]}`, `{"a":[{"b":1},null,{}]}`},
		{"a[k]", `{"a":{"k":[1],"l":2}}`, `{"a":{"k":[1]}}`},
		{"a b", `{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`},
		{"a.b a", `{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":2}}`},
		{"\u0061", `{"\u0061":1,"b":2}`, `{"\u0061":1}`},
		{"a", `{"kind":"K","apiVersion":"v1","a":1,"b":2}`, `{"kind":"K","apiVersion":"v1","a":1}`},
	} {
		var keep []*wire.Path
		for text := range strings.FieldsSeq(test.keep) {
			keep = append(keep, must[*wire.Path](t)(wire.CompileJSONPath(text)))
		}
		trim := must[*wire.Trim](t)(wire.NewTrim(keep, nil))
		if got, err := trim.Append(nil, object.JSON, []byte(test.raw)); err != nil || string(got) != test.want {
			t.Errorf("%s of %s = %s, %v, want %s", test.keep, test.raw, got, err, test.want)
		}
	}
}

// Ensures that trouble is an error, which leaves the buffer as it was, and that what cannot be kept is refused.
func TestTrim_Append_Trouble(t *testing.T) {
	if _, err := wire.NewTrim(paths(t, "spec.containers[0].image"), nil); err == nil {
		t.Error("one element of a list can be kept")
	}
	keep := must[*wire.Trim](t)(wire.NewTrim(paths(t, "spec.containers[*].image", "metadata.labels[app]"), nil))
	drop := must[*wire.Trim](t)(wire.NewTrim(nil, paths(t, "spec.containers[*].image")))
	for _, trim := range []*wire.Trim{keep, drop} {
		for _, test := range []struct {
			enc  object.Encoding
			raw  string
			want error
		}{
			{object.None, `{}`, wire.ErrEncoding},
			{object.JSON, `{"spec":{"containers":{}}}`, wire.ErrMalformed},
			{object.JSON, `{"spec":{"containers":[{"image":[]}]}`, wire.ErrMalformed},
			{object.JSON, `{"spec":1}`, wire.ErrMalformed},
			{object.Protobuf, string(field(2, []byte{0x12, 9})), wire.ErrMalformed},
			{object.Protobuf, string(varint(2, 3)), wire.ErrMalformed},
			{object.Protobuf, string(field(2, []byte{0x0b})), wire.ErrUnusual},
		} {
			got, err := trim.Append([]byte("x"), test.enc, []byte(test.raw))
			wantErr(t, err, test.want)
			if string(got) != "x" {
				t.Errorf("%q: the buffer is %q", test.raw, got)
			}
		}
	}
	own := must[*wire.Trim](t)(wire.NewTrim([]*wire.Path{must[*wire.Path](t)(wire.CompileJSONPath("a"))}, nil))
	_, err := own.Append(nil, object.Protobuf, nil)
	wantErr(t, err, wire.ErrEncoding)
}

// Ensures that it is known which paths lead to the same.
func TestPath_CoversMeets(t *testing.T) {
	for _, test := range []struct {
		p, q          string
		covers, meets bool
	}{
		{"spec", "spec.nodeName", true, true},
		{"spec.nodeName", "spec", false, true},
		{"spec.nodeName", "spec.nodeName", true, true},
		{"spec.nodeName", "spec.hostname", false, false},
		{"metadata.labels", "metadata.labels[a]", true, true},
		{"metadata.labels[a]", "metadata.labels[b]", false, false},
		{"metadata.labels[a]", "metadata.labels", false, true},
		{"spec.containers[*].env", "spec.containers[1].env[0].name", true, true},
		{"spec.containers[1]", "spec.containers[*].env", false, true},
		{"spec.containers[1]", "spec.containers[0].env", false, false},
		{"spec.containers", "spec.containers[*].image", true, true},
	} {
		p, q := paths(t, test.p)[0], paths(t, test.q)[0]
		if p.Covers(q) != test.covers || p.Meets(q) != test.meets {
			t.Errorf("%s, %s: covers %v, meets %v", p, q, p.Covers(q), p.Meets(q))
		}
	}
}

// Ensures that whatever comes, what is kept reads as before, and what is not is gone.
func FuzzTrim_Append(f *testing.F) {
	for _, enc := range encodings {
		for _, raw := range objectSeeds(f, enc) {
			f.Add(enc == object.JSON, raw)
		}
	}
	kept := []string{"metadata.labels[a]", "spec.nodeName", "spec.containers[*].args[*]", "status.phase"}
	keep := must[*wire.Trim](f)(wire.NewTrim(paths(f, "metadata.labels", "spec.nodeName", "spec.containers[*].args", "status"), nil))
	drop := must[*wire.Trim](f)(wire.NewTrim(nil, paths(f, "spec.priority", "spec.hostNetwork")))
	gone := paths(f, "spec.priority", "spec.hostNetwork")
	f.Fuzz(func(t *testing.T, isJSON bool, raw []byte) {
		enc := object.Protobuf
		if isJSON {
			enc = object.JSON
		}
		for _, trim := range []*wire.Trim{keep, drop} {
			trimmed, err := trim.Append(nil, enc, raw)
			if err != nil {
				continue
			}
			for _, p := range paths(t, kept...) {
				want, err := p.Strings(enc, raw)
				if err != nil {
					continue
				}
				if got, err := p.Strings(enc, trimmed); err != nil || !reflect.DeepEqual(got, want) {
					t.Errorf("%s of %q: %q, %v, before %q", p, trimmed, got, err, want)
				}
			}
			for _, p := range gone {
				if got, err := p.Strings(enc, trimmed); err == nil && len(got) > 0 && got[0] != "0" && got[0] != "false" {
					t.Errorf("%s of %q: %q", p, trimmed, got)
				}
			}
			if again, err := trim.Append(nil, enc, trimmed); err != nil || !bytes.Equal(again, trimmed) {
				t.Errorf("trimmed again: %q, %v, before %q", again, err, trimmed)
			}
		}
	})
}
