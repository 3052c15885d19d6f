package tarntest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/tarntest"
)

// Ensures that a value comes back as it went in, as a value of the caller's own.
func TestJSON_RoundTrip(t *testing.T) {
	codec := tarntest.JSON[Widget]()
	w := widget("default/a", 3, "k", "v")
	enc, raw, err := codec.Encode(w)
	if err != nil || enc != object.JSON {
		t.Fatalf("encoded as %s, %v", enc, err)
	}
	decoded, err := codec.Decode(enc, raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, got := range []any{decoded, codec.Copy(w)} {
		if diff := cmp.Diff(any(w), got); diff != "" {
			t.Errorf("came back different: %s", diff)
		}
		got.(*Widget).Labels["k"] = "changed"
	}
	equal(t, "label of the original", w.Labels["k"], "v")
}

// Ensures that every field of the metadata is read, of a Kubernetes type too.
func TestJSON_Meta(t *testing.T) {
	deleted := metav1.Unix(20, 0)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "n", UID: "u", ResourceVersion: "7", Generation: 3,
		CreationTimestamp: metav1.Unix(10, 0), DeletionTimestamp: &deleted,
		Labels: map[string]string{"b": "2", "a": "1"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Node", Name: "x", UID: "o1"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "y", UID: "o2", Controller: ptr(true)},
		},
	}}
	got, err := tarntest.JSON[corev1.Pod]().Meta(pod)
	if err != nil {
		t.Fatal(err)
	}
	want := object.Meta{
		Key: "ns/n", UID: "u", Version: "7", Generation: 3, Created: 10, Deleting: 20,
		Labels: object.Labels{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		Owners: []object.Owner{
			{APIVersion: "v1", Kind: "Node", Name: "x", UID: "o1"},
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "y", UID: "o2", Controller: true},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Ensures that what the codec cannot handle is an error, and for Copy, which has none, a panic.
func TestJSON_Errors(t *testing.T) {
	codec := tarntest.JSON[Widget]()
	if _, err := codec.Decode(object.Protobuf, nil); err == nil {
		t.Error("decoded protobuf")
	}
	if _, err := codec.Decode(object.JSON, []byte(`{"size":"x"}`)); err == nil {
		t.Error("decoded a string into an int")
	}
	if _, _, err := codec.Encode(Widget{}); err == nil {
		t.Error("encoded a value that is no pointer")
	}
	if _, err := codec.Meta((*Widget)(nil)); err == nil {
		t.Error("read the metadata of nil")
	}
	defer func() {
		if recover() == nil {
			t.Error("copied a string")
		}
	}()
	codec.Copy("x")
}
