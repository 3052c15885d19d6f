package tarn_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/tarntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devcluster.Sharing(m)) }

// Widget is a plain struct, as a user would have one.
type Widget struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              WidgetSpec `json:"spec"`
}

// WidgetSpec is what a Widget is about.
type WidgetSpec struct {
	Node string `json:"node,omitempty"`
	Size int    `json:"size,omitempty"`
}

func widget(key, node string, size int, labels ...string) *Widget {
	namespace, name := object.SplitKey(key)
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: WidgetSpec{node, size}}
	for i := 0; i < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&w.ObjectMeta, labels[i], labels[i+1])
	}
	return w
}

func newSource(options ...tarntest.Option) *tarntest.Source {
	return tarntest.NewSource(tarntest.JSON[Widget](), options...)
}

// The tests run for each layout: with -live, informers that do not say how to keep objects keep them decoded.
var live = flag.Bool("live", false, "keep objects decoded, as tarn.Live does")

// byLayout returns the options with that of the layout under test before them.
func byLayout(options []tarn.Option) []tarn.Option {
	if *live {
		options = append([]tarn.Option{tarn.Live()}, options...)
	}
	return options
}

// newInformer returns an informer of src that logs nothing.
func newInformer(t testing.TB, src *tarntest.Source, options ...tarn.Option) *tarn.Informer[*Widget] {
	t.Helper()
	options = append([]tarn.Option{tarn.Logger(slog.New(slog.DiscardHandler)), tarn.Name("widgets")}, byLayout(options)...)
	i, err := tarn.New[*Widget](src, tarntest.JSON[Widget](), options...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

type runner interface{ Run(context.Context) error }

// run runs i until the returned function is called, which waits for Run to return.
func run(t testing.TB, i runner) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- i.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	t.Cleanup(stop)
	return stop
}

// recorder is a handler that writes down what it is given.
type recorder struct {
	mu     sync.Mutex
	events []string
	block  chan struct{} // nil, or what each call waits for
}

func (r *recorder) Handle(_ context.Context, e tarn.Event[*Widget]) {
	if r.block != nil {
		<-r.block
	}
	s := fmt.Sprintf("%s %s", e.Type, e.Key)
	size := func(w *Widget, err error) string {
		switch {
		case errors.Is(err, tarn.ErrNoValue):
			return ""
		case err != nil:
			return "error"
		}
		return fmt.Sprint(w.Spec.Size)
	}
	switch e.Type {
	case tarn.Updated:
		s += " " + size(e.Old()) + ">" + size(e.New())
	default:
		s += " " + size(e.New())
	}
	if e.Initial {
		s += " initial"
	}
	if e.FinalStateUnknown {
		s += " unknown"
	}
	r.mu.Lock()
	r.events = append(r.events, s)
	r.mu.Unlock()
}

// take returns what was recorded since the last call, once nothing moves any more.
func (r *recorder) take() string {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.events, ", ")
	r.events = nil
	return s
}

func expect(t testing.TB, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func subscribe(t testing.TB, i *tarn.Informer[*Widget], options ...tarn.SubscribeOption) (*recorder, *tarn.Subscription) {
	t.Helper()
	r := &recorder{}
	s, err := i.Subscribe(r, options...)
	if err != nil {
		t.Fatal(err)
	}
	return r, s
}
