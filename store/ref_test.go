package store_test

import (
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/store"
)

// podsIn returns a store of pods that decode, and the pods.
func podsIn(t *testing.T, layout store.Layout) (*store.Store, []*object.Object) {
	t.Helper()
	codec, err := kube.CodecFor(&corev1.Pod{})
	must(t, err)
	s := store.New(store.Options{Layout: layout})
	pods := podsOf(t, workload.New(workload.Options{Pods: 300}), 0, 300)
	for _, o := range pods {
		o.Codec = codec
		put(t, s, o)
	}
	return s, pods
}

// Ensures that the value of a reference is what the object decodes to, and that whoever gets it may do with it what they
// like: the next one is not touched.
func TestRef_Decode_Private(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s, pods := podsIn(t, layout)
		for round := range 3 {
			for _, o := range pods {
				want, err := o.Decode()
				must(t, err)
				got, err := s.Snapshot().Ref(o.Key).Decode()
				must(t, err)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%s differs in round %d", o.Key, round)
				}
				pod := got.(*corev1.Pod)
				pod.Labels["changed"] = "yes"
				pod.Spec.Containers[0].Image = "changed"
				for i := range pod.ManagedFields {
					clear(pod.ManagedFields[i].FieldsV1.GetRawBytes())
				}
			}
		}
	})
}

// Ensures that the error of decoding names the object.
func TestRef_Decode_Error(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, OnError: func(*object.Object, error) {}})
		o := &object.Object{Encoding: object.JSON, Raw: []byte(`{"metadata":{"name":"broken","namespace":"a","uid":"u","resourceVersion":"1"},"node":7}`), Codec: codec{}, Derived: true}
		o.Meta = object.Meta{Key: "a/broken", UID: "u", Version: "1"}
		put(t, s, o)
		if _, err := s.Snapshot().Ref("a/broken").Decode(); err == nil || !strings.Contains(err.Error(), "a/broken") {
			t.Errorf("error = %v", err)
		}
	})
}

// Ensures that lent bytes are those of the object, and that a value that is kept decoded is lent as such.
func TestRef_Lend(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s, pods := podsIn(t, layout)
		for _, want := range pods {
			calls := 0
			s.Snapshot().Ref(want.Key).Lend(func(got *object.Object) {
				calls++
				if layout == store.Live {
					if got.Value == nil {
						t.Fatal("no value")
					}
					return
				}
				if got.Encoding != want.Encoding || string(got.Raw) != string(want.Raw) || got.Codec != want.Codec {
					t.Fatalf("%s is lent other bytes", want.Key)
				}
			})
			if calls != 1 {
				t.Fatalf("%d calls", calls)
			}
		}
		store.Ref{}.Lend(func(*object.Object) { t.Error("the zero Ref lends something") })
	})
}

// Ensures that the ID of a stored version is the same wherever a reference to it comes from, and another one for another
// version.
func TestRef_ID(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s, pods := podsIn(t, layout)
		before := s.Snapshot()
		first := pods[0]
		second := *first
		second.Version += "1"
		second.Derived = false
		put(t, s, &second)
		seen := map[*byte]string{}
		for key, ref := range s.Snapshot().Refs() {
			if other, ok := seen[ref.ID()]; ok || ref.ID() == nil {
				t.Errorf("%s and %s have one ID", key, other)
			}
			seen[ref.ID()] = key
			if same := ref.ID() == before.Ref(key).ID(); same != (key != first.Key) {
				t.Errorf("%s: the same ID: %v", key, same)
			}
		}
		if (store.Ref{}).ID() != nil {
			t.Error("the zero Ref has an ID")
		}
	})
}
