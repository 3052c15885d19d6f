//go:build devcluster

package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// The cases that broke other implementations, as a user of an informer meets them: against a real server, through a
// proxy that makes things go wrong. The requests that the proxy saw are what is checked, and what the informer then holds.

const configMaps = "configmaps"

// modes are the two ways to read a collection.
var modes = map[string][]tarn.Option{"plain": {tarn.NoStreamingList()}, "streaming": nil}

// stage is a namespace of ConfigMaps on a server, with a proxy in front of it that only one informer uses.
type stage struct {
	t      *testing.T
	proxy  *faultproxy.Proxy
	client kubernetes.Interface // past the proxy
	ns     string
	taken  int    // requests that calls has told already
	last   string // the version that the latest of them asked for
}

var stages atomic.Int32

func newStage(t *testing.T, cluster *devcluster.Cluster, options faultproxy.Options) *stage {
	t.Helper()
	proxy, err := faultproxy.New(cluster.Config(), options)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	st := &stage{t: t, proxy: proxy, client: client, ns: fmt.Sprintf("cases-%d", stages.Add(1))}
	t.Cleanup(func() {
		proxy.Close()
		if st.taken > 0 && !t.Failed() {
			st.calls()
		}
	})
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: st.ns}}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return st
}

// put creates or changes a ConfigMap and returns its new version.
func (st *stage) put(name, value string) string {
	st.t.Helper()
	maps := st.client.CoreV1().ConfigMaps(st.ns)
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"value": value}}
	done, err := maps.Update(st.t.Context(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		done, err = maps.Create(st.t.Context(), m, metav1.CreateOptions{})
	}
	if err != nil {
		st.t.Fatal(err)
	}
	return done.ResourceVersion
}

func (st *stage) fill(names ...string) {
	st.t.Helper()
	for _, name := range names {
		st.put(name, "first")
	}
}

func (st *stage) remove(name string) {
	st.t.Helper()
	if err := st.client.CoreV1().ConfigMaps(st.ns).Delete(st.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		st.t.Fatal(err)
	}
}

// truth is what the server has.
func (st *stage) truth() map[string]*corev1.ConfigMap {
	st.t.Helper()
	list, err := st.client.CoreV1().ConfigMaps(st.ns).List(st.t.Context(), metav1.ListOptions{})
	if err != nil {
		st.t.Fatal(err)
	}
	all := make(map[string]*corev1.ConfigMap, len(list.Items))
	for n := range list.Items {
		all[st.ns+"/"+list.Items[n].Name] = &list.Items[n]
	}
	return all
}

// cutInto breaks the watch, and the rule is what the next requests run into.
func (st *stage) cutInto(rule faultproxy.Rule) *faultproxy.Active {
	active := st.proxy.Add(rule)
	st.proxy.Cut()
	return active
}

// expire makes the informer list again: its watch breaks, and the next one gets 410.
func (st *stage) expire() {
	st.cutInto(faultproxy.Rule{Match: faultproxy.Watches(configMaps), Times: 1, Answer: faultproxy.Expired()})
}

func isConfigMaps(r faultproxy.Request) bool { return strings.HasSuffix(r.Path, "/"+configMaps) }

// call tells a request in short, such as "list@12 limit=500". What holds for every request of its sort is told only
// where it is broken.
func call(r faultproxy.Request) string {
	q := r.Query
	what, match := "list", ""
	version := q.Get("resourceVersion")
	switch {
	case faultproxy.StreamingLists("")(r):
		what, match = "stream", "NotOlderThan"
	case faultproxy.Watches("")(r):
		what = "watch"
	case q.Has("continue"):
		what = "next"
	case version != "" && version != "0":
		match = "NotOlderThan"
	}
	s := what + "@" + version
	if q.Has("limit") {
		s += " limit=" + q.Get("limit")
	}
	if got := q.Get("resourceVersionMatch"); got != match {
		s += " match=" + got
	}
	if watch := what == "watch" || what == "stream"; watch != (q.Get("allowWatchBookmarks") == "true") || watch != q.Has("timeoutSeconds") {
		s += " bookmarks=" + q.Get("allowWatchBookmarks") + " timeout=" + q.Get("timeoutSeconds")
	}
	return s
}

// calls waits until the next requests are those. Instead of a version, = stands for the one that the request before asked
// for, and + for that or a later one: other tests move the version of a list. Without any, there must be none, as there
// must be at the end of a test that has called it.
func (st *stage) calls(want ...string) []faultproxy.Request {
	st.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	err := st.proxy.Wait(ctx, st.taken+len(want), isConfigMaps)
	requests := st.proxy.Requests(isConfigMaps)[st.taken:]
	got := make([]string, len(requests))
	fits := err == nil && (len(want) > 0 || len(requests) == 0)
	last := st.last
	for n, r := range requests {
		version := r.Query.Get("resourceVersion")
		got[n] = call(r)
		if fits && n < len(want) {
			order, ok := object.CompareVersions(version, last)
			later := strings.Replace(want[n], "@+", "@"+version, 1)
			same := strings.Replace(want[n], "@=", "@"+last, 1)
			fits = got[n] == same || got[n] == later && (!ok || order >= 0)
			st.last = version
		}
		last = version
	}
	if !fits {
		st.t.Fatalf("requests: %v\n got %s\nwant %s", err, strings.Join(got, ", "), strings.Join(want, ", "))
	}
	st.taken += len(want)
	return requests[:len(want)]
}

// lists is what call names the list of each mode.
var lists = map[string]string{"plain": "list", "streaming": "stream"}

// reads waits until the next requests are the list of the collection at a version, and the watch that goes on from there.
func (st *stage) reads(mode, version string) []faultproxy.Request {
	st.t.Helper()
	if mode == "streaming" {
		return st.calls("stream@" + strings.TrimPrefix(version, "0"))
	}
	list := "list@" + version
	if version == "" || version == "0" {
		list += " limit=500"
	}
	return st.calls(list, "watch@+")
}

// subject is the informer under test.
type subject struct {
	*tarn.Informer[*corev1.ConfigMap]
	st    *stage
	seen  *replay[*corev1.ConfigMap]
	stop  func()
	waits atomic.Int32 // how often it backed off

	mu   sync.Mutex
	errs []error
}

// inform runs an informer through the proxy. It backs off for 20 ms, or as the options say.
func (st *stage) inform(options ...tarn.Option) *subject {
	st.t.Helper()
	return st.informAs(st.proxy.Config(), options...)
}

func (st *stage) informAs(cfg *rest.Config, options ...tarn.Option) *subject {
	st.t.Helper()
	u := &subject{st: st, seen: newReplay[*corev1.ConfigMap](nil)}
	i, err := tarn.For[*corev1.ConfigMap](newHub(st.t, cfg), append([]tarn.Option{
		tarn.Namespace(st.ns),
		tarn.Backoff(func() time.Duration { u.waits.Add(1); return 20 * time.Millisecond }),
		tarn.OnError(func(err error) {
			u.mu.Lock()
			defer u.mu.Unlock()
			u.errs = append(u.errs, err)
		}),
	}, options...)...)
	if err != nil {
		st.t.Fatal(err)
	}
	if _, err := i.Subscribe(u.seen); err != nil {
		st.t.Fatal(err)
	}
	u.Informer = i
	u.stop = run(st.t, i)
	return u
}

// version is the last one that the informer has seen.
func (u *subject) version() string { return u.Status().Scopes[0].Version }

// inStep waits until the informer holds what the server has, its handler was told so, without contradiction, and it
// watches.
func (u *subject) inStep() {
	u.st.t.Helper()
	synced(u.st.t, u)
	truth := u.st.truth()
	wait(u.st.t, "in step", 20*time.Second, func() bool {
		return sameVersions(u.Informer, truth) && matches(u.seen, u.Informer) && u.Status().Scopes[0].Phase == reflector.Watching.String()
	})
	mustEqual(u.st.t, u.Informer, truth)
	u.seen.mu.Lock()
	defer u.seen.mu.Unlock()
	for _, wrong := range u.seen.wrong {
		u.st.t.Errorf("the handler was told %s", wrong)
	}
}

// said returns the errors that were reported so far.
func (u *subject) said() []error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]error(nil), u.errs...)
}

// says waits until an error is reported that is fits.
func (u *subject) says(what string, fits func(error) bool) {
	u.st.t.Helper()
	wait(u.st.t, "reported "+what, 20*time.Second, func() bool {
		for _, err := range u.said() {
			if fits(err) {
				return true
			}
		}
		return false
	})
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// Ensures (case 10) that a version which the server has not reached is not insisted on: whatever the shape of the answer,
// the most recent collection is listed at once, and the next list is a normal one.
func TestCase10_Server_TooLarge(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Shared(t)
	answers := map[string]http.HandlerFunc{"real": faultproxy.Failure(realTooLarge(t, cluster))}
	for _, shape := range faultproxy.Shapes {
		answers[string(shape)] = faultproxy.TooLarge(shape)
	}
	for mode, options := range modes {
		for shape, answer := range answers {
			t.Run(mode+"/"+shape, func(t *testing.T) {
				st := newStage(t, cluster, faultproxy.Options{})
				st.fill("a", "b")
				u := st.inform(options...)
				u.inStep()
				st.reads(mode, "0")
				match := faultproxy.StreamingLists(configMaps)
				if mode == "plain" {
					match = faultproxy.FirstPages(configMaps)
				}
				v := u.version()
				st.proxy.Add(faultproxy.Rule{Match: match, Times: 1, Answer: answer})
				st.expire()
				st.put("a", "second")
				u.inStep()
				st.calls("watch@" + v)
				refused := st.calls(lists[mode] + "@" + v)
				latest := st.reads(mode, "")
				if n := u.waits.Load(); n != 2 {
					t.Errorf("backed off %d times, want 2: for the broken watch and the 410", n)
				}
				if took := latest[0].At.Sub(refused[0].At); took > time.Second {
					t.Errorf("the most recent list was asked for after %v", took)
				}
				v = u.version()
				st.expire()
				st.calls("watch@" + v)
				st.reads(mode, v)
				u.inStep()
			})
		}
	}
}

// realTooLarge is what the server says today to a version of the future.
func realTooLarge(t *testing.T, cluster *devcluster.Cluster) metav1.Status {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	err = client.CoreV1().RESTClient().Get().Resource(configMaps).
		Param("resourceVersion", "999999999").Param("resourceVersionMatch", "NotOlderThan").MaxRetries(0).Do(t.Context()).Error()
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("a version of the future: %v", err)
	}
	return status.ErrStatus
}

// Ensures (case 21) that a Table, here from the real server because the user's transport asks for one, is never stored:
// as a list it is an error, in a watch it is reported and skipped, and the version stays.
func TestCase21_Server_Table(t *testing.T) {
	t.Parallel()
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			asks := &tableTransport{}
			asks.on.Store(true)
			cfg := st.proxy.Config()
			cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { asks.next = next; return asks })
			u := st.informAs(cfg, options...)
			u.says("a Table", is(source.ErrTable))
			if u.HasSynced() || u.Len() > 0 {
				t.Fatalf("synced %v, with %d objects", u.HasSynced(), u.Len())
			}
			asks.on.Store(false)
			st.proxy.Cut() // a streaming list of Tables would wait for its end for 30 s
			u.inStep()

			before, v := len(u.said()), u.version()
			asks.on.Store(true)
			st.proxy.Cut()
			st.put("a", "second")
			wait(t, "reported a Table in the watch", 20*time.Second, func() bool {
				for _, err := range u.said()[before:] {
					if errors.Is(err, source.ErrTable) {
						return true
					}
				}
				return false
			})
			if u.version() != v || u.Len() != 2 {
				t.Errorf("at version %s with %d objects, want %s with 2", u.version(), u.Len(), v)
			}
			asks.on.Store(false)
			st.proxy.Cut()
			u.inStep()
		})
	}
}

// tableTransport asks for Tables while it is on.
type tableTransport struct {
	next http.RoundTripper
	on   atomic.Bool
}

func (a *tableTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.on.Load() && strings.HasSuffix(r.URL.Path, "/"+configMaps) {
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	}
	return a.next.RoundTrip(r)
}

func (a *tableTransport) WrappedRoundTripper() http.RoundTripper { return a.next }

// Ensures (case 25) that a transform which fails for one object of a watch is reported with its key, and the object is
// kept and marked; nothing is listed because of it; its next event and the next relist try it again.
func TestCase25_Server_OneBadObject(t *testing.T) {
	t.Parallel()
	bad := errors.New("does not fit")
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			var strict atomic.Bool
			strict.Store(true)
			u := st.inform(append(options, tarn.Transform(func(m *corev1.ConfigMap) (*corev1.ConfigMap, error) {
				if strict.Load() && m.Data["value"] == "bad" {
					return nil, bad
				}
				return m, nil
			}))...)
			u.inStep()
			st.reads(mode, "0")
			versions := map[string]string{st.ns + "/a": st.put("a", "bad"), st.ns + "/b": st.put("b", "bad")}
			st.put("c", "good") // behind the bad ones
			u.inStep()
			u.says("the key", func(err error) bool { return errors.Is(err, bad) && strings.Contains(err.Error(), st.ns+"/a") })
			failed := u.Status().Failed
			for _, f := range failed {
				if !errors.Is(f.Err, bad) || versions[f.Key] != f.Version {
					t.Errorf("failed: %+v", f)
				}
			}
			if len(failed) != 2 {
				t.Fatalf("%d objects failed, want 2: %+v", len(failed), failed)
			}
			st.put("a", "good")
			u.inStep()
			if failed := u.Status().Failed; len(failed) != 1 || failed[0].Key != st.ns+"/b" {
				t.Errorf("after a good event of a, there failed %+v", failed)
			}
			st.calls()
			strict.Store(false)
			v := u.version()
			st.expire()
			wait(t, "the relist tried again", 20*time.Second, func() bool { return len(u.Status().Failed) == 0 })
			st.calls("watch@" + v)
			st.reads(mode, v)
			u.inStep()
			n := 0
			for _, err := range u.said() {
				if errors.Is(err, bad) {
					n++
				}
			}
			if n != 2 {
				t.Errorf("reported %d times, want once for each of 2 versions: %v", n, u.said())
			}
		})
	}
}

// Ensures (case 16) that Run returns at once while the informer is in a long backoff, and while a server does not
// answer the request for a list.
func TestCase16_Server_EndDuringBackoff(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for mode, options := range modes {
		for name, fault := range map[string]func(*stage) func(*subject) bool{
			"refused": func(st *stage) func(*subject) bool {
				st.proxy.Refuse()
				return func(u *subject) bool { return u.Status().Scopes[0].Phase == reflector.Waiting.String() }
			},
			"starting": func(st *stage) func(*subject) bool {
				rule := st.proxy.Add(faultproxy.Rule{Match: isConfigMaps, Answer: hang})
				return func(*subject) bool { return rule.Hits() > 0 }
			},
		} {
			t.Run(mode+"/"+name, func(t *testing.T) {
				st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
				reached := fault(st)
				u := st.inform(append(options, tarn.Backoff(func() time.Duration { return 30 * time.Second }))...)
				wait(t, "stuck", 20*time.Second, func() bool { return reached(u) })
				began := time.Now()
				u.stop()
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("Run returned after %v", took)
				}
			})
		}
	}
}
