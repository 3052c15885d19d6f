package kube_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"runtime/metrics"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

// maxReading is how much memory the reading of a list may take, whatever its length, besides the objects that are kept.
const maxReading = 16 << 20

// readAndDrop reads a list without keeping its items. It returns how many items and bytes there were, and how much
// memory the reading held at most. It looks 20 times in 20,000 items, each time after a collection: how much garbage
// lies around besides is the collector's setting.
func readAndDrop(t testing.TB, lw source.ListerWatcher, options metav1.ListOptions) (items, size int, peak uint64) {
	t.Helper()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	heap := func() uint64 {
		runtime.GC()
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	heap()
	before := heap()
	l, err := lw.List(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for {
		o, err := l.Next()
		if err == io.EOF {
			return items, size, peak
		}
		if err != nil || o.Err != nil {
			t.Fatalf("item %d: %v, %v", items, o, err)
		}
		items++
		size += len(o.Raw)
		if items%1000 == 0 {
			if now := heap(); now > before {
				peak = max(peak, now-before)
			}
		}
	}
}

// protobufHead returns a list's bytes up to its items, which take size bytes.
func protobufHead(t testing.TB, size int) []byte {
	t.Helper()
	head := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "9"}}
	meta, err := head.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	typeMeta := []byte("\x0a\x02v1\x12\x07PodList")
	b := append([]byte("k8s\x00"), 0x0a, byte(len(typeMeta)))
	b = append(b, typeMeta...)
	b = binary.AppendUvarint(append(b, 0x12), uint64(len(meta)+size))
	return append(b, meta...)
}

// servePods serves a list of n pods of the workload, made of a few hundred different ones.
func servePods(t testing.TB, n int) http.HandlerFunc {
	t.Helper()
	pods := workload.New(workload.Options{Pods: 300})
	var items [][]byte
	size := 0
	for pod := range pods.All(workload.Pods) {
		_, raw, err := workload.Encode(pod)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, append(binary.AppendUvarint([]byte{0x12}, uint64(len(raw))), raw...))
	}
	for i := range n {
		size += len(items[i%len(items)])
	}
	head := protobufHead(t, size)
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", protobufMedia)
		_, _ = w.Write(head)
		for i := range n {
			_, _ = w.Write(items[i%len(items)])
		}
	}
}

// Ensures that reading a list of 20,000 pods takes no more memory than a few of them.
func TestSource_List_MemoryDoesNotGrow(t *testing.T) {
	const n = 20_000
	src := newSource(t, startServer(t, servePods(t, n)), typedPods)
	if _, err := src.Mapping(context.Background()); err != nil {
		t.Fatal(err)
	}
	items, size, peak := readAndDrop(t, src, metav1.ListOptions{})
	t.Logf("%d pods, %.1f MB, mean %d bytes: at most %.1f MB held", items, float64(size)/1e6, size/items, float64(peak)/1e6)
	if items != n || size < n*5000 {
		t.Errorf("%d items, %d bytes", items, size)
	}
	if peak > maxReading {
		t.Errorf("%d bytes held, want at most %d", peak, maxReading)
	}
}

// What it takes to read a pod of a list from a local server: time, allocations and bytes per object.
func BenchmarkSource_List(b *testing.B) {
	src, err := newClient(b, startServer(b, servePods(b, b.N))).Source(typedPods)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := src.Mapping(context.Background()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	l, err := src.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	size := 0
	for {
		o, err := l.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		size += len(o.Raw)
	}
	b.SetBytes(int64(size / b.N))
}

// What it takes to make an object of a pod's bytes, next to decoding it.
func BenchmarkObject(b *testing.B) {
	pod := workload.New(workload.Options{}).Object(workload.Pods, 7)
	enc, raw, err := workload.Encode(pod)
	if err != nil {
		b.Fatal(err)
	}
	codec := codecFor(b, &corev1.Pod{})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if o := kube.NewObject(enc, raw, codec); o.Err != nil {
				b.Fatal(o.Err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			if _, err := codec.Decode(enc, raw); err != nil {
				b.Fatal(err)
			}
		}
	})
}
