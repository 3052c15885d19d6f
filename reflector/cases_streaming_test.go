package reflector_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

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
					time.Sleep(90 * time.Second) // fake time: it takes none
					if s := b.r.Status(); !s.Synced || s.Err() != nil || s.Failures != 0 || s.Phase != reflector.Watching {
						t.Errorf("status is %+v", s)
					}
				})
			})
		}
	}
}
