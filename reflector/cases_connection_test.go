package reflector_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

func TestReflector_Case16_EndDuringBackoff(t *testing.T) {
	// The context ends during a long backoff, also of a streaming list, and while one is started: Run returns at once
	// (run checks that).
	wait := func() time.Duration { return 30 * time.Second }
	for name, src := range map[string]*script{
		"list":      {noStreaming: true, onList: func(int, metav1.ListOptions) (source.List, error) { return nil, errRefused }},
		"watch":     {noStreaming: true, onList: lists, onWatch: func(int, metav1.ListOptions) ([]step, error) { return nil, errRefused }},
		"streaming": {onStream: func(int, metav1.ListOptions) ([]step, error) { return nil, errRefused }},
		"starting": {
			onStream: func(int, metav1.ListOptions) ([]step, error) { return nil, errRefused },
			head:     func(ctx context.Context) { <-ctx.Done() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, src, reflector.Options{Backoff: wait}, 5*time.Second, func(b *bench) {
				if b.r.Status().Phase == reflector.Watching {
					t.Error("watching")
				}
			})
		})
	}
}

func TestReflector_Case17_TimeoutOrRefused(t *testing.T) {
	// The body runs into the client's timeout, the dial is refused, the connection breaks: after a wait, watch the same
	// version, no relist, and no talk of a very short watch.
	timeout := &net.OpError{Op: "read", Err: context.DeadlineExceeded}
	for name, answer := range map[string]func() ([]step, error){
		"timeout": func() ([]step, error) { return steps(step{err: timeout}) },
		"refused": func() ([]step, error) { return nil, errRefused },
		"reset":   func() ([]step, error) { return steps(step{err: syscall.ECONNRESET}) },
		"cut":     func() ([]step, error) { return steps(step{err: errors.New("read: connection reset by peer")}) },
	} {
		t.Run(name, func(t *testing.T) {
			src := &script{
				noStreaming: true,
				onList:      lists,
				onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
					if n < 3 {
						return answer()
					}
					return steps(hang())
				},
			}
			run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
				b.wantCalls("list@0 watch@10 watch@10 watch@10 watch@10")
				b.wantReports(3, `pods in "prod": watch: `)
				for i, r := range b.reports {
					if errors.Is(r.err, reflector.ErrShortWatch) || strings.Contains(r.err.Error(), "short") {
						t.Errorf("report %v", r.err)
					}
					if r.failures != i+1 {
						t.Errorf("failures %d, want %d", r.failures, i+1)
					}
				}
				calls := src.log()
				for i := 2; i < len(calls); i++ {
					if wait := calls[i].at - calls[i-1].at; wait < 800*time.Millisecond {
						t.Errorf("wait %d was %s", i, wait)
					}
				}
			})
		})
	}
}

func TestReflector_Case18_VeryShortWatch(t *testing.T) {
	// A watch that closes within a second with no event, again and again: reported, backed off, listed again.
	src := &script{
		noStreaming: true,
		onList:      lists,
		onWatch:     func(int, metav1.ListOptions) ([]step, error) { return steps(end()) },
	}
	run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
		calls := src.log()
		if len(calls) < 6 || len(calls) > 20 {
			t.Errorf("%d calls in 2 minutes", len(calls))
		}
		for i, c := range calls {
			if want := []string{"list", "watch"}[i%2]; c.op != want {
				t.Errorf("call %d is %s", i, c)
			}
		}
		for i, r := range b.reports {
			if !errors.Is(r.err, reflector.ErrShortWatch) || r.failures != i+1 {
				t.Errorf("report %d: %+v", i, r)
			}
		}
	})
}

func TestReflector_Case18_ShortWatchesWithOneEvent(t *testing.T) {
	// A watch that closes at once with one event each time is no hot loop either.
	src := &script{
		noStreaming: true,
		onList:      lists,
		onWatch:     func(int, metav1.ListOptions) ([]step, error) { return steps(bookmark("11"), end()) },
	}
	run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
		if calls := src.log(); len(calls) > 20 || calls[2].op != "watch" || calls[2].at != 0 {
			t.Errorf("%d calls in 2 minutes, the third at %s", len(calls), calls[2].at)
		}
		b.wantReports(0, "")
	})
}

func TestReflector_Case18_TimeoutOfASecond(t *testing.T) {
	// A watch that the server keeps open for the second that it was asked for is not a short one, although a part of that
	// second passed before the head of the answer came.
	const head = 5 * time.Millisecond
	src := &script{
		noStreaming: true,
		onList:      lists,
		head: func(ctx context.Context) {
			select {
			case <-time.After(head):
			case <-ctx.Done():
			}
		},
		onWatch: func(_ int, o metav1.ListOptions) ([]step, error) {
			return steps(later(time.Duration(*o.TimeoutSeconds)*time.Second-head, end()))
		},
	}
	run(t, src, reflector.Options{MinWatchTimeout: time.Second}, time.Minute, func(b *bench) {
		b.wantReports(0, "")
		calls := src.log()
		if len(calls) < 31 {
			t.Errorf("%d calls in a minute", len(calls))
		}
		for _, c := range calls[1:] {
			if c.op != "watch" {
				t.Errorf("call %s", c)
			}
		}
	})
}

func TestReflector_Case24_SilentConnection(t *testing.T) {
	// A connection that stays open and silent is given up after the server's timeout and the slack, and nothing is missed;
	// as well when it is silent before its head.
	for _, head := range []bool{false, true} {
		src := &script{noStreaming: true, onList: lists}
		src.onWatch = func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return steps(later(5*time.Second, bookmark("11")), hang())
			}
			s := []step{added("b", "12")}
			for range 10 {
				s = append(s, later(5*time.Second, bookmark("13")))
			}
			return s, nil
		}
		if head {
			src.head = func(ctx context.Context) {
				if len(src.log()) == 2 {
					<-ctx.Done()
				}
			}
		}
		run(t, src, reflector.Options{MinWatchTimeout: 10 * time.Second, IdleSlack: 2 * time.Second}, 30*time.Second, func(b *bench) {
			last := "11"
			idle := 5 * time.Second
			if head {
				last, idle = "10", 0
			}
			b.wantCalls("list@0 watch@10 watch@" + last)
			idle += time.Duration(*src.log()[1].options.TimeoutSeconds+2) * time.Second
			if at := src.log()[2].at; at < idle+800*time.Millisecond || at > idle+1600*time.Millisecond {
				t.Errorf("watched again at %s, want %s and a backoff", at, idle)
			}
			b.wantReports(1, reflector.ErrIdle.Error())
			b.wantObjects("a:5 b:12")
		})
	}
}

func TestReflector_Case24_SilentList(t *testing.T) {
	// A list that stops halfway is given up as well, and leaves no trace.
	src := &script{
		noStreaming: true,
		onList: func(n int, o metav1.ListOptions) (source.List, error) {
			return listAt("10", pod("a", "1"))
		},
		onWatch: hanging,
	}
	blocked := &blockingLists{script: src}
	runSource(t, blocked, src, nil, reflector.Options{MinWatchTimeout: 10 * time.Second, IdleSlack: 2 * time.Second}, 20*time.Second, func(b *bench) {
		b.wantCalls("list@0 list@0 watch@10")
		b.wantReports(1, "list: "+reflector.ErrIdle.Error())
		b.wantLog("stage(false) @", "stage add a@1", "abort @", "stage(false) @", "stage add a@1", "commit(false) [a@1]@10")
	})
}

// blockingLists is a script whose first list stops before its end.
type blockingLists struct{ *script }

func (s *blockingLists) List(ctx context.Context, o metav1.ListOptions) (source.List, error) {
	l, err := s.script.List(ctx, o)
	if err == nil && len(s.log()) == 1 {
		l = &blockingList{l, ctx}
	}
	return l, err
}

type blockingList struct {
	source.List
	ctx context.Context
}

func (l *blockingList) Next() (*object.Object, error) {
	obj, err := l.List.Next()
	if err != nil {
		<-l.ctx.Done()
		return nil, l.ctx.Err()
	}
	return obj, nil
}

func TestReflector_Case25_SinkFailsForOneEvent(t *testing.T) {
	// The store fails for one event: reported with the key, the position moves, the rest goes on, no relist; the next event
	// of that object and every relist hand it over again.
	src := &script{
		noStreaming: true,
		onList: func(n int, o metav1.ListOptions) (source.List, error) {
			if n == 0 {
				return lists(n, o)
			}
			return listAt("20", pod("a", "5"), pod("bad", "13"), pod("b", "12"))
		},
		onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return steps(added("bad", "11"), added("b", "12"), modified("bad", "13"), later(time.Minute, failure(errExpired)))
			}
			return steps(hang())
		},
	}
	bad := errors.New("does not fit")
	wrap := func(s *fullSink) reflector.Sink {
		s.err = func(op, key string) error {
			if key == "bad" && op == "add" {
				return bad
			}
			return nil
		}
		return s
	}
	runInto(t, src, wrap, reflector.Options{}, 30*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10")
		b.wantReports(1, `pods in "prod": watch: ADDED bad at version 11: does not fit`)
		if !errors.Is(b.reports[0].err, bad) || b.reports[0].failures != 0 {
			t.Errorf("report %+v", b.reports[0])
		}
		b.wantVersion("13")
		b.wantObjects("a:5 b:12 bad:13")
		time.Sleep(time.Minute) // fake time: the watch expires
		b.wantCalls("list@0 watch@10 list@13 watch@20")
		b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@10", "add bad@11", "add b@12", "update bad@13",
			"stage(false) @", "stage add a@5", "stage add bad@13", "stage add b@12", "commit(false) [a@5 bad@13 b@12]@20")
	})
}
