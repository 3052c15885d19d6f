package mirror_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/tarntest"
)

func object1(key string, labels ...string) *object.Object {
	o := &object.Object{Meta: object.Meta{Key: key}, Encoding: object.JSON}
	ns, name := object.SplitKey(key)
	o.Raw = fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q}}`, ns, name)
	for i := 0; i < len(labels); i += 2 {
		o.Labels = append(o.Labels, object.Label{Key: labels[i], Value: labels[i+1]})
	}
	return o
}

// scopeOf returns what AddScope needs for a source.
func scopeOf(src source.ListerWatcher) func(reflector.Sink) *reflector.Reflector {
	return func(sink reflector.Sink) *reflector.Reflector {
		return reflector.New(src, sink, reflector.Options{Name: "test", Logger: slog.New(slog.DiscardHandler)})
	}
}

// log is a handler that writes down changes.
type log struct {
	mu      sync.Mutex
	changes []string
	all     []mirror.Change
}

func (l *log) deliver(_ context.Context, c mirror.Change) {
	sign := map[mirror.Kind]string{mirror.Added: "+", mirror.Updated: "~", mirror.Deleted: "-", mirror.Sync: "="}[c.Kind]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, c)
	l.changes = append(l.changes, sign+c.Key+"@"+c.Newest().Version())
}

func (l *log) take() string {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := strings.Join(l.changes, " ")
	l.changes = nil
	return s
}

// start runs the mirror and a subscription until the test ends.
func start(t *testing.T, m *mirror.Mirror, options mirror.SubscriptionOptions) (*log, *mirror.Subscription) {
	t.Helper()
	l := &log{}
	s := m.Subscribe(options, l.deliver)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	release := m.Acquire()
	t.Cleanup(func() { cancel(); <-done; release() })
	return l, s
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

// Ensures that scopes are replaced, swept, added and dropped each by itself, and that all must have been listed to be
// in sync.
func TestMirror_Scopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := tarntest.NewSource(nil), tarntest.NewSource(nil, tarntest.StartAt(500)), tarntest.NewSource(nil)
		a.Add(object1("a/one"))
		b.Add(object1("b/one"))
		c.Add(object1("c/one"))
		m := mirror.New(mirror.Options{})
		scopeA := m.AddScope("a", scopeOf(a))
		scopeB := m.AddScope("b", scopeOf(b))
		b.FailNext(tarntest.WatchVerb, fmt.Errorf("down"))
		l, s := start(t, m, mirror.SubscriptionOptions{})
		expect(t, "one scope", l.take(), "+a/one@2")
		expect(t, "synced", m.HasSynced() || s.Stats().Synced, false)
		if err := m.WhyNotSynced(); err == nil || !strings.Contains(err.Error(), "down") {
			t.Errorf("why: %v", err)
		}
		time.Sleep(5 * time.Second) // fake time: the backoff
		expect(t, "both", l.take(), "+b/one@501")
		expect(t, "synced", m.HasSynced() && s.Stats().Synced, true)
		expect(t, "versions", m.Snapshot().Scope(scopeA.ID()).Version+" "+m.Snapshot().Scope(scopeB.ID()).Version, "2 501")

		m.AddScope("c", scopeOf(c))
		expect(t, "a third", l.take(), "+c/one@2")
		m.DropScope(scopeB)
		expect(t, "one less", l.take(), "-b/one@501")
		b.Add(object1("b/two"))
		a.Add(object1("a/two"))
		expect(t, "only the others go on", l.take(), "+a/two@3")
		expect(t, "stored", m.Snapshot().Len(), 3)
		expect(t, "still synced", m.HasSynced(), true)
	})
}

// Ensures that after the server's history has started over nothing counts as unchanged because its version is equal, and
// that within one history the mirror never goes back.
func TestMirror_Epoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := tarntest.NewSource(nil)
		src.Add(object1("a/one"))
		for range 20 {
			src.Update(object1("a/one"))
		}
		m := mirror.New(mirror.Options{})
		m.AddScope("", scopeOf(src))
		l, _ := start(t, m, mirror.SubscriptionOptions{})
		expect(t, "first", l.take(), "+a/one@22")
		src.StartOver(object1("a/one"))
		time.Sleep(5 * time.Minute) // fake time: it takes none
		expect(t, "the new history", l.take(), "-a/one@22 +a/one@2")
		src.Update(object1("a/one"))
		expect(t, "it is followed", l.take(), "~a/one@3")
		o, _ := m.Snapshot().Get("a/one")
		expect(t, "stored", o.Version, 3)
	})
}

// Ensures that a backlog is bounded by bytes as well as by number, and that both show.
func TestMirror_BacklogBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := tarntest.NewSource(nil)
		m := mirror.New(mirror.Options{})
		m.AddScope("", scopeOf(src))
		release := m.Acquire()
		defer release()
		var got []string
		s := m.Subscribe(mirror.SubscriptionOptions{MaxBytes: 100_000}, func(_ context.Context, c mirror.Change) {
			got = append(got, c.Newest().Version())
		})
		big := object1("a/big")
		big.Raw = fmt.Appendf(nil, `{"metadata":{"namespace":"a","name":"big"},"data":%q}`, strings.Repeat("x", 1000))
		synctest.Wait()
		src.Add(big)
		for range 1000 {
			src.Update(big)
			synctest.Wait()
			if st := s.Stats(); st.BacklogBytes > 110_000 || st.Backlog > 150 {
				t.Fatalf("backlog: %+v", st)
			}
		}
		if c := s.Stats().Conflated; c < 800 {
			t.Errorf("%d conflated", c)
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		synctest.Wait()
		cancel()
		<-done
		expect(t, "the newest", got[len(got)-1], src.Version())
		o, _ := m.Snapshot().Get("a/big")
		expect(t, "bytes", m.Bytes(), len(o.Raw))
	})
}

// Ensures that subscriptions that come and go while objects change each see a history without gap, repetition or step
// back, and that reads during it see one state; under the race detector.
func TestMirror_Concurrent(t *testing.T) {
	src := tarntest.NewSource(nil)
	const keys, rounds = 40, 150
	for n := range keys {
		src.Add(object1(fmt.Sprintf("a/%02d", n), "round", "0"))
	}
	m := mirror.New(mirror.Options{Indexers: store.Indexers{"round": func(o *object.Object) ([]string, error) {
		return []string{o.Labels.Get("round")}, nil
	}}})
	m.AddScope("", scopeOf(src))
	release := m.Acquire()
	defer release()
	var writing atomic.Bool
	writing.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		defer writing.Store(false)
		for round := range rounds {
			for n := range keys {
				key := fmt.Sprintf("a/%02d", n)
				if (round+n)%7 == 0 {
					src.Delete(key)
					src.Add(object1(key, "round", strconv.Itoa(round)))
				} else {
					src.Update(object1(key, "round", strconv.Itoa(round)))
				}
			}
		}
	})
	for worker := range 4 {
		group.Go(func() {
			for writing.Load() {
				follow(t, m, worker%2 == 0)
			}
		})
	}
	group.Go(func() {
		for writing.Load() {
			s := m.Snapshot()
			total := 0
			values, err := s.ListIndexValues("round")
			if err != nil {
				t.Error(err)
				return
			}
			for _, v := range values {
				hits, err := s.By("round", v)
				if err != nil {
					t.Error(err)
					return
				}
				for range hits {
					total++
				}
			}
			if total != s.Len() {
				t.Errorf("the index finds %d of %d", total, s.Len())
				return
			}
		}
	})
	group.Wait()
}

// follow subscribes, checks what comes for a while, and leaves.
func follow(t *testing.T, m *mirror.Mirror, small bool) {
	options := mirror.SubscriptionOptions{}
	if small {
		options.MaxEntries = 20 // conflated all the time
	}
	known := map[string]store.Ref{}
	left := 200
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s := m.Subscribe(options, func(_ context.Context, c mirror.Change) {
		key := c.Key
		if c.Old != known[key] {
			t.Errorf("%v of %s from %v, but saw %v last", c.Kind, key, c.Old.Version(), known[key].Version())
		}
		if c.Kind == mirror.Deleted {
			delete(known, key)
		} else {
			if old := known[key]; !old.IsZero() {
				if order, ok := object.CompareVersions(old.Version(), c.New.Version()); !ok || order >= 0 {
					t.Errorf("%s went from %s to %s", key, old.Version(), c.New.Version())
				}
			}
			known[key] = c.New
		}
		if left--; left == 0 {
			cancel()
		}
	})
	s.Run(ctx)
	s.Remove()
}

// Ensures that what reads nothing of the value is never decoded on the way: the codec is not called.
func TestMirror_DecodesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := tarntest.NewSource(nil)
		src.Add(object1("a/one", "app", "web"))
		m := mirror.New(mirror.Options{})
		m.AddScope("", scopeOf(src)) // its objects have no codec: decoding one would fail
		l, _ := start(t, m, mirror.SubscriptionOptions{})
		synctest.Wait()
		src.Update(object1("a/one", "app", "db"))
		src.Delete("a/one")
		expect(t, "changes", l.take(), "+a/one@2 ~a/one@3 -a/one@4")
		expect(t, "failures", len(m.Failures()), 0)
	})
}
