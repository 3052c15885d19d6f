//go:build devcluster

package tarn_test

import (
	"context"
	"errors"
	"fmt"
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
