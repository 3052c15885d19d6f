package reflector_test

import (
	"errors"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	gone := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonGone}} // of older servers
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
				// Page one three times, a continuation page that is 410, the whole list.
				b.wantCalls(`list@0 list@"" list@"" list@"" list@"" watch@11`)
				for n, c := range src.log()[:4] {
					if c.options.Limit != 2 {
						t.Errorf("call %d, %s, has the limit %d", n, c, c.options.Limit)
					}
				}
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
