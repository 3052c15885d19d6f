package reflector_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// The cases that broke other implementations, at the level of the reflector.

var (
	errExpired  = apierrors.NewResourceExpired("too old resource version")
	errInternal = apierrors.NewInternalError(errors.New("etcdserver: no leader"))
	errRefused  = &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
)

func throttled(seconds int) error { return apierrors.NewTooManyRequests("slow down", seconds) }

func tooLarge(shape string) error {
	s := metav1.Status{Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout, Details: &metav1.StatusDetails{RetryAfterSeconds: 1}}
	switch shape {
	case "cause type":
		s.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	case "cause message":
		s.Details.Causes = []metav1.StatusCause{{Message: "Too large resource version"}}
	case "message text":
		s.Message = "Timeout: Too large resource version: 10, current: 9"
	}
	return &apierrors.StatusError{ErrStatus: s}
}

// hanging is a watch on which nothing happens.
func hanging(int, metav1.ListOptions) ([]step, error) { return steps(hang()) }

// lists answers every list with one object at version 10.
func lists(int, metav1.ListOptions) (source.List, error) { return listAt("10", pod("a", "5")) }

func TestReflector_Case10_TooLargeVersion(t *testing.T) {
	// A list at a version that the server is not at is followed by one at "" at once, whatever the shape of the error;
	// later lists are normal again.
	for _, shape := range []string{"cause type", "cause message", "message text"} {
		t.Run(shape, func(t *testing.T) {
			src := &script{
				noStreaming: true,
				onList: func(n int, o metav1.ListOptions) (source.List, error) {
					if n == 1 {
						return nil, tooLarge(shape)
					}
					return listAt("10", pod("a", "5"))
				},
				onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
					if n < 2 {
						return steps(later(time.Minute, failure(errExpired)))
					}
					return steps(hang())
				},
			}
			run(t, src, reflector.Options{}, 3*time.Minute, func(b *bench) {
				b.wantCalls(`list@0 watch@10 list@10 list@"" watch@10 list@10 watch@10`)
				if calls := src.log(); calls[3].at != calls[2].at {
					t.Errorf("the list at \"\" came %s later", calls[3].at-calls[2].at)
				}
			})
		})
	}
}

func TestReflector_Case10_TooLargeVersionOnWatch(t *testing.T) {
	// A watch that is answered so is followed by a list at "" at once, too.
	src := &script{
		noStreaming: true,
		onList:      lists,
		onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return nil, tooLarge("cause type")
			}
			return steps(hang())
		},
	}
	run(t, src, reflector.Options{}, 0, func(b *bench) { b.wantCalls(`list@0 watch@10 list@"" watch@10`) })
}

func TestReflector_Case11_Expired(t *testing.T) {
	// A watch that gets 410 is followed by a list at the last version, and by one at "" only if that is 410 as well.
	gone := apierrors.NewGone("gone") // what servers before 1.17 say
	for _, expiredList := range []bool{false, true} {
		src := &script{
			noStreaming: true,
			onList: func(n int, o metav1.ListOptions) (source.List, error) {
				if n == 1 && expiredList {
					return nil, gone
				}
				return listAt([]string{"10", "14", "14"}[n])
			},
			onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
				if n == 0 {
					return steps(later(time.Minute, added("a", "12")), failure(errExpired))
				}
				return steps(hang())
			},
		}
		want := `list@0 watch@10 list@12 watch@14`
		if expiredList {
			want = `list@0 watch@10 list@12 list@"" watch@14`
		}
		run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
			b.wantCalls(want)
			b.wantReports(1, "too old resource version")
		})
	}
}

func TestReflector_Case12_ExpiredPages(t *testing.T) {
	// 410 on page one is an error; on a continuation page, the whole list is read again and replaces what had come.
	for _, page := range []int{1, 2} {
		src := &script{
			noStreaming: true,
			onList: func(n int, o metav1.ListOptions) (source.List, error) {
				switch {
				case page == 1 && n < 2:
					return nil, errExpired
				case o.Continue != "" && (o.ResourceVersion != "" || o.ResourceVersionMatch != ""):
					t.Errorf("continuation page at version %q match %q", o.ResourceVersion, o.ResourceVersionMatch)
				case o.Continue != "":
					return nil, errExpired
				case o.Limit != 0:
					return source.ListOf(source.ListMeta{Version: "10", Continue: "x"}, pod("a", "1"), pod("gone", "1")), nil
				}
				return listAt("11", pod("a", "1"))
			},
			onWatch: hanging,
		}
		run(t, src, reflector.Options{PageSize: 2}, time.Minute, func(b *bench) {
			if page == 1 {
				b.wantReports(1, `pods in "prod": list: too old resource version`)
				return
			}
			b.wantReports(0, "")
			b.wantCalls(`list@0 list@"" list@0 watch@11`)
			b.wantLog("stage(false) @", "stage add a@1", "stage add gone@1", "abort @",
				"stage(false) @", "stage add a@1", "commit(false) [a@1]@11")
		})
	}
}

func TestReflector_Case13_PagedAtZero(t *testing.T) {
	// If the first list at "0" came in pages, later lists page too; otherwise one at a version sends no limit.
	for _, pages := range []bool{false, true} {
		src := &script{
			noStreaming: true,
			onList: func(n int, o metav1.ListOptions) (source.List, error) {
				if pages && n == 0 {
					return source.ListOf(source.ListMeta{Version: "10", Continue: "x"}), nil
				}
				return listAt("10")
			},
			onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
				if n == 0 {
					return steps(failure(errExpired))
				}
				return steps(hang())
			},
		}
		run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
			var limits []int64
			for _, c := range src.log() {
				if c.op == "list" && c.options.Continue == "" {
					limits = append(limits, c.options.Limit)
				}
			}
			later := int64(0)
			if pages {
				later = 500
			}
			if len(limits) != 2 || limits[0] != 500 || limits[1] != later {
				t.Errorf("paged %v: limits %v, want [500 %d]", pages, limits, later)
			}
		})
	}
}

func TestReflector_Case14_Throttled(t *testing.T) {
	// 429 from the call or as an event: wait at least as long as the server asks, then watch the same version; no relist.
	for name, answer := range map[string]func() ([]step, error){
		"call":  func() ([]step, error) { return nil, throttled(17) },
		"event": func() ([]step, error) { return steps(failure(throttled(17))) },
	} {
		t.Run(name, func(t *testing.T) {
			src := &script{
				noStreaming: true,
				onList:      lists,
				onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
					if n == 0 {
						return answer()
					}
					return steps(hang())
				},
			}
			run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
				b.wantCalls("list@0 watch@10 watch@10")
				if at := src.log()[2].at; at != 17*time.Second {
					t.Errorf("watched again after %s, want 17s", at)
				}
				b.wantReports(1, "slow down")
			})
		})
	}
}

func TestReflector_Case14_ThrottledList(t *testing.T) {
	// A list that is throttled is tried again when the server says.
	src := &script{
		noStreaming: true,
		onList: func(n int, o metav1.ListOptions) (source.List, error) {
			if n == 0 {
				return nil, throttled(42)
			}
			return listAt("10")
		},
		onWatch: hanging,
	}
	run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
		b.wantCalls("list@0 list@0 watch@10")
		if at := src.log()[1].at; at != 42*time.Second {
			t.Errorf("listed again after %s, want 42s", at)
		}
	})
}

func TestReflector_Case15_InternalError(t *testing.T) {
	// 500 events: watch again until the deadline, then list; without a deadline list at once.
	for _, retry := range []time.Duration{0, 20 * time.Second} {
		src := &script{
			noStreaming: true,
			onList:      lists,
			onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
				return steps(failure(errInternal))
			},
		}
		wait := func() time.Duration { return 8 * time.Second }
		run(t, src, reflector.Options{InternalErrorRetry: retry, Backoff: wait}, 33*time.Second, func(b *bench) {
			if retry == 0 {
				b.wantCalls("list@0 watch@10 list@10 watch@10 list@10 watch@10 list@10 watch@10 list@10 watch@10")
				return
			}
			// The row of 500s starts at 0 s; at 24 s the deadline is over.
			b.wantCalls("list@0 watch@10 watch@10 watch@10 watch@10 list@10 watch@10")
			if at := src.log()[5].at; at != 32*time.Second {
				t.Errorf("listed at %s", at)
			}
		})
	}
}

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

func TestReflector_Case19_NoEndBookmark(t *testing.T) {
	// A streaming list that closes without its end bookmark, repeatedly, or is kept open without it: after a bounded number
	// of tries, or a bounded time, a plain list; at once where the source says that it does not support streaming lists.
	tests := map[string]struct {
		stream      []step
		noStreaming bool
		want        string
		within      time.Duration
	}{
		"closes": {[]step{added("a", "5"), end()}, false, `stream@"" stream@"" stream@"" list@0 watch@10`, 5 * time.Second},
		"breaks": {[]step{added("a", "5"), {err: syscall.ECONNRESET}}, false, `stream@"" stream@"" stream@"" list@0 watch@10`, 5 * time.Second},
		"silent": {[]step{added("a", "5"), hang()}, false, `stream@"" list@0 watch@10`, 30 * time.Second},
		"no":     {nil, true, `list@0 watch@10`, 0},
		"busy": {func() (s []step) {
			for range 1000 {
				s = append(s, later(20*time.Second, modified("a", "5")))
			}
			return s
		}(), false, `stream@"" list@0 watch@10`, 5 * time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := &script{
				noStreaming: test.noStreaming,
				onList:      lists,
				onWatch:     hanging,
				onStream:    func(int, metav1.ListOptions) ([]step, error) { return steps(test.stream...) },
			}
			run(t, src, reflector.Options{}, test.within, func(b *bench) {
				b.wantCalls(test.want)
				b.wantObjects("a:5")
				if !b.r.Status().Synced {
					t.Error("not synced")
				}
			})
		})
	}
}

func TestReflector_Case20_AddedOnUnversionedWatch(t *testing.T) {
	// On a watch opened at "" or "0", ADDED events at versions 50, 10, 30 do not move the version when the stream dies.
	t.Run("streaming list", func(t *testing.T) {
		src := &script{
			onStream: func(n int, o metav1.ListOptions) ([]step, error) {
				if n == 0 {
					return steps(added("a", "50"), added("b", "10"), added("c", "30"), step{err: syscall.ECONNRESET})
				}
				return steps(hang())
			},
		}
		run(t, src, reflector.Options{}, 5*time.Second, func(b *bench) {
			b.wantVersion("")
			b.wantCalls(`stream@"" stream@""`)
		})
	})
	t.Run("watch", func(t *testing.T) {
		src := &script{
			noStreaming: true,
			onList:      func(int, metav1.ListOptions) (source.List, error) { return listAt("0") },
			onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
				switch n {
				case 0:
					return steps(added("a", "50"), added("b", "10"), added("c", "30"), step{err: syscall.ECONNRESET})
				case 1:
					return steps(added("a", "50"), modified("b", "60"), added("d", "70"), step{err: syscall.ECONNRESET})
				}
				return steps(hang())
			},
		}
		run(t, src, reflector.Options{}, 10*time.Second, func(b *bench) {
			b.wantCalls(`list@0 watch@0 watch@0 watch@70`)
		})
	})
}

func TestReflector_Case21_Table(t *testing.T) {
	// A Table as the answer to a list is an error; in a watch it is reported and skipped; it is never stored.
	src := &script{
		noStreaming: true,
		onList: func(n int, o metav1.ListOptions) (source.List, error) {
			if n == 0 {
				return nil, source.ErrTable
			}
			return listAt("10")
		},
		onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			table := added("x", "11")
			table.ev.Err = source.ErrTable
			return steps(table, added("a", "12"), hang())
		},
	}
	run(t, src, reflector.Options{}, 10*time.Second, func(b *bench) {
		b.wantCalls("list@0 list@0 watch@10")
		b.wantReports(2, "Table")
		b.wantObjects("a:12")
		b.wantVersion("12")
	})
}

func TestReflector_Case22_ReconnectAfterStreamingList(t *testing.T) {
	// After a streaming list the watch ends normally: the next is from the last version, without asking for initial events,
	// and nothing comes twice.
	src := &script{
		onStream: func(n int, o metav1.ListOptions) ([]step, error) {
			return steps(added("a", "5"), added("b", "7"), initialEnd("9"), later(5*time.Minute, modified("a", "12")), end())
		},
		onWatch: hanging,
	}
	run(t, src, reflector.Options{}, 6*time.Minute, func(b *bench) {
		b.wantCalls(`stream@"" watch@12`)
		b.wantReports(0, "")
		b.wantLog("stage(false) @", "stage add a@5", "stage add b@7", "commit(false) [a@5 b@7]@9", "update a@12")
		first, second := src.log()[0].options, src.log()[1].options
		if first.ResourceVersionMatch != metav1.ResourceVersionMatchNotOlderThan || !first.AllowWatchBookmarks {
			t.Errorf("streaming list with %+v", first)
		}
		if second.SendInitialEvents != nil || second.ResourceVersionMatch != "" || !second.AllowWatchBookmarks {
			t.Errorf("watch with %+v", second)
		}
	})
}

func TestReflector_Case23_EventsWithoutVersion(t *testing.T) {
	// Events whose version is empty are applied, each one, and the position is kept.
	src := &script{
		noStreaming: true,
		onList:      lists,
		onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return steps(added("b", ""), modified("b", ""), modified("b", ""), bookmark(""), deleted("a", ""), step{err: syscall.ECONNRESET})
			}
			return steps(hang())
		},
	}
	run(t, src, reflector.Options{}, 10*time.Second, func(b *bench) {
		b.wantCalls("list@0 watch@10 watch@10")
		b.wantObjects("b:")
		b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@10", "add b@", "update b@", "update b@", "delete a@")
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
			return steps(added("b", "12"), hang())
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
		onList:      lists,
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
	})
}

func TestReflector_Case36_ForbiddenOrMissing(t *testing.T) {
	// The user may not list, or the resource does not exist yet: the status says so and why, in one line, and when that
	// changes it syncs by itself.
	resource := schema.GroupResource{Resource: "pods"}
	for name, failed := range map[string]error{
		"forbidden": apierrors.NewForbidden(resource, "", errors.New("no rights")),
		"not found": apierrors.NewNotFound(resource, "x"),
	} {
		for _, streaming := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				src := &script{noStreaming: !streaming}
				may := func() bool { return time.Since(src.start) > time.Minute }
				src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
					if !may() {
						return nil, failed
					}
					return listAt("10")
				}
				src.onStream = func(n int, o metav1.ListOptions) ([]step, error) {
					if !may() {
						return nil, failed
					}
					return steps(initialEnd("10"), hang())
				}
				src.onWatch = hanging
				run(t, src, reflector.Options{}, 59*time.Second, func(b *bench) {
					err := b.r.Status().Err()
					if err == nil || !errors.Is(err, failed) {
						t.Fatalf("status is %v", err)
					}
					msg := err.Error()
					if !strings.HasPrefix(msg, `pods in "prod": `) || !strings.Contains(msg, "list: "+failed.Error()) ||
						!strings.Contains(msg, " attempts, retrying in ") || strings.Contains(msg, "\n") {
						t.Errorf("status is %q", msg)
					}
					time.Sleep(90 * time.Second)
					if s := b.r.Status(); !s.Synced || s.Err() != nil || s.Failures != 0 || s.Phase != reflector.Watching {
						t.Errorf("status is %+v", s)
					}
				})
			})
		}
	}
}
