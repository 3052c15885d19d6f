package decode_test

import (
	"bytes"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
)

func BenchmarkDecode_Pod(b *testing.B)        { benchmarkDecode(b, workload.Pods) }
func BenchmarkDecode_Deployment(b *testing.B) { benchmarkDecode(b, workload.Deployments) }
func BenchmarkDecode_Node(b *testing.B)       { benchmarkDecode(b, workload.Nodes) }

// The bytes are made anew each time, as a store that keeps them compressed makes them.
func BenchmarkDecodeOwned_Pod(b *testing.B) {
	t, raws := workloadObjects(b, workload.Pods, 16)
	d := compile(b, t, nil)
	each(b, raws, func(raw []byte) error {
		return d.DecodeOwned(object.Protobuf, bytes.Clone(raw), reflect.New(t).Interface())
	})
}

func BenchmarkUnmarshal_Pod(b *testing.B)        { benchmarkUnmarshal(b, workload.Pods) }
func BenchmarkUnmarshal_Deployment(b *testing.B) { benchmarkUnmarshal(b, workload.Deployments) }
func BenchmarkUnmarshal_Node(b *testing.B)       { benchmarkUnmarshal(b, workload.Nodes) }

func benchmarkDecode(b *testing.B, kind workload.Kind) {
	t, raws := workloadObjects(b, kind, 16)
	d := compile(b, t, nil)
	each(b, raws, func(raw []byte) error {
		return d.Decode(object.Protobuf, raw, reflect.New(t).Interface())
	})
}

func benchmarkUnmarshal(b *testing.B, kind workload.Kind) {
	t, raws := workloadObjects(b, kind, 16)
	each(b, raws, func(raw []byte) error {
		return reflect.New(t).Interface().(message).Unmarshal(raw)
	})
}

func BenchmarkDecode_SlimPod(b *testing.B) {
	_, raws := workloadObjects(b, workload.Pods, 16)
	d := compile(b, reflect.TypeFor[podLite](), reflect.TypeFor[corev1.Pod]())
	each(b, raws, func(raw []byte) error { return d.Decode(object.Protobuf, raw, new(podLite)) })
}

func BenchmarkDecode_PodNode(b *testing.B) {
	type node struct{ Spec struct{ NodeName string } }
	_, raws := workloadObjects(b, workload.Pods, 16)
	d := compile(b, reflect.TypeFor[node](), reflect.TypeFor[corev1.Pod]())
	each(b, raws, func(raw []byte) error { return d.Decode(object.Protobuf, raw, new(node)) })
}

// each runs f on one object after the other; the figures are those of an average object.
func each(b *testing.B, raws [][]byte, f func(raw []byte) error) {
	b.ReportAllocs()
	size := 0
	for _, raw := range raws {
		size += len(raw)
	}
	b.SetBytes(int64(size / len(raws)))
	for i := 0; b.Loop(); i++ {
		if err := f(raws[i%len(raws)]); err != nil {
			b.Fatal(err)
		}
	}
}
