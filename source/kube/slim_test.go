package kube_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/wire"
)

type slimPod struct {
	metav1.ObjectMeta
	Spec struct {
		NodeName   string
		Overhead   corev1.ResourceList
		Containers []struct {
			Image     string
			Resources corev1.ResourceRequirements
		}
		SecurityContext *struct{ RunAsUser *int64 }
	}
	Status struct{ StartTime *metav1.Time }
}

func slimCodec(t *testing.T) object.Codec {
	t.Helper()
	codec, err := kube.SlimCodec(&slimPod{}, &corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	return codec
}

// Ensures that a slim type has the original's fields from both encodings, also from protobuf that no server writes, and
// that it is asked for as protobuf.
func TestSlimCodec_Decode(t *testing.T) {
	codec, pod := slimCodec(t), samplePod()
	if p, ok := codec.(kube.ProtobufDecoder); !ok || !p.DecodesProtobuf() {
		t.Error("no protobuf")
	}
	raw, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	group := []byte{0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06} // field 100, which no pod has
	for name, in := range map[string]struct {
		enc object.Encoding
		raw []byte
	}{"protobuf": {object.Protobuf, raw}, "unusual": {object.Protobuf, append(group, raw...)}, "json": {object.JSON, text}} {
		v, err := codec.Decode(in.enc, in.raw)
		if err != nil {
			t.Fatal(name, err)
		}
		got := v.(*slimPod)
		if got.Name != pod.Name || got.Spec.NodeName != pod.Spec.NodeName || len(got.Spec.Containers) != len(pod.Spec.Containers) ||
			got.Spec.Containers[0].Image != pod.Spec.Containers[0].Image {
			t.Errorf("%s: %+v", name, got)
		}
		if meta, err := codec.Meta(v); err != nil || meta.Key != pod.Namespace+"/"+pod.Name {
			t.Errorf("%s: metadata %+v, %v", name, meta, err)
		}
	}
	if _, err := codec.Decode(object.Protobuf, raw[:len(raw)-1]); err == nil {
		t.Error("a broken pod decodes")
	}
}

// Ensures that a copy is equal, and shares nothing.
func TestSlimCodec_Copy(t *testing.T) {
	codec := slimCodec(t)
	var v slimPod
	text := `{"name":"n","labels":{"a":"b"},"Spec":{"NodeName":"x","Overhead":{"cpu":"1500m"},"Containers":[{"Image":"i",
		"Resources":{"limits":{"memory":"1Gi"}}},{}],"SecurityContext":{"RunAsUser":7}},"Status":{"StartTime":"2026-01-02T03:04:05Z"}}`
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	want, got := codec.Copy(&v).(*slimPod), codec.Copy(&v).(*slimPod)
	if diff := cmp.Diff(&v, got); diff != "" {
		t.Fatal(diff)
	}
	v.Labels["a"] = "changed"
	v.Spec.Overhead["cpu"] = v.Spec.Containers[0].Resources.Limits["memory"]
	v.Spec.Containers[0].Image = "changed"
	v.Spec.Containers[0].Resources.Limits["memory"] = v.Spec.Overhead["x"]
	*v.Spec.SecurityContext.RunAsUser = 8
	v.Status.StartTime.Time = v.Status.StartTime.AddDate(1, 0, 0)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if none := codec.Copy(&slimPod{}); !reflect.DeepEqual(none, &slimPod{}) {
		t.Errorf("of nothing: %+v", none)
	}
}

// Ensures that what a slim type cannot do is an error.
func TestSlimCodec_Refused(t *testing.T) {
	if _, _, err := slimCodec(t).Encode(&slimPod{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("encode: %v", err)
	}
	if _, err := slimCodec(t).Meta(&struct{}{}); err == nil {
		t.Error("metadata of something else")
	}
	type wrong struct{ Spec struct{ Nodes string } }
	for _, of := range []any{nil, corev1.Pod{}, &corev1.Pod{}} {
		if _, err := kube.SlimCodec(&wrong{}, of); err == nil {
			t.Errorf("of %T: no error", of)
		}
	}
}

// Ensures that a type that only embeds the metadata is not taken for the protobuf message that the metadata is.
func TestCodecFor_EmbeddedMetadata(t *testing.T) {
	type own struct {
		metav1.ObjectMeta `json:"metadata"`
		Size              int `json:"size"`
	}
	codec := codecFor(t, &own{})
	if codec.(kube.ProtobufDecoder).DecodesProtobuf() {
		t.Error("it decodes protobuf")
	}
	if enc, raw, err := codec.Encode(&own{Size: 3}); err != nil || enc != object.JSON || len(raw) == 0 {
		t.Errorf("%s %s %v", enc, raw, err)
	}
	if !codecFor(t, &corev1.Pod{}).(kube.ProtobufDecoder).DecodesProtobuf() || !codecFor(t, &metav1.PartialObjectMetadata{}).(kube.ProtobufDecoder).DecodesProtobuf() {
		t.Error("a type of the API does not decode protobuf")
	}
}

// Ensures that objects are trimmed as they come, also those that have to be decoded for it, and that one that cannot be
// trimmed comes whole and says why.
func TestTrim(t *testing.T) {
	path, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "spec.containers")
	if err != nil {
		t.Fatal(err)
	}
	trim, err := wire.NewTrim(nil, []*wire.Path{path})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := samplePod().Marshal()
	if err != nil {
		t.Fatal(err)
	}
	group := []byte{0xa3, 0x06, 0x08, 0x01, 0xa4, 0x06}
	codec := codecFor(t, &corev1.Pod{})
	for _, raw := range [][]byte{raw, append(group, raw...)} {
		enc, got, err := kube.Trim(trim, nil, object.Protobuf, raw, codec)
		if err != nil {
			t.Fatal(err)
		}
		v, err := codec.Decode(enc, got)
		if err != nil || len(v.(*corev1.Pod).Spec.Containers) != 0 || v.(*corev1.Pod).Name != samplePod().Name {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if _, _, err := kube.Trim(trim, nil, object.Protobuf, append(group, raw...), slimCodec(t)); !errors.Is(err, wire.ErrUnusual) {
		t.Errorf("what cannot be encoded: %v", err)
	}
	if _, _, err := kube.Trim(trim, nil, object.Protobuf, raw[:len(raw)-1], codec); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("broken: %v", err)
	}
}
