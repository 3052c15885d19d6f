package reflector_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

func (st *stage) Abort() { st.s.do("abort", pod("", ""), func() { st.s.stages-- }) }

// report is one call of the error handler.
type report struct {
	failures int
	err      error
}

// bench is one run of a reflector in a bubble of fake time.
type bench struct {
	t       *testing.T
	src     *script
	sink    *fullSink
	r       *reflector.Reflector
	mu      sync.Mutex
	reports []report
}

// run runs a reflector for the given time, then ends it and checks that nothing is left open.
func run(t *testing.T, src *script, o reflector.Options, d time.Duration, check func(b *bench)) {
	t.Helper()
	runInto(t, src, nil, o, d, check)
}

// runInto is run with the sink wrapped, so that it has fewer interfaces or behaves otherwise.
func runInto(t *testing.T, src *script, wrap func(*fullSink) reflector.Sink, o reflector.Options, d time.Duration, check func(b *bench)) {
	t.Helper()
	runSource(t, src, src, wrap, o, d, check)
}

// runSource is runInto with the script wrapped.
func runSource(t *testing.T, lw source.ListerWatcher, src *script, wrap func(*fullSink) reflector.Sink, o reflector.Options, d time.Duration, check func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		src.start = time.Now()
		b := &bench{t: t, src: src, sink: &fullSink{sink: sink{objects: map[string]string{}}}}
		if o.Logger == nil {
			o.Logger = slog.New(slog.DiscardHandler)
		}
		if o.Name == "" {
			o.Name = "test"
		}
		o.ErrorHandler = func(name string, failures int, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if name != o.Name {
				t.Errorf("error handler got the name %q", name)
			}
			b.reports = append(b.reports, report{failures, err})
		}
		var into reflector.Sink = b.sink
		if wrap != nil {
			into = wrap(b.sink)
		}
		b.r = reflector.New(lw, into, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- b.r.Run(ctx) }()
		time.Sleep(d) // fake time: it takes none
		synctest.Wait()
		check(b)
		ended := time.Now()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(ended); took != 0 {
			t.Errorf("Run took %s to return after its context ended", took)
		}
		if src.open != 0 || b.sink.stages != 0 {
			t.Errorf("left open: %d lists and watches, %d stages", src.open, b.sink.stages)
		}
	})
}

// wantCalls checks which calls the source got, as "op@version ...".
func (b *bench) wantCalls(want string) {
	b.t.Helper()
	var got []string
	for _, c := range b.src.log() {
		got = append(got, c.String())
	}
	if g := strings.Join(got, " "); g != want {
		b.t.Errorf("calls:\n got %s\nwant %s", g, want)
	}
}

// wantLog checks what the sink was told, leaving out flushes.
func (b *bench) wantLog(want ...string) {
	b.t.Helper()
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	var got []string
	for _, l := range b.sink.log {
		if l != "flush @" {
			got = append(got, l)
		}
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		b.t.Errorf("sink got:\n%s\nwant:\n%s", g, w)
	}
}

func (b *bench) wantObjects(want string) {
	b.t.Helper()
	b.sink.mu.Lock()
	defer b.sink.mu.Unlock()
	if got := fmt.Sprint(b.sink.objects); got != "map["+want+"]" {
		b.t.Errorf("sink holds %s, want %s", got, want)
	}
}

func (b *bench) wantVersion(want string) {
	b.t.Helper()
	if got := b.r.LastSyncResourceVersion(); got != want {
		b.t.Errorf("version %q, want %q", got, want)
	}
}

// wantReports checks how many errors were reported, and that each contains one text.
func (b *bench) wantReports(n int, contains string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.reports) != n {
		b.t.Errorf("%d reports, want %d: %v", len(b.reports), n, b.reports)
	}
	for _, r := range b.reports {
		if !strings.Contains(r.err.Error(), contains) {
			b.t.Errorf("report %q lacks %q", r.err, contains)
		}
	}
}
