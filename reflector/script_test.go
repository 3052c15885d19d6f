package reflector_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
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
