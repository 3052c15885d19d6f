package queue_test

import (
	"fmt"
	"testing"

	"github.com/tarn-dev/tarn/queue"
)

func pointerKey(p *pod) (string, error) { return p.name, nil }

func BenchmarkFIFO_AddPop(b *testing.B) {
	benchmarkAddPop(b, queue.NewFIFO(pointerKey))
}

func BenchmarkDeltaFIFO_AddPop(b *testing.B) {
	benchmarkAddPop(b, queue.NewDeltaFIFO(pointerKey, queue.Options[*pod]{}))
}

// benchmarkAddPop keeps 100 keys pending.
func benchmarkAddPop[I any](b *testing.B, q queue.Queue[*pod, I]) {
	pods := make([]*pod, 100)
	for i := range pods {
		pods[i] = &pod{name: fmt.Sprint("pod-", i)}
	}
	var process queue.ProcessFunc[I] = nothing[I]
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := q.Add(pods[i%len(pods)]); err != nil {
			b.Fatal(err)
		}
		if i < len(pods)/2 {
			continue
		}
		if _, err := q.Pop(process); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDeltaFIFO_Contended(b *testing.B) {
	q := queue.NewDeltaFIFO(pointerKey, queue.Options[*pod]{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := q.Pop(nothing[queue.Deltas[*pod]]); err != nil {
				return
			}
		}
	}()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		pods := make([]*pod, 100)
		for i := range pods {
			pods[i] = &pod{name: fmt.Sprint("pod-", i)}
		}
		for i := 0; pb.Next(); i++ {
			if err := q.Add(pods[i%len(pods)]); err != nil {
				b.Error(err)
			}
		}
	})
	q.Close()
	<-done
}

func BenchmarkDeltaFIFO_Replace(b *testing.B) {
	// A relist of 50,000 objects and the popping of all of them.
	list := make([]*pod, 50_000)
	for i := range list {
		list[i] = &pod{name: fmt.Sprintf("namespace-%d/pod-%d", i%100, i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		q := queue.NewDeltaFIFO(pointerKey, queue.Options[*pod]{})
		if err := q.Replace(list, "1"); err != nil {
			b.Fatal(err)
		}
		for !q.HasSynced() {
			if _, err := q.Pop(nothing[queue.Deltas[*pod]]); err != nil {
				b.Fatal(err)
			}
		}
	}
}
