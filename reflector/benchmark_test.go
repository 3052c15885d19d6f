package reflector_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// BenchmarkReflector_Watch measures what the reflector itself costs per event that is already there.
func BenchmarkReflector_Watch(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	w := &countedWatch{ctx: ctx, left: b.N, cancel: cancel, ev: modified("prod/a", "11").ev}
	lw := source.NewListWatch(
		func(context.Context, metav1.ListOptions) (source.List, error) { return listAt("10") },
		func(context.Context, metav1.ListOptions) (source.Watch, error) { return w, nil },
	)
	r := reflector.New(lw, nothing{}, reflector.Options{StreamingList: reflector.StreamingOff})
	b.ReportAllocs()
	b.ResetTimer()
	if err := r.Run(ctx); err != nil {
		b.Fatal(err)
	}
}

// countedWatch brings one event so many times, then ends the run.
type countedWatch struct {
	ctx    context.Context
	left   int
	cancel func()
	ev     source.Event
}

func (w *countedWatch) Next() (source.Event, error) {
	if w.left == 0 {
		w.cancel()
		<-w.ctx.Done()
		return source.Event{}, context.Cause(w.ctx)
	}
	w.left--
	return w.ev, nil
}

func (w *countedWatch) Buffered() bool { return w.left > 0 }
func (w *countedWatch) Close() error   { return nil }

// nothing is a sink that keeps nothing.
type nothing struct{}

func (nothing) Add(*object.Object) error               { return nil }
func (nothing) Update(*object.Object) error            { return nil }
func (nothing) Delete(*object.Object) error            { return nil }
func (nothing) Replace([]*object.Object, string) error { return nil }
func (nothing) Resync() error                          { return nil }
