package wire_test

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tarn-dev/tarn/wire"
)

// inEnvelope encodes an object as an API server sends it.
func inEnvelope(tb testing.TB, obj runtime.Object) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func typed(pod *corev1.Pod) *corev1.Pod {
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return pod
}

// Ensures that what the API's own serializer wraps comes out again.
func TestEnvelope_Serializer(t *testing.T) {
	pod := newPod(1)
	body := must[[]byte](t)(pod.Marshal())
	raw := inEnvelope(t, typed(pod))
	apiVersion, kind, got, err := wire.Envelope(raw)
	if apiVersion != "v1" || kind != "Pod" || !bytes.Equal(got, body) || err != nil {
		t.Errorf("%q, %q, %d bytes, %v", apiVersion, kind, len(got), err)
	}
	if !wire.HasEnvelope(raw) || wire.HasEnvelope(body) || wire.HasEnvelope([]byte(`{}`)) {
		t.Error("HasEnvelope is wrong")
	}

	frame := must[[]byte](t)((&metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: raw}}).Marshal())
	typ, object, err := wire.WatchEvent(frame)
	if typ != "ADDED" || !bytes.Equal(object, raw) || err != nil {
		t.Errorf("%q, %d bytes, %v", typ, len(object), err)
	}
}

// Ensures that a reader says of each object what it is, also where the one before it was of another type or of none, and
// allocates nothing for objects of one type.
func TestEnvelopeReader_Read(t *testing.T) {
	pod := inEnvelope(t, typed(newPod(1)))
	service := inEnvelope(t, &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}})
	untyped := inEnvelope(t, &corev1.Service{})
	var r wire.EnvelopeReader
	for i, raw := range [][]byte{pod, pod, service, untyped, service, pod} {
		apiVersion, kind, body, err := r.Read(raw)
		wantVersion, wantKind, wantBody, wantErr := wire.Envelope(raw)
		if apiVersion != wantVersion || kind != wantKind || !bytes.Equal(body, wantBody) || err != nil || wantErr != nil {
			t.Errorf("envelope %d: %q, %q, %d bytes, %v; want %q, %q, %d bytes, %v", i, apiVersion, kind, len(body), err, wantVersion, wantKind, len(wantBody), wantErr)
		}
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _, _ = r.Read(pod) }); n != 0 {
		t.Errorf("%g allocations for one more pod", n)
	}
}

// Ensures that envelopes and events that are broken or unusual are refused.
func TestEnvelope_Trouble(t *testing.T) {
	magic := []byte("k8s\x00")
	for _, test := range []struct {
		name string
		raw  []byte
		want error
	}{
		{"no magic", []byte("k8s"), wire.ErrMalformed},
		{"two bodies", join(magic, field(2), field(2)), wire.ErrUnusual},
		{"gzip inside", join(magic, field(2), field(3, []byte("gzip"))), wire.ErrUnusual},
		{"two types", join(magic, field(1), field(1)), wire.ErrUnusual},
		{"cut off", join(magic, field(2, []byte("abc")))[:7], wire.ErrMalformed},
		{"type cut off", join(magic, field(1, []byte{0x0a, 9})), wire.ErrMalformed},
	} {
		_, _, _, err := wire.Envelope(test.raw)
		if wantErr(t, err, test.want); t.Failed() {
			t.Fatal(test.name)
		}
	}
	for raw, want := range map[string]error{
		string(join(field(1), field(1))):     wire.ErrUnusual,
		string(join(field(2), field(2))):     wire.ErrUnusual,
		string(field(2, field(1), field(1))): wire.ErrUnusual,
		string(field(2, []byte{0x0a, 7})):    wire.ErrMalformed,
		string(varint(1, 1)):                 wire.ErrMalformed,
	} {
		_, _, err := wire.WatchEvent([]byte(raw))
		wantErr(t, err, want)
	}
	for raw, want := range map[string]error{
		`{"type":"A","type":"B"}`: wire.ErrUnusual, `{"object":{},"object":{}}`: wire.ErrUnusual,
		`{"type":"A"`: wire.ErrMalformed, `{"type":"A"}{`: wire.ErrMalformed, `{"type":1}`: wire.ErrMalformed, `[]`: wire.ErrMalformed,
	} {
		_, _, err := wire.WatchEventJSON([]byte(raw))
		wantErr(t, err, want)
	}
}

// Ensures that a JSON event is split whatever the order and the spaces.
func TestWatchEventJSON_Forms(t *testing.T) {
	for _, test := range []struct{ raw, typ, object string }{
		{`{"type":"MODIFIED","object":{"a":"}"}}`, "MODIFIED", `{"a":"}"}`},
		{` { "object" : { } , "more" : 1, "type" : "BOOKMARK" } `, "BOOKMARK", `{ }`},
		{`{"type":"NEWS"}`, "NEWS", ``},
		{`{"type":"DELETED","object":null}`, "DELETED", ``},
	} {
		typ, object, err := wire.WatchEventJSON([]byte(test.raw))
		if typ != test.typ || string(object) != test.object || err != nil {
			t.Errorf("%s: %q, %s, %v", test.raw, typ, object, err)
		}
	}
}
