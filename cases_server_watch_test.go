//go:build devcluster

package tarn_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
	"github.com/tarn-dev/tarn/reflector"
)

// watching starts an informer of two objects with plain lists, which are what a needless relist would be.
func watching(t *testing.T, options ...tarn.Option) (*stage, *subject) {
	t.Helper()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	st.fill("a", "b")
	u := st.inform(append([]tarn.Option{tarn.NoStreamingList()}, options...)...)
	u.inStep()
	st.reads("plain", "0")
	return st, u
}

// Ensures (case 14) that a watch which is throttled, by its answer or by an event, goes on at the same version once the
// server's Retry-After has passed; nothing is listed and nothing missed.
func TestCase14_Server_Throttled(t *testing.T) {
	t.Parallel()
	status := faultproxy.ThrottledStatus(1)
	for name, rule := range map[string]faultproxy.Rule{
		"answer": {Answer: faultproxy.Throttled(1)}, "event": {Inject: &status},
	} {
		t.Run(name, func(t *testing.T) {
			st, u := watching(t)
			v := u.version()
			rule.Match, rule.Times = faultproxy.Watches(configMaps), 1
			st.cutInto(rule)
			st.put("a", "second")
			u.inStep()
			requests := st.calls("watch@"+v, "watch@"+v)
			if took := requests[1].At.Sub(requests[0].At); took < time.Second {
				t.Errorf("tried again after %v, the server asked for 1s", took)
			}
		})
	}
}

// Ensures (case 15) that a watch which the server ends with 500 is tried again at its version until the deadline that was
// set, and is followed by a list after it, or where none was set.
func TestCase15_Server_InternalError(t *testing.T) {
	t.Parallel()
	status := faultproxy.InternalStatus("etcdserver: no leader")
	for name, test := range map[string]struct {
		retry time.Duration
		times int
		want  func(v string) []string
	}{
		"unset":  {0, 1, func(v string) []string { return []string{"watch@" + v, "list@=", "watch@+"} }},
		"within": {time.Minute, 3, func(v string) []string { return []string{"watch@" + v, "watch@" + v, "watch@" + v, "watch@" + v} }},
	} {
		t.Run(name, func(t *testing.T) {
			st, u := watching(t, tarn.RetryInternalErrors(test.retry))
			st.cutInto(faultproxy.Rule{Match: faultproxy.Watches(configMaps), Times: test.times, Inject: &status})
			st.calls(test.want(u.version())...)
			st.put("a", "second")
			u.inStep()
			u.says("no leader", func(err error) bool { return strings.Contains(err.Error(), "no leader") })
		})
	}
	t.Run("over", func(t *testing.T) {
		const retry = 500 * time.Millisecond
		st, u := watching(t, tarn.RetryInternalErrors(retry))
		rule := st.cutInto(faultproxy.Rule{Match: faultproxy.Watches(configMaps), Inject: &status})
		wait(t, "a list", 20*time.Second, func() bool { return len(st.proxy.Requests(faultproxy.Lists(configMaps))) > 1 })
		rule.Remove()
		requests := st.proxy.Requests(isConfigMaps)[st.taken:]
		n := 0
		for faultproxy.Watches(configMaps)(requests[n]) {
			n++
		}
		if took := requests[n].At.Sub(requests[0].At); n < 2 || took < retry {
			t.Errorf("listed after %d watches and %v", n, took)
		}
		st.put("a", "second")
		u.inStep()
		st.taken = len(st.proxy.Requests(isConfigMaps))
	})
}

// Ensures (case 17) that a watch whose body runs into the client's timeout, whose connection breaks, or whose dial is
// refused, goes on at the same version after a backoff: no list, and no talk of a very short watch.
func TestCase17_Server_TimeoutOrRefused(t *testing.T) {
	t.Parallel()
	notShort := func(t *testing.T, u *subject) {
		t.Helper()
		if len(u.said()) == 0 {
			t.Error("nothing was reported")
		}
		for _, err := range u.said() {
			if errors.Is(err, reflector.ErrShortWatch) || strings.Contains(err.Error(), "short") {
				t.Errorf("reported %v", err)
			}
		}
	}
	t.Run("timeout", func(t *testing.T) {
		st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
		st.fill("a", "b")
		cfg := st.proxy.Config()
		cfg.Timeout = 2 * time.Second
		u := st.informAs(cfg, tarn.NoStreamingList())
		u.inStep()
		st.reads("plain", "0")
		st.calls("watch@" + u.version())
		st.put("a", "second")
		u.inStep()
		if n := u.waits.Load(); n != 1 {
			t.Errorf("backed off %d times, want once", n)
		}
		notShort(t, u)
	})
	t.Run("refused", func(t *testing.T) {
		st, u := watching(t)
		v := u.version()
		st.proxy.Refuse()
		st.proxy.Cut()
		u.says("refused", func(err error) bool { return strings.Contains(err.Error(), "connection refused") })
		st.put("a", "second")
		if err := st.proxy.Heal(); err != nil {
			t.Fatal(err)
		}
		u.inStep()
		st.calls("watch@" + v)
		notShort(t, u)
	})
	t.Run("cut", func(t *testing.T) {
		st, u := watching(t)
		v := u.version()
		for n := range 3 {
			st.proxy.Cut()
			st.calls("watch@" + v)
			v = st.put("a", fmt.Sprint(n))
			u.inStep()
		}
		notShort(t, u)
	})
}

// Ensures (case 18) that watches which close at once, again and again, are reported as what they are, and that each is
// followed by a backoff and a list.
func TestCase18_Server_VeryShortWatch(t *testing.T) {
	t.Parallel()
	st, u := watching(t)
	v := u.version()
	rule := st.cutInto(faultproxy.Rule{Match: faultproxy.Watches(configMaps), Times: 4, Answer: faultproxy.EmptyWatch()})
	if err := rule.Wait(t.Context(), 4); err != nil {
		t.Fatal(err)
	}
	st.calls("watch@"+v, "list@=", "watch@+", "list@=", "watch@+", "list@=", "watch@+", "list@=", "watch@+")
	if n := u.waits.Load(); n != 5 {
		t.Errorf("backed off %d times, want 5: for the cut and each short watch", n)
	}
	short := 0
	for _, err := range u.said() {
		if errors.Is(err, reflector.ErrShortWatch) {
			short++
		}
	}
	if short != 4 {
		t.Errorf("reported %d times, want 4: %v", short, u.said())
	}
	st.put("a", "second")
	u.inStep()
}

// Ensures (case 19) that streaming lists which the server ends without the bookmark that belongs there are given up after
// three tries, and one that it keeps open so after 30 s: a plain list follows, and the informer is synced.
func TestCase19_Server_NoEndBookmark(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]faultproxy.Rule{
		"closes": {EndAfterEvents: 2}, "breaks": {CutAfterBytes: 400}, "silent": {DropEndBookmark: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			rule.Match = faultproxy.StreamingLists(configMaps)
			st.proxy.Add(rule)
			u := st.inform()
			u.inStep()
			want := []string{"stream@", "stream@", "stream@", "list@0 limit=500", "watch@+"}
			if name == "silent" {
				want = want[2:]
			}
			st.calls(want...)
			v := u.version()
			st.expire() // and no streaming list later on, either
			st.calls("watch@"+v, "list@=", "watch@+")
		})
	}
}

// Ensures (case 20) that a streaming list which dies among its initial events leaves no version behind: it starts anew
// with none, and everything is there in the end.
func TestCase20_Server_StreamDiesEarly(t *testing.T) {
	t.Parallel()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	st.fill("c", "a", "d", "b") // the server sends them by name: their versions go up and down
	st.put("a", "second")
	rule := st.proxy.Add(faultproxy.Rule{Match: faultproxy.StreamingLists(configMaps), Times: 2, CutAfterBytes: 800})
	u := st.inform()
	if err := rule.Wait(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	u.inStep()
	st.calls("stream@", "stream@", "stream@")
	v := u.version()
	st.proxy.Cut()
	st.calls("watch@" + v)
}

// Ensures (case 22) that the watch of a streaming list which times out normally goes on from the last version, without
// asking for the initial events again, and that nothing is told twice.
func TestCase22_Server_ReconnectAfterStreamingList(t *testing.T) {
	t.Parallel()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	st.fill("a", "b")
	u := st.inform(tarn.WatchTimeout(time.Second, 0))
	u.inStep()
	last := st.put("a", "second")
	u.inStep()
	if err := st.proxy.Wait(t.Context(), 4, faultproxy.Watches(configMaps)); err != nil {
		t.Fatal(err)
	}
	st.put("b", "second")
	u.inStep()
	for n, r := range st.proxy.Requests(isConfigMaps) {
		if n == 0 {
			expect(t, "first", call(r), "stream@")
			continue
		}
		// A bookmark may have moved the version.
		if v := r.Query.Get("resourceVersion"); call(r) != "watch@"+v || len(v) < len(last) || v < last && len(v) == len(last) {
			t.Errorf("then %s, after version %s", call(r), last)
		}
	}
	if n := u.seen.events.Load(); n != 4 {
		t.Errorf("%d events, want 2 adds and 2 updates", n)
	}
	if errs := u.said(); len(errs) > 0 {
		t.Errorf("reported %v", errs)
	}
}

// Ensures (case 23) that events without a version are applied, each as a change, and that the informer goes on from the
// version that it had.
func TestCase23_Server_EventsWithoutVersion(t *testing.T) {
	t.Parallel()
	st, u := watching(t)
	v := u.version()
	event := func(kind, value string) string {
		return fmt.Sprintf(`{"type":%q,"object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"namespace":%q,"name":"x","uid":"u"},"data":{"value":%q}}}`+"\n",
			kind, st.ns, value)
	}
	events := st.cutInto(faultproxy.Rule{
		Match: faultproxy.Watches(configMaps), Times: 1,
		Answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, event("ADDED", "1"), event("MODIFIED", "2"), event("MODIFIED", "3"),
				`{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{}}}`+"\n")
		},
	})
	if err := events.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	wait(t, "five events", 20*time.Second, func() bool { return u.seen.events.Load() == 5 })
	if m, ok, err := u.Get(st.ns + "/x"); err != nil || !ok || m.Data["value"] != "3" {
		t.Errorf("x is %v %v %v", m, ok, err)
	}
	st.calls("watch@"+v, "watch@"+v)
	if got := u.version(); got != v {
		t.Errorf("at version %q, want %q", got, v)
	}
	st.expire() // the server knows nothing of x
	st.calls("watch@"+v, "list@=", "watch@+")
	u.inStep()
}

// Ensures (case 24) that a connection which stays open and silent is noticed within the timeout and the slack, whether it
// carries a watch or was to carry a list, and that nothing is missed.
func TestCase24_Server_SilentConnection(t *testing.T) {
	t.Parallel()
	const least, slack = 2 * time.Second, time.Second
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			st.proxy.BlackHole()
			u := st.inform(append(options, tarn.WatchTimeout(least, slack))...)
			u.says("silence", is(reflector.ErrIdle))
			if err := st.proxy.Heal(); err != nil {
				t.Fatal(err)
			}
			u.inStep()
			before, v := len(u.said()), u.version()
			lists := len(st.proxy.Requests(faultproxy.Lists(configMaps))) + len(st.proxy.Requests(faultproxy.StreamingLists(configMaps)))

			began := time.Now()
			st.proxy.BlackHole()
			if err := st.proxy.Heal(); err != nil { // only for new connections
				t.Fatal(err)
			}
			st.put("a", "second")
			st.remove("b")
			u.inStep()
			if took, most := time.Since(began), 2*least+slack+3*time.Second; took > most {
				t.Errorf("in step after %v, want %v at most", took, most)
			}
			errs := u.said()[before:]
			if len(errs) != 1 || !errors.Is(errs[0], reflector.ErrIdle) {
				t.Errorf("reported %v", errs)
			}
			requests := st.proxy.Requests(isConfigMaps)
			expect(t, "then", call(requests[len(requests)-1]), "watch@"+v)
			now := len(st.proxy.Requests(faultproxy.Lists(configMaps))) + len(st.proxy.Requests(faultproxy.StreamingLists(configMaps)))
			expect(t, "lists", now, lists)
		})
	}
}

// Ensures (case 24) the same for HTTP/2, where all requests share one connection: the transport's ping finds it dead and
// drops it, also where the watch was given up before and the next one was sent into the same silence.
func TestCase24_Server_SilentHTTP2(t *testing.T) {
	// client-go reads these when it makes a transport; its own values are 30 s and 15 s.
	for name, test := range map[string]struct {
		readIdle string
		options  []tarn.Option
		idle     bool
	}{
		"ping first":     {"1", nil, false},
		"deadline first": {"4", []tarn.Option{tarn.WatchTimeout(time.Second, 500*time.Millisecond)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HTTP2_READ_IDLE_TIMEOUT_SECONDS", test.readIdle)
			t.Setenv("HTTP2_PING_TIMEOUT_SECONDS", "1")
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{TLS: true})
			st.fill("a", "b")
			cfg := st.proxy.Config()
			cfg.Dial = new(net.Dialer).DialContext // or client-go would share a transport that it has made before
			u := st.informAs(cfg, test.options...)
			u.inStep()
			st.proxy.BlackHole()
			if err := st.proxy.Heal(); err != nil {
				t.Fatal(err)
			}
			st.put("a", "second")
			st.remove("b")
			u.inStep()
			idle := 0
			for _, err := range u.said() {
				if errors.Is(err, reflector.ErrIdle) {
					idle++
				}
			}
			if (idle > 0) != test.idle {
				t.Errorf("reported %v", u.said())
			}
			if n := len(st.proxy.Requests(faultproxy.StreamingLists(configMaps))); n != 1 {
				t.Errorf("%d streaming lists, want the first only", n)
			}
		})
	}
}
