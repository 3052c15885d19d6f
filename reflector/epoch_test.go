package reflector_test

import (
	"context"
	"errors"
	"log/slog"
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

// lateList is a list that says its version only at its end.
type lateList struct {
	source.List
	ended bool
}

func (l *lateList) Next() (*object.Object, error) {
	obj, err := l.List.Next()
	l.ended = err != nil
	return obj, err
}

func (l *lateList) Meta() source.ListMeta {
	if !l.ended {
		return source.ListMeta{}
	}
	return l.List.Meta()
}

func TestReflector_Epoch_StartsOver(t *testing.T) {
	// The server denies the last version and turns out to be behind it: a new epoch, committed as such, at the smaller
	// version. The stage is opened as suspect, whether the list tells its version before the items or after.
	for _, late := range []bool{false, true} {
		src := &script{noStreaming: true, onWatch: func(n int, o metav1.ListOptions) ([]step, error) {
			if n == 0 {
				return steps(later(time.Minute, added("b", "120")), step{err: errors.New("bad frame")})
			}
			return steps(added("c", "8"), hang())
		}}
		src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
			switch n {
			case 0:
				return listAt("100", pod("a", "5"))
			case 1:
				return nil, tooLarge("cause type")
			}
			l, err := listAt("7", pod("a", "5"))
			if late {
				l = &lateList{List: l}
			}
			return l, err
		}
		run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
			b.wantCalls(`list@0 watch@100 list@120 list@"" watch@7`)
			b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@100", "add b@120",
				"stage(true) @", "stage add a@5", "commit(true) [a@5]@7", "add c@8")
			b.wantVersion("8")
			if e := b.r.Status().Epoch; e != 1 {
				t.Errorf("epoch %d", e)
			}
		})
	}
}

func TestReflector_Epoch_LaggingServer(t *testing.T) {
	// The server denies the last version because it lags, and the most recent list is not behind: the same epoch.
	for _, version := range []string{"120", "130"} {
		src := watching(added("b", "120"), step{err: errors.New("bad frame")})
		src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
			if n == 1 {
				return nil, tooLarge("message text")
			}
			return listAt([]string{"100", "", version}[n])
		}
		run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
			b.wantCalls(`list@0 watch@100 list@120 list@"" watch@` + version)
			b.wantLog("stage(false) @", "commit(false) []@100", "add b@120", "stage(false) @", "commit(false) []@"+version)
			if e := b.r.Status().Epoch; e != 0 {
				t.Errorf("epoch %d", e)
			}
		})
	}
}

func TestReflector_Epoch_VersionsThatDoNotCompare(t *testing.T) {
	// Versions that do not compare are a new epoch if the server has denied the last one, and only then.
	for _, denied := range []bool{false, true} {
		src := watching(added("b", "v2"), step{err: errors.New("bad frame")})
		src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
			if n == 1 {
				if denied {
					return nil, tooLarge("cause message")
				}
				return nil, errExpired
			}
			return listAt([]string{"v1", "", "v0"}[n])
		}
		run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
			b.wantCalls(`list@0 watch@v1 list@v2 list@"" watch@v0`)
			if e := b.r.Status().Epoch; (e == 1) != denied {
				t.Errorf("denied %v: epoch %d", denied, e)
			}
		})
	}
}

func TestReflector_Epoch_OlderList(t *testing.T) {
	// A list at the last version comes back older, which no server with the same history does. If it says so before its
	// items, it is a new epoch at once. If only at its end, its stage was opened in good faith: it is left without a trace,
	// and the list is read again at "".
	for _, late := range []bool{false, true} {
		src := watching(added("b", "120"), step{err: errors.New("bad frame")})
		src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
			l, err := listAt([]string{"100", "7", "7"}[n], pod("a", "5"))
			if late {
				l = &lateList{List: l}
			}
			return l, err
		}
		calls := `list@0 watch@100 list@120 watch@7`
		log := []string{"stage(false) @", "stage add a@5", "commit(false) [a@5]@100", "add b@120"}
		if late {
			calls = `list@0 watch@100 list@120 list@"" watch@7`
			log = append(log, "stage(false) @", "stage add a@5", "abort @")
		}
		run(t, src, reflector.Options{}, time.Minute, func(b *bench) {
			b.wantCalls(calls)
			b.wantLog(append(log, "stage(true) @", "stage add a@5", "commit(true) [a@5]@7")...)
			b.wantVersion("7")
			if e := b.r.Status().Epoch; e != 1 {
				t.Errorf("epoch %d", e)
			}
			if last := b.reports[len(b.reports)-1].err; late && !errors.Is(last, reflector.ErrWentBack) {
				t.Errorf("report %v", last)
			}
		})
	}
}

func TestReflector_Epoch_OlderBookmark(t *testing.T) {
	// A bookmark behind the last version says that the history started over: list at "".
	src := watching(later(time.Minute, bookmark("3")))
	src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
		return listAt([]string{"100", "4"}[n])
	}
	run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
		b.wantCalls(`list@0 watch@100 list@"" watch@4`)
		b.wantReports(1, reflector.ErrWentBack.Error())
		if e := b.r.Status().Epoch; e != 1 {
			t.Errorf("epoch %d", e)
		}
	})
}

func TestReflector_Epoch_SilentWatch(t *testing.T) {
	// A server whose history started over answers a watch from a version that it has not reached with silence. A watch that
	// ends without the bookmarks that the source used to send is followed by a list, which finds out; where the source has
	// never sent any, it is not.
	for _, bookmarks := range []bool{false, true} {
		src := &script{noStreaming: true}
		src.onList = func(n int, o metav1.ListOptions) (source.List, error) {
			if o.ResourceVersion == "110" {
				return nil, tooLarge("cause type")
			}
			return listAt([]string{"100", "", "4"}[n])
		}
		src.onWatch = func(n int, o metav1.ListOptions) ([]step, error) {
			switch {
			case n == 0 && bookmarks:
				return steps(bookmark("110"), step{err: syscall.ECONNRESET})
			case n == 0:
				return steps(modified("a", "110"), step{err: syscall.ECONNRESET})
			case n == 1:
				return steps(later(5*time.Minute, end()))
			}
			return steps(hang())
		}
		run(t, src, reflector.Options{}, 6*time.Minute, func(b *bench) {
			if !bookmarks {
				b.wantCalls(`list@0 watch@100 watch@110 watch@110`)
				return
			}
			b.wantCalls(`list@0 watch@100 watch@110 list@110 list@"" watch@4`)
			if s := b.r.Status(); s.Epoch != 1 {
				t.Errorf("epoch %d", s.Epoch)
			}
		})
	}
}

func TestReflector_Streaming_StartsOver(t *testing.T) {
	// The same with streaming lists: denied at the last version, asked for at "" at once, suspect from the start.
	src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) {
		switch n {
		case 0:
			return steps(added("a", "5"), initialEnd("100"), later(time.Minute, failure(errExpired)))
		case 1:
			return nil, tooLarge("cause type")
		}
		return steps(added("a", "5"), initialEnd("7"), hang())
	}}
	run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
		b.wantCalls(`stream@"" stream@100 stream@""`)
		if calls := src.log(); calls[1].at != calls[2].at {
			t.Error("not at once")
		}
		b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@100",
			"stage(false) @", "abort @", "stage(true) @", "stage add a@5", "commit(true) [a@5]@7")
		b.wantVersion("7")
	})
}

func TestReflector_Streaming_ChangesBeforeTheEnd(t *testing.T) {
	// Changes and deletions that come before the end bookmark are part of the list; other bookmarks are not its end; bad
	// events are reported and skipped. Without Stager the sink gets one Replace.
	stream := func(n int, o metav1.ListOptions) ([]step, error) {
		table := step{ev: source.Event{Type: source.Added, Err: source.ErrTable}}
		return steps(added("a", "5"), added("b", "6"), table, bookmark("8"), modified("a", "9"), deleted("b", "10"), added("c", "11"),
			initialEnd("12"), hang())
	}
	runInto(t, &script{onStream: stream}, hide, reflector.Options{}, time.Second, func(b *bench) {
		b.wantLog("replace [a@9 c@11]@12")
		b.wantReports(1, `streaming list: ADDED: server sent a meta.k8s.io Table`)
	})
	run(t, &script{onStream: stream}, reflector.Options{}, time.Second, func(b *bench) {
		b.wantLog("stage(false) @", "stage add a@5", "stage add b@6", "stage add a@9", "stage delete b@10", "stage add c@11",
			"commit(false) [a@5 a@9 c@11]@12")
	})
}

func TestReflector_Streaming_Refused(t *testing.T) {
	// A server that does not take the options gets a plain list at once, and is not asked again. Who may not watch gets one
	// too, but the next attempt is a streaming list again. Off is off.
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	tests := map[string]struct {
		err    error
		option reflector.StreamingMode
		want   string
	}{
		"invalid":     {invalid, reflector.StreamingAuto, `stream@"" list@0 watch@10 list@10 watch@10`},
		"bad request": {apierrors.NewBadRequest("what"), reflector.StreamingAuto, `stream@"" list@0 watch@10 list@10 watch@10`},
		"forbidden":   {forbidden, reflector.StreamingAuto, `stream@"" list@0 watch@10 stream@10 list@10 watch@10`},
		"off":         {nil, reflector.StreamingOff, `list@0 watch@10 list@10 watch@10`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			src := watching(failure(errExpired))
			src.noStreaming = false
			src.onStream = func(n int, o metav1.ListOptions) ([]step, error) { return nil, test.err }
			run(t, src, reflector.Options{StreamingList: test.option}, time.Minute, func(b *bench) { b.wantCalls(test.want) })
		})
	}
}

func TestReflector_Streaming_Errors(t *testing.T) {
	// Refused, throttled, 500, or silent before its head: the streaming list is tried again, as long as it takes.
	for name, answer := range map[string]func() ([]step, error){
		"refused":   func() ([]step, error) { return nil, errRefused },
		"throttled": func() ([]step, error) { return nil, throttled(1) },
		"event":     func() ([]step, error) { return steps(added("a", "1"), failure(throttled(1))) },
		"internal":  func() ([]step, error) { return steps(failure(errInternal)) },
	} {
		t.Run(name, func(t *testing.T) {
			src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) {
				if n < 5 {
					return answer()
				}
				return steps(initialEnd("10"), hang())
			}}
			run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
				b.wantCalls(`stream@"" stream@"" stream@"" stream@"" stream@"" stream@""`)
				b.wantReports(5, "streaming list: ")
				b.wantVersion("10")
			})
		})
	}
}

func TestReflector_Streaming_SilentBeforeHead(t *testing.T) {
	// A server that does not answer at all says nothing about streaming lists: it is asked for one again, however often.
	src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) { return steps(initialEnd("10"), hang()) }}
	src.head = func(ctx context.Context) {
		if len(src.log()) <= 5 {
			<-ctx.Done()
		}
	}
	run(t, src, reflector.Options{}, 5*time.Minute, func(b *bench) {
		b.wantCalls(`stream@"" stream@"" stream@"" stream@"" stream@"" stream@""`)
		b.wantReports(5, reflector.ErrIdle.Error())
		b.wantVersion("10")
	})
}

func TestReflector_Streaming_TriesOfEachRun(t *testing.T) {
	// Another Run gives streaming lists as many tries again.
	src := &script{onList: lists, onWatch: hanging, onStream: func(int, metav1.ListOptions) ([]step, error) { return steps(end()) }}
	run(t, src, reflector.Options{}, 0, func(b *bench) {
		r := reflector.New(src, b.sink, reflector.Options{StreamingListTries: 2, Logger: slog.New(slog.DiscardHandler)})
		for range 2 {
			ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Second)
			defer cancel()
			if err := r.Run(ctx); err != nil {
				t.Error(err)
			}
		}
		streams := 0
		for _, c := range src.log() {
			if c.op == "stream" && c.options.ResourceVersion == "10" {
				streams++
			}
		}
		if streams != 2 {
			t.Errorf("%d tries in the second run", streams)
		}
	})
}

func TestReflector_Streaming_NoResyncInside(t *testing.T) {
	// While a streaming list arrives, the sink is not asked to resync: what it has is about to be replaced.
	src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) {
		if n == 0 {
			return steps(added("a", "5"), initialEnd("10"), later(5*time.Second, failure(errExpired)))
		}
		return steps(added("a", "5"), later(25*time.Second, initialEnd("11")), hang())
	}}
	run(t, src, reflector.Options{ResyncPeriod: 10 * time.Second}, 29*time.Second, func(b *bench) {
		b.wantCalls(`stream@"" stream@10`)
		b.wantLog("stage(false) @", "stage add a@5", "commit(false) [a@5]@10", "stage(false) @", "stage add a@5")
	})
}

func TestReflector_Streaming_WithoutVersion(t *testing.T) {
	// An end bookmark without a version is an error like a list without one.
	src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) {
		if n == 0 {
			return steps(initialEnd(""), hang())
		}
		return steps(initialEnd("10"), hang())
	}}
	run(t, src, reflector.Options{}, 10*time.Second, func(b *bench) {
		b.wantCalls(`stream@"" stream@""`)
		b.wantReports(1, reflector.ErrNoVersion.Error())
	})
}
