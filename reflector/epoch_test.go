package reflector_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
