package store_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/wire"
)

// benchPods is how many realistic pods the benchmarks of reading have.
const benchPods = 20_000

// orders are in which order the pods are read: as they lie, as nobody expects, and a hundred of them again and again.
var orders = map[string]func(i int) int{
	"in order": func(i int) int { return i % benchPods },
	"random":   func(i int) int { return i * 7919 % benchPods },
	"again":    func(i int) int { return i * 37 % 100 * (benchPods / 100) },
}

// benchReads runs read on pods that are kept in the default layout.
func benchReads(b *testing.B, read func(b *testing.B, ref store.Ref)) {
	codec, err := kube.CodecFor(&corev1.Pod{})
	must(b, err)
	s := store.New(store.Options{})
	g := workload.New(workload.Options{Pods: benchPods})
	for i := 0; i < benchPods; i += 500 {
		pods := podsOf(b, g, i, i+500)
		for _, o := range pods {
			o.Codec = codec
		}
		put(b, s, pods...)
	}
	keys := s.ListKeys()
	snap := s.Snapshot()
	for name, order := range orders {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				read(b, snap.Ref(keys[order(i)]))
			}
		})
	}
}

// BenchmarkRef_Object measures a read of the encoded form, with its metadata.
func BenchmarkRef_Object(b *testing.B) {
	benchReads(b, func(b *testing.B, ref store.Ref) {
		if ref.Object() == nil {
			b.Fatal("nothing")
		}
	})
}

// BenchmarkRef_Decode measures a read of a private value.
func BenchmarkRef_Decode(b *testing.B) {
	benchReads(b, func(b *testing.B, ref store.Ref) {
		if _, err := ref.Decode(); err != nil {
			b.Fatal(err)
		}
	})
}

// BenchmarkRef_Lend measures a read of one field.
func BenchmarkRef_Lend(b *testing.B) {
	path, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "status.phase")
	must(b, err)
	var text []byte
	benchReads(b, func(b *testing.B, ref store.Ref) {
		ref.Lend(func(o *object.Object) { text, _, err = path.Append(text[:0], o.Encoding, o.Raw) })
		if err != nil || len(text) == 0 {
			b.Fatal(err)
		}
	})
}

// BenchmarkStore_Prepare measures what is done for an object that comes, before it is put.
func BenchmarkStore_Prepare(b *testing.B) {
	s := store.New(store.Options{})
	pods := podsOf(b, workload.New(workload.Options{Pods: 5000}), 0, 5000)
	put(b, s, pods...)
	for name, step := range map[string]int{"in order": 1, "random": 1787} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				_, err := s.Prepare(pods[i*step%len(pods)])
				must(b, err)
			}
		})
	}
}
