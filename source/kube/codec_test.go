package kube_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
)

// gadget is a custom resource with a Go type but without generated code.
type gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              gadgetSpec `json:"spec"`
}

type gadgetSpec struct {
	Size  int            `json:"size"`
	Tags  []string       `json:"tags,omitempty"`
	Extra map[string]any `json:"extra,omitempty"`
}

// note is a struct that knows nothing of Kubernetes.
type note struct {
	Metadata struct {
		Namespace string `json:"namespace"`
		Name      string `json:"name"`
	} `json:"metadata"`
	Text string `json:"text"`
}

func samplePod() *corev1.Pod {
	yes := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "web-1", UID: "u1", ResourceVersion: "41", Generation: 3,
			CreationTimestamp: metav1.NewTime(time.Unix(1700000000, 0)),
			DeletionTimestamp: &metav1.Time{Time: time.Unix(1700000100, 0)},
			Labels:            map[string]string{"app": "web", "a": "b"},
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u0", Controller: &yes}},
		},
		Spec: corev1.PodSpec{NodeName: "n7", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
}

func codecFor(t testing.TB, example any) object.Codec {
	t.Helper()
	c, err := kube.CodecFor(example)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func asJSON(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Ensures that each codec gives back what was encoded, in a value of its own that survives the bytes.
func TestCodec_Decode_OwnsItsMemory(t *testing.T) {
	pod := samplePod()
	partial := &metav1.PartialObjectMetadata{ObjectMeta: pod.ObjectMeta}
	g := &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "prod", Name: "g"}, Spec: gadgetSpec{Size: 4, Tags: []string{"x"}}}
	g.Spec.Extra = map[string]any{"n": int64(1), "f": 1.5}
	n := &note{Text: "hello"}
	n.Metadata.Namespace, n.Metadata.Name = "prod", "n"
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "shop.example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"namespace": "prod", "name": "w"},
		"spec":     map[string]any{"int": int64(1 << 60), "float": 0.5, "list": []any{"a", true, nil}},
	}}
	protobuf := func(v interface{ Marshal() ([]byte, error) }) []byte {
		raw, err := v.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	for _, c := range []struct {
		name  string
		value any
		enc   object.Encoding
		raw   []byte
	}{
		{"pod, protobuf", pod, object.Protobuf, protobuf(pod)},
		{"pod, JSON", pod, object.JSON, asJSON(t, pod)},
		{"metadata, protobuf", partial, object.Protobuf, protobuf(partial)},
		{"metadata, JSON", partial, object.JSON, asJSON(t, partial)},
		{"custom type", g, object.JSON, asJSON(t, g)},
		{"plain struct", n, object.JSON, asJSON(t, n)},
		{"unstructured", u, object.JSON, asJSON(t, u)},
	} {
		codec := codecFor(t, c.value)
		got, err := codec.Decode(c.enc, c.raw)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for i := range c.raw {
			c.raw[i] = '#'
		}
		if diff := cmp.Diff(c.value, got); diff != "" {
			t.Errorf("%s: decoded (-want +got):\n%s", c.name, diff)
		}
		again, raw, err := codec.Encode(c.value)
		if err != nil {
			t.Errorf("%s: Encode: %v", c.name, err)
			continue
		}
		if got, err := codec.Decode(again, raw); err != nil || !cmp.Equal(c.value, got) {
			t.Errorf("%s: encoded and decoded: %v\n%s", c.name, err, cmp.Diff(c.value, got))
		}
		if diff := cmp.Diff(c.value, codec.Copy(c.value)); diff != "" {
			t.Errorf("%s: copy (-want +got):\n%s", c.name, diff)
		}
		m, err := codec.Meta(c.value)
		if err != nil || m.Namespace() != "prod" || m.Name() == "" {
			t.Errorf("%s: Meta %+v, %v", c.name, m, err)
		}
	}
}

// Ensures that a codec's copy can be changed without the original noticing.
func TestCodec_Copy_IsDeep(t *testing.T) {
	for _, v := range []any{samplePod(), &gadget{Spec: gadgetSpec{Tags: []string{"a"}}}} {
		copied := codecFor(t, v).Copy(v)
		switch c := copied.(type) {
		case *corev1.Pod:
			c.Labels["app"] = "other"
			if v.(*corev1.Pod).Labels["app"] != "web" {
				t.Error("the pod's labels are shared")
			}
		case *gadget:
			c.Spec.Tags[0] = "other"
			if v.(*gadget).Spec.Tags[0] != "a" {
				t.Error("the gadget's tags are shared")
			}
		}
	}
}

// Ensures that the metadata of a value is complete.
func TestCodec_Meta_Fields(t *testing.T) {
	want := object.Meta{
		Key: "prod/web-1", UID: "u1", Version: "41", Generation: 3, Created: 1700000000, Deleting: 1700000100,
		Labels: object.Labels{{Key: "a", Value: "b"}, {Key: "app", Value: "web"}},
		Owners: []object.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u0", Controller: true}},
	}
	pod := samplePod()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{pod, &unstructured.Unstructured{Object: content}} {
		if got, err := codecFor(t, v).Meta(v); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%T: %v\n%s", v, err, cmp.Diff(want, got))
		}
	}
}

// Ensures that typed values carry no kind, as with client-go's typed clients, and unstructured ones always do.
func TestCodec_Decode_TypeMeta(t *testing.T) {
	raw := []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}`)
	v, err := codecFor(t, &corev1.Pod{}).Decode(object.JSON, raw)
	if err != nil || !v.(*corev1.Pod).GroupVersionKind().Empty() {
		t.Errorf("typed: %v, %v", v.(*corev1.Pod).TypeMeta, err)
	}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(schema.GroupVersionKind{Group: "g", Version: "v2", Kind: "Thing"})
	for in, want := range map[string]string{
		`{"kind":"Pod","apiVersion":"v1"}`:    "/v1, Kind=Pod",
		`{"metadata":{"name":"from-a-list"}}`: "g/v2, Kind=Thing",
	} {
		v, err := codecFor(t, example).Decode(object.JSON, []byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := v.(*unstructured.Unstructured).GroupVersionKind().String(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Ensures that protobuf that no server writes is read as the generated code reads it, and broken protobuf is refused.
func TestCodec_Decode_ProtobufRules(t *testing.T) {
	codec := codecFor(t, &corev1.Pod{})
	raw, err := samplePod().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	group := []byte{0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06} // field 100, which no pod has
	if v, err := codec.Decode(object.Protobuf, append(group, raw...)); err != nil || !cmp.Equal(samplePod(), v.(*corev1.Pod)) {
		t.Errorf("with a group: %v\n%s", err, cmp.Diff(samplePod(), v))
	}
	for _, broken := range [][]byte{raw[:len(raw)-1], group[:4], {0x08, 0x01}} {
		if v, err := codec.Decode(object.Protobuf, broken); err == nil || !strings.Contains(err.Error(), "into v1.Pod") {
			t.Errorf("%x: %v, %v", broken, v, err)
		}
	}
}

// Ensures that JSON is read as client-go reads it: case-sensitive, lenient about unknown keys, strict about types.
func TestCodec_Decode_JSONRules(t *testing.T) {
	codec := codecFor(t, &gadget{})
	for in, want := range map[string]gadgetSpec{
		`{"spec":{"size":3}}`:                        {Size: 3},
		`{"spec":{"Size":3}}`:                        {},
		`{"spec":{"size":3,"unknown":{"a":[1]}}}`:    {Size: 3},
		`{"spec":{"size":3,"size":4}}`:               {Size: 4},
		`{"spec":{"extra":{"n":1,"f":1.0,"e":1e3}}}`: {Extra: map[string]any{"n": int64(1), "f": float64(1), "e": float64(1000)}},
	} {
		v, err := codec.Decode(object.JSON, []byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if diff := cmp.Diff(want, v.(*gadget).Spec); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
	for _, in := range []string{`{"spec":{"size":"3"}}`, `{"spec":{"size":3.5}}`, `{"spec":[]}`, `{"spec":`, ``} {
		if v, err := codec.Decode(object.JSON, []byte(in)); err == nil || !strings.Contains(err.Error(), "gadget") {
			t.Errorf("%s: %v, %v, want an error that names the type", in, v, err)
		}
	}
}

// Ensures that an encoding or a value that does not fit the codec is an error, never a panic.
func TestCodec_Errors(t *testing.T) {
	for _, example := range []any{&gadget{}, &unstructured.Unstructured{}, &note{}} {
		if _, err := codecFor(t, example).Decode(object.Protobuf, nil); !errors.Is(err, kube.ErrEncoding) {
			t.Errorf("%T from protobuf: %v", example, err)
		}
	}
	for _, example := range []any{&corev1.Pod{}, &unstructured.Unstructured{}, &note{}} {
		codec := codecFor(t, example)
		for _, wrong := range []any{nil, gadget{}, &gadget{}} {
			if _, _, err := codec.Encode(wrong); err == nil {
				t.Errorf("codec of %T encodes %T", example, wrong)
			}
			if _, err := codec.Meta(wrong); err == nil {
				t.Errorf("codec of %T reads %T", example, wrong)
			}
		}
		if _, err := codec.Decode(object.None, nil); !errors.Is(err, kube.ErrEncoding) {
			t.Errorf("%T from nothing: %v", example, err)
		}
	}
	if _, err := codecFor(t, &unstructured.Unstructured{}).Decode(object.JSON, []byte("null")); err == nil {
		t.Error("null is an object")
	}
	for _, wrong := range []any{nil, 1, gadget{}, new(int)} {
		if _, err := kube.CodecFor(wrong); err == nil {
			t.Errorf("a codec for %T", wrong)
		}
	}
}
