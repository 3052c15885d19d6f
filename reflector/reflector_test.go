package reflector_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
				time.Sleep(time.Hour) // the sink's own work, in fake time
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
