package tarn_test

import (
	"context"
	"log/slog"
	"runtime"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/wire"
)

// generated is a source of n realistic pods whose watch, once start is closed, brings events modifications as fast as they
// are read.
func generated(b *testing.B, n, events int, start <-chan struct{}) source.ListerWatcher {
	b.Helper()
	g := workload.New(workload.Options{Seed: 1, Pods: n})
	codec, err := kube.CodecFor(&corev1.Pod{})
	if err != nil {
		b.Fatal(err)
	}
	encoded := func(o workload.Object, version int) *object.Object {
		o.SetResourceVersion(strconv.Itoa(version))
		enc, raw, err := workload.Encode(o)
		if err != nil {
			b.Fatal(err)
		}
		meta, err := wire.Meta(enc, raw)
		if err != nil {
			b.Fatal(err)
		}
		return &object.Object{Meta: meta, Encoding: enc, Raw: raw, Codec: codec}
	}
	version := 1
	changes := make([]*object.Object, events)
	for e := range changes {
		changes[e] = encoded(g.Change(workload.Pods, e%n, 1+e/n).Object, n+2+e)
	}
	return &source.ListWatch{
		DisableStreamingList: true,
		ListFunc: func(context.Context, metav1.ListOptions) (source.List, error) {
			items := make([]*object.Object, 0, n)
			for o := range g.All(workload.Pods) {
				version++
				items = append(items, encoded(o, version))
			}
			return source.ListOf(source.ListMeta{Version: strconv.Itoa(n + 1)}, items...), nil
		},
		WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (source.Watch, error) {
			return &burst{ctx: ctx, changes: changes, start: start}, nil
		},
	}
}

// burst is a watch whose events are all there.
type burst struct {
	ctx     context.Context
	changes []*object.Object
	start   <-chan struct{}
	at      int
}

func (w *burst) Next() (source.Event, error) {
	select {
	case <-w.start:
	case <-w.ctx.Done():
		return source.Event{}, w.ctx.Err()
	}
	if w.at < len(w.changes) {
		w.at++
		return source.Event{Type: source.Modified, Object: w.changes[w.at-1]}, nil
	}
	<-w.ctx.Done()
	return source.Event{}, w.ctx.Err()
}

func (w *burst) Buffered() bool { return w.at > 0 && w.at < len(w.changes) }
func (w *burst) Close() error   { return nil }

// heap returns the bytes in live objects.
func heap() int {
	runtime.GC()
	runtime.GC() // what finalizers and pools let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// What an informer of 5,000 realistic pods keeps, per pod: encoded (the default), and decoded as other libraries do.
func BenchmarkInformer_Heap(b *testing.B) {
	const n = 5000
	for name, options := range map[string][]tarn.Option{"encoded": nil, "decoded": {tarn.Live()}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				src := generated(b, n, 0, nil)
				before := heap()
				pods, err := tarn.New[*corev1.Pod](src, nil, append(options, tarn.Logger(slog.New(slog.DiscardHandler)))...)
				if err != nil {
					b.Fatal(err)
				}
				ctx, cancel := context.WithCancel(b.Context())
				done := make(chan error, 1)
				go func() { done <- pods.Run(ctx) }()
				if err := pods.WaitSynced(ctx); err != nil {
					b.Fatal(err)
				}
				after := heap()
				if pods.Len() != n {
					b.Fatalf("%d pods", pods.Len())
				}
				b.ReportMetric(float64(after-before)/n, "heap-B/pod")
				b.ReportMetric(float64(pods.Status().Bytes)/n, "wire-B/pod")
				cancel()
				<-done
			}
		})
	}
}

// A burst of modifications of 2,000 pods through the whole pipeline to a handler that needs the key only, or decodes.
func BenchmarkInformer_Burst(b *testing.B) {
	const n, events = 2000, 20000
	for name, decode := range map[string]bool{"key": false, "decode": true} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N { // not b.Loop: the timer stands still while a round is set up
				b.StopTimer()
				start := make(chan struct{})
				pods, err := tarn.New[*corev1.Pod](generated(b, n, events, start), nil, tarn.Logger(slog.New(slog.DiscardHandler)))
				if err != nil {
					b.Fatal(err)
				}
				all := make(chan struct{})
				seen, initial := 0, make(chan struct{})
				_, err = pods.Subscribe(tarn.HandlerFunc[*corev1.Pod](func(_ context.Context, e tarn.Event[*corev1.Pod]) {
					if decode {
						if _, err := e.New(); err != nil {
							b.Error(err)
						}
					}
					if seen++; seen == n {
						close(initial)
					}
					if seen == n+events {
						close(all)
					}
				}), tarn.Backlog(events+n, 1<<40))
				if err != nil {
					b.Fatal(err)
				}
				ctx, cancel := context.WithCancel(b.Context())
				done := make(chan error, 1)
				go func() { done <- pods.Run(ctx) }()
				<-initial
				b.StartTimer()
				close(start)
				<-all
				b.StopTimer()
				cancel()
				<-done
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
		})
	}
}
