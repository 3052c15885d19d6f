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

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/faultproxy"
)

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

// Ensures (cases 11 to 13) what the informer does where a server without a watch cache, which forgets and pages for real,
// has forgotten a version or the rest of a list, or lists in pages.
func TestCases11To13_Server_WithoutWatchCache(t *testing.T) {
	t.Parallel()
	cluster := devcluster.Start(t, devcluster.WithoutWatchCache())
	compact := func(t *testing.T) {
		t.Helper()
		if _, err := cluster.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	// A watch that gets a real 410 is followed by a list at the last version; only if that is 410 as well, by one at "".
	// What was missed comes, and nothing is listed at "0" again.
	for mode, options := range modes {
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprintf("Case11/%s/list expired %v", mode, twice), func(t *testing.T) {
				st := newStage(t, cluster, faultproxy.Options{})
				st.fill("a", "b")
				u := st.inform(options...)
				u.inStep()
				v := u.version()
				match := faultproxy.StreamingLists(configMaps)
				if mode == "plain" {
					match = faultproxy.FirstPages(configMaps)
				}
				st.reads(mode, "0")
				st.proxy.Refuse()
				st.proxy.Cut()
				st.put("a", "second")
				st.remove("b")
				st.put("c", "first")
				compact(t)
				if twice {
					st.proxy.Add(faultproxy.Rule{Match: match, Times: 1, Answer: faultproxy.Expired()})
				}
				if err := st.proxy.Heal(); err != nil {
					t.Fatal(err)
				}
				u.inStep()
				st.calls("watch@" + v)
				if twice {
					st.calls(lists[mode] + "@" + v)
					v = ""
				}
				st.reads(mode, v)
				u.says("410", isExpired)
			})
		}
	}

	// A 410 for page one is an error; a list of everything at that version is not tried.
	t.Run("Case12/page one", func(t *testing.T) {
		st := newStage(t, cluster, faultproxy.Options{})
		st.fill("a", "b", "c")
		st.proxy.Add(faultproxy.Rule{Match: faultproxy.FirstPages(configMaps), Times: 2, Answer: faultproxy.Expired()})
		u := st.inform(tarn.NoStreamingList(), tarn.PageSize(2))
		u.says("410", isExpired)
		u.inStep()
		requests := st.proxy.Requests(faultproxy.Lists(configMaps))
		for _, r := range requests {
			if r.Query.Get("limit") != "2" {
				t.Errorf("%s: want pages of 2", call(r))
			}
		}
		expect(t, "first", call(requests[0]), "list@0 limit=2")
		expect(t, "then", call(requests[1]), "list@ limit=2")
	})

	// Where the server has forgotten what the rest of a list is about, everything is listed again, at the version first
	// asked for and in one piece. Continuation pages carry no version.
	t.Run("Case12/next page", func(t *testing.T) {
		st := newStage(t, cluster, faultproxy.Options{})
		st.fill("a", "b", "c", "d", "e")
		var once sync.Once
		st.proxy.Add(faultproxy.Rule{Match: func(r faultproxy.Request) bool {
			if r.Query.Get("continue") != "" {
				once.Do(func() { // the request waits for us
					st.remove("b")
					st.put("f", "first")
					compact(t)
				})
			}
			return false
		}})
		u := st.inform(tarn.NoStreamingList(), tarn.PageSize(2))
		u.inStep()
		st.calls("list@0 limit=2", "next@ limit=2", "list@0", "watch@+")
		if errs := u.said(); len(errs) > 0 {
			t.Errorf("reported %v", errs)
		}
	})

	// If the first list at "0" came in pages, a later one is paged as well.
	t.Run("Case13/paged", func(t *testing.T) {
		st := newStage(t, cluster, faultproxy.Options{})
		var fill sync.WaitGroup
		var n atomic.Int32
		for range 8 {
			fill.Go(func() {
				for i := n.Add(1); i <= 501; i = n.Add(1) {
					st.put(fmt.Sprint("m", i), "first")
				}
			})
		}
		fill.Wait()
		u := st.inform(tarn.NoStreamingList())
		u.inStep()
		v := u.version()
		st.calls("list@0 limit=500", "next@ limit=500", "watch@+")
		st.expire()
		st.calls("watch@"+v, "list@"+v+" limit=500", "next@ limit=500", "watch@+")
		u.inStep()
	})
}

// Ensures (case 13) that where the list at "0" came in one piece, from the server's cache, one at a version sends no limit.
func TestCase13_Server_NotPaged(t *testing.T) {
	t.Parallel()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	st.fill("a", "b")
	u := st.inform(tarn.NoStreamingList())
	u.inStep()
	v := u.version()
	st.reads("plain", "0")
	st.expire()
	u.inStep()
	st.calls("watch@"+v, "list@"+v, "watch@+")
}

// why returns what waiting for sync says: it must be one line that fits.
func why(t *testing.T, i interface {
	WaitSynced(context.Context) error
}, fits func(error) bool, words ...string,
) {
	t.Helper()
	var err error
	wait(t, "the reason", 20*time.Second, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		err = i.WaitSynced(ctx)
		if err == nil {
			t.Fatal("synced")
		}
		return fits(err)
	})
	for _, word := range append(words, "not synced: ", " attempt", "retrying ") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("%q is more than one line", err)
	}
}

// Ensures (case 36) that an informer whose user may not list says so in one line, and syncs by itself as soon as a role
// and its binding let it.
func TestCase36_Server_Forbidden(t *testing.T) {
	t.Parallel()
	for mode, options := range modes {
		t.Run(mode, func(t *testing.T) {
			st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
			st.fill("a", "b")
			user := "jane-" + mode
			cfg := st.proxy.Config()
			cfg.Impersonate = rest.ImpersonationConfig{UserName: user}
			u := st.informAs(cfg, options...)
			why(t, u, apierrors.IsForbidden, fmt.Sprintf("configmaps in %q: list: ", st.ns), user, "forbidden")

			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{configMaps}, Verbs: []string{"list", "watch"}},
			}}
			if _, err := st.client.RbacV1().Roles(st.ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			binding := &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "reader"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			}
			if _, err := st.client.RbacV1().RoleBindings(st.ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			u.inStep()
			st.put("a", "second")
			u.inStep()
			if err := u.Status().Scopes[0].Err; err != nil {
				t.Errorf("still says %v", err)
			}
		})
	}
}

// Ensures (case 36) that an informer of a resource whose definition does not exist says so in one line, syncs by itself as
// soon as it does.
func TestCase36_Server_NoDefinitionYet(t *testing.T) {
	t.Parallel()
	st := newStage(t, devcluster.Shared(t), faultproxy.Options{})
	i, err := tarn.For[*unstructured.Unstructured](newHub(t, st.proxy.Config()), tarn.Resource("widgets.example.com"),
		tarn.Backoff(func() time.Duration { return 100 * time.Millisecond }))
	if err != nil {
		t.Fatal(err)
	}
	run(t, i)
	why(t, i, meta.IsNoMatchError, `no resource "widgets.example.com"`)

	widgets := define(t, st, "widgets", "Widget")
	synced(t, i)
	widget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "w"},
	}}
	if _, err := widgets.Create(t.Context(), widget, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	wait(t, "the widget", 20*time.Second, func() bool { _, ok := i.Object(st.ns + "/w"); return ok })
}
