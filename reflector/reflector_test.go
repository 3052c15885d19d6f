package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// plain hides the optional interfaces of a sink.
type plain struct{ reflector.Sink }

func hide(s *fullSink) reflector.Sink { return plain{s} }

// watching is a source whose first watch does the steps and whose others hang.
func watching(s ...step) *script {
	return &script{
		noStreaming: true,
		onList:      lists,
		onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return steps(append(s, hang())...)
			}
			return steps(hang())
		},
	}
}

func TestReflector_Watch_Events(t *testing.T) {
	// ADDED, MODIFIED and DELETED call the sink; each moves the version, as a bookmark does, of which the sink is told.
	src := watching(added("b", "11"), modified("a", "12"), bookmark("15"), deleted("b", "16"))
	run(t, src, reflector.Options{}, time.Second, func(b *bench) {
		b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@10", "add b@11", "update a@12", "bookmark @15", "delete b@16")
		b.wantVersion("16")
		b.wantReports(0, "")
	})
	runInto(t, watching(added("b", "11"), bookmark("15")), hide, reflector.Options{}, time.Second, func(b *bench) {
		b.wantLog("replace [a@5]@10", "add b@11")
		b.wantVersion("15")
	})
}

func TestReflector_Watch_Skipped(t *testing.T) {
	// An event of another kind, a Table, an unknown type or one without an object is reported and skipped and does not move
	// the version; one that does not say its kind is taken.
	other := added("x", "20")
	other.ev.GVK = schema.GroupVersionKind{Version: "v1", Kind: "Node"}
	otherMark := bookmark("20")
	otherMark.ev.GVK = other.ev.GVK
	unknown := step{ev: source.Event{Name: "PAUSED", Object: pod("x", "21")}}
	table := step{ev: source.Event{Type: source.Modified, Err: source.ErrTable}}
	nothing := step{ev: source.Event{Type: source.Added}}
	untold := added("b", "11")
	untold.ev.GVK = schema.GroupVersionKind{}
	src := watching(other, otherMark, unknown, table, nothing, untold)
	run(t, src, reflector.Options{Expected: pods}, time.Second, func(b *bench) {
		b.wantObjects("a:5 b:11")
		b.wantVersion("11")
		b.wantReports(5, `pods in "prod": watch: `)
		for i, want := range []error{reflector.ErrKind, reflector.ErrKind, reflector.ErrEvent, source.ErrTable, reflector.ErrEvent} {
			if !errors.Is(b.reports[i].err, want) {
				t.Errorf("report %d is %v, want %v", i, b.reports[i].err, want)
			}
		}
		if !strings.Contains(b.reports[2].err.Error(), `"PAUSED"`) {
			t.Errorf("report %v", b.reports[2].err)
		}
		b.wantCalls("list@0 watch@10")
	})
	run(t, watching(other), reflector.Options{}, time.Second, func(b *bench) { b.wantObjects("a:5 x:20") })
}

func TestReflector_Watch_NeverGoesBack(t *testing.T) {
	// An event older than the position is applied and does not move it back; versions that do not compare move it as they
	// come.
	run(t, watching(modified("a", "30"), modified("b", "20")), reflector.Options{}, time.Second, func(b *bench) {
		b.wantVersion("30")
		b.wantObjects("a:30 b:20")
	})
	run(t, watching(modified("a", "x"), modified("b", "c")), reflector.Options{}, time.Second, func(b *bench) { b.wantVersion("c") })
}

func TestReflector_Watch_Timeout(t *testing.T) {
	// Each watch asks for bookmarks and a timeout drawn evenly from [min, 2·min], 5 minutes by default.
	for _, least := range []time.Duration{0, 20 * time.Second, 1500 * time.Millisecond} {
		src := &script{noStreaming: true, onList: lists, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			return steps(later(time.Minute, bookmark("11")), end())
		}}
		run(t, src, reflector.Options{MinWatchTimeout: least, IdleSlack: time.Hour}, 200*time.Minute, func(b *bench) {
			if least == 0 {
				least = 5 * time.Minute
			}
			lo, hi := int64(1<<60), int64(0)
			for _, c := range src.log()[1:] {
				if c.op != "watch" || !c.options.AllowWatchBookmarks || c.options.TimeoutSeconds == nil {
					t.Fatalf("call %s with %+v", c, c.options)
				}
				lo, hi = min(lo, *c.options.TimeoutSeconds), max(hi, *c.options.TimeoutSeconds)
			}
			if time.Duration(lo)*time.Second < least || time.Duration(hi)*time.Second > 2*least {
				t.Errorf("timeouts from %d to %d s for min %s", lo, hi, least)
			}
			if least >= 20*time.Second && float64(hi-lo) < 0.8*least.Seconds() {
				t.Errorf("timeouts only from %d to %d s for min %s", lo, hi, least)
			}
		})
	}
}

func TestReflector_Watch_NormalEnd(t *testing.T) {
	// A watch that ends normally is followed at once by one from the last version; no relist, no error.
	src := &script{noStreaming: true, onList: lists, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
		if n == 0 {
			return steps(added("b", "12"), later(time.Minute, end()))
		}
		return steps(later(time.Minute, end()))
	}}
	run(t, src, reflector.Options{}, 150*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10 watch@12 watch@12")
		b.wantReports(0, "")
		if at := src.log()[2].at; at != time.Minute {
			t.Errorf("watched again at %s", at)
		}
	})
}

func TestReflector_Watch_OtherErrors(t *testing.T) {
	// Any other end of a watch is reported, backed off and followed by a list at the last version, never at "0".
	unavailable := apierrors.NewServiceUnavailable("starting")
	for name, answer := range map[string]func() ([]step, error){
		"call":    func() ([]step, error) { return nil, unavailable },
		"event":   func() ([]step, error) { return steps(failure(unavailable)) },
		"no err":  func() ([]step, error) { return steps(failure(nil)) },
		"garbage": func() ([]step, error) { return steps(step{err: errors.New("bad frame")}) },
	} {
		t.Run(name, func(t *testing.T) {
			src := &script{noStreaming: true, onList: lists, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
				if n == 0 {
					return answer()
				}
				return steps(hang())
			}}
			run(t, src, reflector.Options{}, 10*time.Second, func(b *bench) {
				b.wantCalls("list@0 watch@10 list@10 watch@10")
				b.wantReports(1, `pods in "prod": watch: `)
				if at := src.log()[2].at; at < 800*time.Millisecond || at > 1600*time.Millisecond {
					t.Errorf("listed again after %s", at)
				}
			})
		})
	}
}

func TestReflector_List_WithoutVersion(t *testing.T) {
	// A list without a version is an error, leaves no trace and is tried again.
	src := &script{noStreaming: true, onWatch: hanging, onList: func(n int, o metav1.ListOptions) (source.List, error) {
		if n == 0 {
			return listAt("", pod("a", "1"))
		}
		return listAt("10", pod("a", "1"))
	}}
	run(t, src, reflector.Options{}, 5*time.Second, func(b *bench) {
		b.wantCalls("list@0 list@0 watch@10")
		b.wantReports(1, reflector.ErrNoVersion.Error())
		b.wantLog("stage(false) @", "stage add a@1", "abort @", "stage(false) @", "stage add a@1", "commit(false) [a@1]@10")
	})
}

func TestReflector_List_Options(t *testing.T) {
	// A list at a version asks for one not older; at "0" and "" there is no match.
	src := watching(failure(errExpired))
	run(t, src, reflector.Options{}, 5*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10 list@10 watch@10")
		first, second := src.log()[0].options, src.log()[2].options
		if first.ResourceVersionMatch != "" || second.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan {
			t.Errorf("matches %q and %q", first.ResourceVersionMatch, second.ResourceVersionMatch)
		}
	})
}

func TestReflector_Sink_ReplaceFails(t *testing.T) {
	// A list that the sink refuses is an error of its own: it is tried again, and nothing is concluded about the server,
	// even if the sink's error looks like one of its.
	refuse := true
	wrap := func(s *fullSink) reflector.Sink {
		s.err = func(op, key string) error {
			if op == "replace" && refuse {
				refuse = false
				return errExpired
			}
			return nil
		}
		return plain{s}
	}
	runInto(t, watching(), wrap, reflector.Options{}, 5*time.Second, func(b *bench) {
		b.wantCalls("list@0 list@0 watch@10")
		b.wantReports(1, `pods in "prod": list: replace: too old`)
		b.wantObjects("a:5")
	})
}

func TestReflector_Sink_StageOfOneFails(t *testing.T) {
	// One object of a list that the sink refuses is reported with its key, and the list goes on.
	wrap := func(s *fullSink) reflector.Sink {
		s.err = func(op, key string) error {
			if op == "stage add" && key == "bad" {
				return errors.New("does not fit")
			}
			return nil
		}
		return s
	}
	src := watching()
	src.onList = func(int, metav1.ListOptions) (source.List, error) {
		return listAt("10", pod("bad", "1"), pod("a", "5"))
	}
	runInto(t, src, wrap, reflector.Options{}, time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10")
		b.wantReports(1, `pods in "prod": list: bad at version 1: does not fit`)
		b.wantObjects("a:5")
	})
}

func TestReflector_Sink_Flush(t *testing.T) {
	// What has been received is applied together, and published before the reflector blocks and before it asks anything
	// else of the sink.
	var many []step
	for i := range 100 {
		many = append(many, modified("a", fmt.Sprint(11+i)))
	}
	many = append(many, later(time.Second, modified("a", "200")), failure(errExpired))
	run(t, watching(many...), reflector.Options{}, 5*time.Second, func(b *bench) {
		var flushes []int
		for i, l := range b.sink.log {
			if l == "flush @" {
				flushes = append(flushes, i)
			}
		}
		// stage, add, commit; 100 updates, flush; one update, flush; stage ...
		if fmt.Sprint(flushes) != "[103 105]" {
			t.Errorf("flushed at %v of %d", flushes, len(b.sink.log))
		}
	})
	many = nil
	for i := range 3000 {
		many = append(many, modified("a", fmt.Sprint(11+i)))
	}
	run(t, watching(many...), reflector.Options{}, 5*time.Second, func(b *bench) {
		flushes := 0
		for _, l := range b.sink.log {
			if l == "flush @" {
				flushes++
			}
		}
		if flushes != 3 {
			t.Errorf("%d flushes of 3000 events that were all there", flushes)
		}
	})
}

func TestReflector_Sink_FlushFails(t *testing.T) {
	// A sink that cannot publish is followed by a relist.
	failed := false
	wrap := func(s *fullSink) reflector.Sink {
		s.err = func(op, key string) error {
			if op == "flush" && !failed {
				failed = true
				return syscall.ECONNREFUSED // must not be taken for the server's
			}
			return nil
		}
		return s
	}
	src := watching(added("b", "11"))
	src.onList = func(n int, o metav1.ListOptions) (source.List, error) { return listAt([]string{"10", "12"}[n]) }
	runInto(t, src, wrap, reflector.Options{}, 5*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10 list@11 watch@12")
		b.wantReports(1, `pods in "prod": publish: connection refused`)
	})
}

func TestReflector_Sink_Slow(t *testing.T) {
	// A sink that takes longer than the server would be silent is not taken for a dead connection.
	wrap := func(s *fullSink) reflector.Sink {
		s.err = func(op, key string) error {
			if op == "add" && key != "d" {
				time.Sleep(time.Hour)
			}
			return nil
		}
		return s
	}
	src := watching(added("b", "11"), later(time.Second, added("c", "12")), later(time.Second, added("d", "13")))
	runInto(t, src, wrap, reflector.Options{}, 2*time.Hour+time.Minute, func(b *bench) {
		b.wantCalls("list@0 watch@10")
		b.wantReports(0, "")
		b.wantVersion("13")
	})
}

func TestReflector_Watch_InternalErrorsAfterEvents(t *testing.T) {
	// A 500 that comes after an event begins a new row: the deadline is for watches that bring nothing.
	src := &script{noStreaming: true, onList: lists, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
		return steps(modified("a", fmt.Sprint(11+n)), failure(errInternal))
	}}
	wait := func() time.Duration { return 10 * time.Second }
	run(t, src, reflector.Options{InternalErrorRetry: 15 * time.Second, Backoff: wait}, 45*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10 watch@11 watch@12 watch@13 watch@14")
	})
}

func TestReflector_Run_EndlessWatch(t *testing.T) {
	// A watch that always has another event, and does not care about its end, does not keep Run from returning.
	endless := source.NewListWatch(
		func(context.Context, metav1.ListOptions) (source.List, error) { return listAt("10") },
		func(context.Context, metav1.ListOptions) (source.Watch, error) { return endlessWatch{}, nil },
	)
	ctx, cancel := context.WithCancel(t.Context())
	end := func(string) error { cancel(); return nil }
	r := reflector.New(endless, bookmarkSink{plain{&sink{objects: map[string]string{}}}, end}, reflector.Options{StreamingList: reflector.StreamingOff})
	if err := r.Run(ctx); err != nil {
		t.Error(err)
	}
}

type endlessWatch struct{}

func (endlessWatch) Next() (source.Event, error) { return bookmark("11").ev, nil }
func (endlessWatch) Buffered() bool              { return true }
func (endlessWatch) Close() error                { return nil }

type bookmarkSink struct {
	plain
	onBookmark func(string) error
}

func (s bookmarkSink) Bookmark(v string) error { return s.onBookmark(v) }

func TestReflector_Resync(t *testing.T) {
	// Every period, while a silent watch is blocked and during a backoff as well, the sink is asked to resync if
	// ShouldResync says yes; before the first list it is not.
	tests := map[string]struct {
		src  *script
		want int
	}{
		"watching": {watching(), 5},
		"waiting": {&script{noStreaming: true, onList: lists, onWatch: func(int, metav1.ListOptions) ([]step, error) {
			return nil, throttled(3600)
		}}, 5},
		"connecting": {&script{noStreaming: true, onList: lists, onWatch: hanging, head: func(ctx context.Context) { <-ctx.Done() }}, 5},
		"not synced": {&script{noStreaming: true, onList: func(int, metav1.ListOptions) (source.List, error) { return nil, throttled(3600) }}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked := 0
			should := func() bool { asked++; return asked != 2 }
			run(t, test.src, reflector.Options{ResyncPeriod: 10 * time.Second, ShouldResync: should}, 65*time.Second, func(b *bench) {
				got := strings.Count(strings.Join(b.sink.log, "\n"), "resync")
				if got != test.want {
					t.Errorf("%d resyncs, want %d", got, test.want)
				}
			})
		})
	}
	run(t, watching(), reflector.Options{}, 24*time.Hour, func(b *bench) {
		if strings.Contains(strings.Join(b.sink.log, "\n"), "resync") {
			t.Error("resynced without a period")
		}
	})
}

func TestReflector_Resync_Fails(t *testing.T) {
	// A resync that fails ends the watch, and a list follows; while watching, and while waiting to watch.
	for name, src := range map[string]*script{
		"watching": watching(),
		"waiting": {noStreaming: true, onList: lists, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return nil, throttled(60)
			}
			return steps(hang())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			failed := false
			wrap := func(s *fullSink) reflector.Sink {
				s.err = func(op, key string) error {
					if op == "resync" && !failed {
						failed = true
						return errors.New("no space")
					}
					return nil
				}
				return s
			}
			runInto(t, src, wrap, reflector.Options{ResyncPeriod: 10 * time.Second}, 15*time.Second, func(b *bench) {
				b.wantCalls("list@0 watch@10 list@10 watch@10")
				last := b.reports[len(b.reports)-1].err.Error()
				if last != `pods in "prod": resync: no space` {
					t.Errorf("report %q", last)
				}
			})
		})
	}
}

func TestReflector_Run_Again(t *testing.T) {
	// A second Run at once is an error; one after the first returned goes on from the last version.
	src := watching(added("b", "10"))
	run(t, src, reflector.Options{}, time.Second, func(b *bench) {
		if err := b.r.Run(b.t.Context()); !errors.Is(err, reflector.ErrRunning) {
			t.Errorf("second Run returned %v", err)
		}
		r := reflector.New(src, b.sink, reflector.Options{Name: "again"})
		for range 2 {
			ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
			cancel()
			if s := r.Status(); s.Phase != reflector.Stopped || !s.Synced {
				t.Errorf("status %+v", s)
			}
		}
		b.wantCalls("list@0 watch@10 list@0 watch@10 list@10 watch@10")
	})
}

func TestReflector_Backoff_Replaced(t *testing.T) {
	// The backoff is replaceable, and asked once per wait.
	src := &script{noStreaming: true, onList: func(int, metav1.ListOptions) (source.List, error) { return nil, errRefused }}
	asked := 0
	wait := func() time.Duration { asked++; return time.Duration(asked) * time.Second }
	run(t, src, reflector.Options{Backoff: wait}, 10*time.Second, func(b *bench) {
		b.wantCalls("list@0 list@0 list@0 list@0 list@0") // at 0, 1, 3, 6 and 10 s
		b.wantReports(5, `pods in "prod": list: dial: connection refused`)
	})
}

func TestReflector_Backoff_Default(t *testing.T) {
	// By default the n-th wait is in [d, 2d], d = 0.8 s · 2ⁿ up to 30 s.
	src := &script{noStreaming: true, onList: func(int, metav1.ListOptions) (source.List, error) { return nil, errRefused }}
	run(t, src, reflector.Options{}, 10*time.Minute, func(b *bench) {
		calls := src.log()
		d := 800 * time.Millisecond
		for i := 1; i < len(calls); i++ {
			if wait := calls[i].at - calls[i-1].at; wait < d || wait > 2*d {
				t.Errorf("wait %d was %s, want in [%s, %s]", i, wait, d, 2*d)
			}
			d = min(2*d, 30*time.Second)
		}
		if len(calls) < 10 {
			t.Errorf("%d calls", len(calls))
		}
	})
}

func TestReflector_Name(t *testing.T) {
	// The name is, by default, the place that made the reflector.
	if name := reflector.New(watching(), nil, reflector.Options{}).Name(); !strings.HasPrefix(name, "reflector/reflector_test.go:") {
		t.Errorf("name %q", name)
	}
	if name := reflector.New(watching(), nil, reflector.Options{Name: "mine"}).Name(); name != "mine" {
		t.Errorf("name %q", name)
	}
}

func TestReflector_Status(t *testing.T) {
	// The status tells the phase, the failures in a row and when the next attempt is; silence on an open watch is health.
	src := &script{noStreaming: true, onList: func(n int, o metav1.ListOptions) (source.List, error) {
		if n < 2 {
			return nil, errors.New("no such host")
		}
		return listAt("10")
	}}
	src.onWatch = func(n int, o metav1.ListOptions) ([]step, error) {
		if n == 0 {
			return nil, throttled(1)
		}
		return steps(hang())
	}
	wait := func() time.Duration { return 12 * time.Second }
	run(t, src, reflector.Options{Backoff: wait}, time.Millisecond, func(b *bench) {
		check := func(phase reflector.Phase, failures int, want string) {
			t.Helper()
			s := b.r.Status()
			got := ""
			if s.Err() != nil {
				got = s.Err().Error()
			}
			if s.Phase != phase || s.Failures != failures || got != want {
				t.Errorf("%s, %d failures, %q; want %s, %d, %q", s.Phase, s.Failures, got, phase, failures, want)
			}
		}
		check(reflector.Waiting, 1, `pods in "prod": list: no such host (1 attempt, retrying in 12s)`)
		time.Sleep(16 * time.Second)
		check(reflector.Waiting, 2, `pods in "prod": list: no such host (2 attempts, retrying in 8s)`)
		time.Sleep(7500 * time.Millisecond)
		check(reflector.Waiting, 2, `pods in "prod": list: no such host (2 attempts, retrying in 500ms)`)
		time.Sleep(time.Second)
		check(reflector.Waiting, 3, `pods in "prod": watch: slow down (3 attempts, retrying in 11s)`)
		time.Sleep(12 * time.Second)
		check(reflector.Watching, 3, `pods in "prod": watch: slow down (3 attempts, retrying now)`)
		time.Sleep(time.Second)
		check(reflector.Watching, 0, "")
		if s := b.r.Status(); !s.Synced || s.Version != "10" || s.Epoch != 0 || !s.NextTry.IsZero() {
			t.Errorf("status %+v", s)
		}
	})
}

func TestReflector_Metrics(t *testing.T) {
	// The metrics are told of each list and watch with its outcome, of events by type and of the version.
	src := &script{
		onStream: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return nil, throttled(1)
			}
			return steps(added("a", "5"), initialEnd("9"), added("b", "10"), failure(errExpired))
		},
	}
	m := &metrics{}
	run(t, src, reflector.Options{Metrics: m, Backoff: func() time.Duration { return 2 * time.Second }}, 3*time.Second, func(b *bench) {
		want := "list throttled true 0, version 9, list ok true 2, event ADDED, version 10, event ERROR, watch expired 3"
		m.mu.Lock()
		defer m.mu.Unlock()
		if got := strings.Join(m.log, ", "); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	})
}

type metrics struct {
	mu  sync.Mutex
	log []string
}

func (m *metrics) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *metrics) ListDone(o reflector.Outcome, streaming bool, _ time.Duration, items int) {
	m.note("list %s %v %d", o, streaming, items)
}

func (m *metrics) WatchDone(o reflector.Outcome, _ time.Duration, events int) {
	m.note("watch %s %d", o, events)
}
func (m *metrics) Event(t source.EventType) { m.note("event %s", t) }
func (m *metrics) Version(v string)         { m.note("version %s", v) }
