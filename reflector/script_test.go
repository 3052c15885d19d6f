package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// call is one call that a scripted source got.
type call struct {
	op      string // "list", "watch", or "stream" for a streaming list
	options metav1.ListOptions
	at      time.Duration // since the start of the test
}

// String is "op@version", the version in quotes if it is empty.
func (c call) String() string {
	v := c.options.ResourceVersion
	if v == "" {
		v = `""`
	}
	return c.op + "@" + v
}

// script is a source whose answers are functions of how often it has been asked.
type script struct {
	noStreaming bool
	onList      func(n int, o metav1.ListOptions) (source.List, error)
	onWatch     func(n int, o metav1.ListOptions) ([]step, error)
	onStream    func(n int, o metav1.ListOptions) ([]step, error)
	head        func(ctx context.Context) // blocks before a watch is answered

	start time.Time
	mu    sync.Mutex
	calls []call
	open  int // answers that have not been closed
}

func (s *script) note(op string, o metav1.ListOptions) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if c.op == op {
			n++
		}
	}
	s.calls = append(s.calls, call{op, o, time.Since(s.start)})
	return n
}

func (s *script) opened(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open += n
}

func (s *script) List(_ context.Context, o metav1.ListOptions) (source.List, error) {
	n := s.note("list", o)
	l, err := s.onList(n, o)
	if err != nil {
		return nil, err
	}
	s.opened(1)
	return &scriptedList{List: l, s: s}, nil
}

func (s *script) Watch(ctx context.Context, o metav1.ListOptions) (source.Watch, error) {
	op, answer := "watch", s.onWatch
	if o.SendInitialEvents != nil {
		op, answer = "stream", s.onStream
	}
	n := s.note(op, o)
	if s.head != nil {
		s.head(ctx)
	}
	steps, err := answer(n, o)
	if err != nil {
		return nil, err
	}
	s.opened(1)
	return &scriptedWatch{ctx: ctx, s: s, steps: steps, closed: make(chan struct{})}, nil
}

func (s *script) SupportsStreamingList() bool { return !s.noStreaming }
func (s *script) Describe() string            { return `pods in "prod"` }

// log returns the calls so far.
func (s *script) log() []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]call(nil), s.calls...)
}

type scriptedList struct {
	source.List
	s    *script
	once sync.Once
}

func (l *scriptedList) Close() error {
	l.once.Do(func() { l.s.opened(-1) })
	return l.List.Close()
}

// step is one thing that a scripted watch does.
type step struct {
	after time.Duration
	ev    source.Event
	err   error // ends the watch
	hang  bool  // nothing more comes
}

type scriptedWatch struct {
	ctx    context.Context
	s      *script
	steps  []step
	once   sync.Once
	closed chan struct{}
}

func (w *scriptedWatch) Next() (source.Event, error) {
	if len(w.steps) == 0 {
		return source.Event{}, io.EOF
	}
	st := w.steps[0]
	var timer <-chan time.Time
	if !st.hang {
		if st.after == 0 {
			w.steps = w.steps[1:]
			return st.ev, st.err
		}
		timer = time.After(st.after)
	}
	select {
	case <-timer:
		w.steps = w.steps[1:]
		return st.ev, st.err
	case <-w.closed:
		return source.Event{}, errors.New("closed")
	case <-w.ctx.Done():
		return source.Event{}, context.Cause(w.ctx)
	}
}

func (w *scriptedWatch) Buffered() bool {
	return len(w.steps) > 0 && w.steps[0].after == 0 && w.steps[0].err == nil && !w.steps[0].hang
}

func (w *scriptedWatch) Close() error {
	w.once.Do(func() { close(w.closed); w.s.opened(-1) })
	return nil
}

var pods = schema.GroupVersionKind{Version: "v1", Kind: "Pod"}

// pod returns an object of the version; "" = none.
func pod(key, version string) *object.Object {
	return &object.Object{Meta: object.Meta{Key: key, Version: version}}
}

func ev(t source.EventType, key, version string) step {
	return step{ev: source.Event{Type: t, GVK: pods, Object: pod(key, version)}}
}

func added(key, version string) step    { return ev(source.Added, key, version) }
func modified(key, version string) step { return ev(source.Modified, key, version) }
func deleted(key, version string) step  { return ev(source.Deleted, key, version) }
func bookmark(version string) step      { return ev(source.Bookmark, "", version) }
func failure(err error) step            { return step{ev: source.Event{Type: source.Error, Err: err}} }
func end() step                         { return step{err: io.EOF} }
func hang() step                        { return step{hang: true} }

func initialEnd(version string) step {
	s := bookmark(version)
	s.ev.InitialEventsEnd = true
	return s
}

// later returns the step delayed.
func later(d time.Duration, s step) step {
	s.after = d
	return s
}

func steps(s ...step) ([]step, error) { return s, nil }

func listAt(version string, items ...*object.Object) (source.List, error) {
	return source.ListOf(source.ListMeta{Version: version}, items...), nil
}

// sink is a plain map that logs what it is told.
type sink struct {
	mu      sync.Mutex
	objects map[string]string // key → version
	log     []string
	err     func(op, key string) error
}

func (s *sink) do(op string, obj *object.Object, change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, op+" "+obj.Key+"@"+obj.Version)
	if s.err != nil {
		if err := s.err(op, obj.Key); err != nil {
			return err
		}
	}
	change()
	return nil
}

func (s *sink) Add(o *object.Object) error {
	return s.do("add", o, func() { s.objects[o.Key] = o.Version })
}

func (s *sink) Update(o *object.Object) error {
	return s.do("update", o, func() { s.objects[o.Key] = o.Version })
}

func (s *sink) Delete(o *object.Object) error {
	return s.do("delete", o, func() { delete(s.objects, o.Key) })
}

func (s *sink) Replace(list []*object.Object, version string) error {
	return s.do("replace", pod(keys(list), version), func() {
		s.objects = map[string]string{}
		for _, o := range list {
			s.objects[o.Key] = o.Version
		}
	})
}

func (s *sink) Resync() error { return s.do("resync", pod("", ""), func() {}) }

func keys(list []*object.Object) string {
	var ks []string
	for _, o := range list {
		ks = append(ks, o.Key+"@"+o.Version)
	}
	return "[" + strings.Join(ks, " ") + "]"
}

// fullSink also has the optional interfaces.
type fullSink struct {
	sink
	stages int // open ones
}

func (s *fullSink) Bookmark(v string) error { return s.do("bookmark", pod("", v), func() {}) }
func (s *fullSink) Flush() error            { return s.do("flush", pod("", ""), func() {}) }

func (s *fullSink) Stage(suspect bool) reflector.Stage {
	s.do(fmt.Sprintf("stage(%v)", suspect), pod("", ""), func() { s.stages++ })
	return &stage{s: s}
}

type stage struct {
	s     *fullSink
	items []*object.Object
}

func (st *stage) Add(o *object.Object) error {
	return st.s.do("stage add", o, func() { st.items = append(st.items, o) })
}

func (st *stage) Delete(o *object.Object) error {
	return st.s.do("stage delete", o, func() {
		for i, item := range st.items {
			if item.Key == o.Key {
				st.items = append(st.items[:i], st.items[i+1:]...)
				return
			}
		}
	})
}

func (st *stage) Commit(version string, newEpoch bool) error {
	st.s.mu.Lock()
	st.s.stages--
	st.s.mu.Unlock()
	return st.s.do(fmt.Sprintf("commit(%v)", newEpoch), pod(keys(st.items), version), func() {
		st.s.objects = map[string]string{}
		for _, o := range st.items {
			st.s.objects[o.Key] = o.Version
		}
	})
}

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
		o.Logger = slog.New(slog.DiscardHandler)
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
		time.Sleep(d)
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
