package reflector_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

func TestReflector_Name(t *testing.T) {
	// The name is, by default, the place that made the reflector.
	if name := reflector.New(watching(), nil, reflector.Options{}).Name(); !strings.HasPrefix(name, "reflector/status_test.go:") {
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
		time.Sleep(16 * time.Second) // fake time: it takes none
		check(reflector.Waiting, 2, `pods in "prod": list: no such host (2 attempts, retrying in 8s)`)
		time.Sleep(7500 * time.Millisecond) // fake time: it takes none
		check(reflector.Waiting, 2, `pods in "prod": list: no such host (2 attempts, retrying in 500ms)`)
		time.Sleep(time.Second) // fake time: it takes none
		check(reflector.Waiting, 3, `pods in "prod": watch: slow down (3 attempts, retrying in 11s)`)
		time.Sleep(12 * time.Second) // fake time: it takes none
		check(reflector.Watching, 3, `pods in "prod": watch: slow down (3 attempts, retrying now)`)
		time.Sleep(time.Second) // fake time: it takes none
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
		want := "list throttled true 0, version 9, list ok true 1, event ADDED, version 10, event ERROR, watch expired 3"
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
