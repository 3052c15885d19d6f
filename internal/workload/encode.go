package workload

import (
	"bytes"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tarn-dev/tarn/object"
)

// Encode returns obj as a server sends it: a bare protobuf message where the type has one, else JSON. The bytes are
// new. A protobuf message carries no kind, as in the items of a list.
func Encode(obj Object) (object.Encoding, []byte, error) {
	switch o := obj.(type) {
	case interface{ Marshal() ([]byte, error) }:
		raw, err := o.Marshal()
		return object.Protobuf, raw, err
	case *unstructured.Unstructured:
		raw, err := o.MarshalJSON()
		return object.JSON, bytes.TrimSpace(raw), err
	}
	return object.None, nil, fmt.Errorf("workload: cannot encode %T", obj)
}

// ForCreate returns a copy of obj as a client sends it: without uid, resourceVersion, generation, creationTimestamp and
// managedFields, which the server sets. The status stays; servers ignore it except at the status subresource.
func ForCreate(obj Object) Object {
	o := obj.DeepCopyObject().(Object)
	strip(o)
	return o
}

// strip removes from o what a server sets.
func strip(o Object) {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetManagedFields(nil)
}
