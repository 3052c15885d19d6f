package reflector_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

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

func TestReflector_Streaming_TriesInARow(t *testing.T) {
	// The tries of a streaming list count in a row: after one that works there are as many again.
	src := &script{onStream: func(n int, o metav1.ListOptions) ([]step, error) {
		switch n {
		case 2:
			return steps(initialEnd("10"), later(time.Minute, failure(errExpired)))
		case 5:
			return steps(initialEnd("11"), hang())
		}
		return steps(end())
	}}
	run(t, src, reflector.Options{}, 2*time.Minute, func(b *bench) {
		b.wantCalls(`stream@"" stream@"" stream@"" stream@10 stream@10 stream@10`)
		b.wantVersion("11")
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

// Ensures that a streaming list that is refused each time, and so is the list after it, is one line of the log for each attempt,
// and not two, after the first.
func TestReflector_StreamingList_LoggedOnce(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New("no"))
	src := &script{
		onStream: func(int, metav1.ListOptions) ([]step, error) { return nil, forbidden },
		onList:   func(int, metav1.ListOptions) (source.List, error) { return nil, forbidden },
	}
	var text bytes.Buffer
	o := reflector.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))}
	run(t, src, o, time.Minute, func(b *bench) {
		attempts := b.r.Status().Failures
		plain, failed := strings.Count(text.String(), "listing plainly"), strings.Count(text.String(), "reflector failed")
		if attempts < 3 || failed != attempts || plain > 1 {
			t.Errorf("%d attempts, of which the log says %d times that they failed and %d times that the list is plain:\n%s", attempts, failed, plain, &text)
		}
	})
}
