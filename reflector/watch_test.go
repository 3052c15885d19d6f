package reflector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

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
