//go:build devcluster

package devcluster_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	rbacclient "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

func core(t *testing.T, cfg *rest.Config) *coreclient.CoreV1Client {
	t.Helper()
	client, err := coreclient.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// createConfigMap creates a config map in the namespace default and returns its version.
func createConfigMap(t *testing.T, client *coreclient.CoreV1Client, name string) string {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
	created, err := client.ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.ResourceVersion
}

// limit fails the test where an action takes longer than it may.
func limit(t *testing.T, what string, most time.Duration, action func() error) {
	t.Helper()
	started := time.Now()
	if err := action(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	took := time.Since(started)
	t.Logf("%s took %v", what, took.Round(time.Millisecond))
	if took > most {
		t.Errorf("%s took %v, more than %v", what, took, most)
	}
}

// Ensure that the server is ready when Start returns, has a default namespace, and is what it says.
func TestCluster_Ready(t *testing.T) {
	client := core(t, devcluster.Shared(t).Config())
	body, err := client.RESTClient().Get().AbsPath("/readyz").Do(t.Context()).Raw()
	if err != nil || string(body) != "ok" {
		t.Errorf("readyz: %q, %v", body, err)
	}
	if _, err := client.Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	root, err := devcluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	version, err := devcluster.Version(root)
	if err != nil {
		t.Fatal(err)
	}
	body, err = client.RESTClient().Get().AbsPath("/version").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(body), `"gitVersion": "`+version+`"`) {
		t.Errorf("version: %s, %v", body, err)
	}
}

// Ensure that RBAC decides: an impersonated user may do what a role allows, and nothing else; and that a request without the token
// may not either.
func TestCluster_RBAC(t *testing.T) {
	cluster := devcluster.Shared(t)
	admin, err := rbacclient.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Name: "reader"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"},
	}}}
	if _, err := admin.Roles("default").Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "jane"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}
	if _, err := admin.RoleBindings("default").Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	as := cluster.Config()
	as.Impersonate.UserName = "jane"
	jane := core(t, as)
	// The authorizer learns of the binding through a watch of its own.
	for {
		_, err := jane.ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
		if err == nil {
			break
		}
		if !apierrors.IsForbidden(err) || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if _, err := jane.Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("secrets: got %v, want forbidden", err)
	}
	nobody := cluster.Config()
	nobody.BearerToken = "wrong"
	if _, err := core(t, nobody).Secrets("default").List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("wrong token: got %v, want unauthorized", err)
	}
}

// Ensure that the sharded lists and watches that later work needs are switched on.
func TestCluster_Sharded(t *testing.T) {
	client := core(t, devcluster.Shared(t).Config())
	body, err := client.RESTClient().Get().AbsPath("/metrics").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(body), `kubernetes_feature_enabled{name="ShardedListAndWatch",stage="ALPHA"} 1`) {
		t.Errorf("gate is not on (%v)", err)
	}
}

// Ensure that over a restart state, address and credentials stay, so that a client made before goes on; and that it is another
// process.
func TestCluster_Restart(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := core(t, cluster.Config())
	version := createConfigMap(t, client, "kept")
	pid := cluster.PID()
	limit(t, "restart", 30*time.Second, func() error { return cluster.Restart(t.Context()) })
	if cluster.PID() == pid || cluster.PID() == 0 {
		t.Errorf("pid %d, before %d", cluster.PID(), pid)
	}
	got, err := client.ConfigMaps("default").Get(t.Context(), "kept", metav1.GetOptions{})
	if err != nil || got.ResourceVersion != version {
		t.Errorf("got version %q, %v; want %q", got.ResourceVersion, err, version)
	}
}

// Ensure that Stop takes the server away and Resume brings it back.
func TestCluster_Stop_Resume(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := core(t, cluster.Config())
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err := client.Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("stopped: got %v", err)
	}
	if err := cluster.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("resumed: %v", err)
	}
}

// Ensure that open watches, over HTTP/2 and HTTP/1.1, do not hold the server: SIGTERM ends it within 5 seconds, cleanly.
func TestCluster_Stop_WatchesOpen(t *testing.T) {
	cluster := devcluster.Start(t)
	old := cluster.Config()
	old.NextProtos = []string{"http/1.1"}
	var watches []watch.Interface
	for _, cfg := range []*rest.Config{cluster.Config(), old} {
		for range 20 {
			w, err := core(t, cfg).ConfigMaps("").Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			watches = append(watches, w)
		}
	}
	limit(t, "SIGTERM", 5*time.Second, cluster.Stop)
	for _, w := range watches {
		for range w.ResultChan() { // ends, because the server is gone
		}
	}
}

// openWatch watches config maps from a version. The error is the one that the server answers with, or sends first.
func openWatch(ctx context.Context, client *coreclient.CoreV1Client, version string) error {
	w, err := client.ConfigMaps("").Watch(ctx, metav1.ListOptions{ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	event, ok := <-w.ResultChan()
	switch {
	case !ok:
		return errors.New("watch ended")
	case event.Type == watch.Error:
		return apierrors.FromObject(event.Object)
	}
	return nil
}

// Ensure that after compaction and a restart a watch from an older version gets 410, and one from the newest does not; compaction
// alone does not do it, because the watch cache knows what etcd forgot.
func TestCluster_Compact_Restart(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := core(t, cluster.Config())
	old := createConfigMap(t, client, "compact-1")
	createConfigMap(t, client, "compact-2")
	createConfigMap(t, client, "compact-3")
	revision, err := cluster.Compact(t.Context())
	if err != nil || revision == 0 {
		t.Fatalf("revision %d, %v", revision, err)
	}
	if err := openWatch(t.Context(), client, old); err != nil {
		t.Errorf("compacted only: got %v, want events", err)
	}
	if err := cluster.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := openWatch(t.Context(), client, old); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("compacted and restarted: got %v, want 410", err)
	}
	list, err := client.ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := client.ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	createConfigMap(t, client, "compact-4")
	if event := <-w.ResultChan(); event.Type != watch.Added {
		t.Errorf("newest version: got %v", event)
	}
}

// Ensure that without the watch cache compaction alone makes a watch from an older version get 410, and a second compaction at the
// same revision is an error.
func TestCluster_Compact_WithoutWatchCache(t *testing.T) {
	cluster := devcluster.Start(t, devcluster.WithoutWatchCache())
	client := core(t, cluster.Config())
	old := createConfigMap(t, client, "a")
	createConfigMap(t, client, "b")
	createConfigMap(t, client, "c")
	if err := openWatch(t.Context(), client, old); err != nil {
		t.Errorf("before: got %v, want events", err)
	}
	if _, err := cluster.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := openWatch(t.Context(), client, old); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("after: got %v, want 410", err)
	}
}

// Ensure that the server acting as 1.34 says so and refuses streaming lists.
func TestCluster_Emulate134(t *testing.T) {
	cluster := devcluster.Start(t, devcluster.Emulate134())
	client := core(t, cluster.Config())
	body, err := client.RESTClient().Get().AbsPath("/version").Do(t.Context()).Raw()
	if err != nil || !strings.Contains(string(body), `"emulationMinor": "34"`) {
		t.Errorf("version: %s, %v", body, err)
	}
	yes := true
	options := metav1.ListOptions{
		SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	if w, err := client.ConfigMaps("").Watch(t.Context(), options); !apierrors.IsInvalid(err) {
		if err == nil {
			w.Stop()
		}
		t.Errorf("streaming list: got %v, want invalid", err)
	}
	w, err := core(t, devcluster.Shared(t).Config()).ConfigMaps("").Watch(t.Context(), options)
	if err != nil {
		t.Fatalf("streaming list of the newest server: %v", err)
	}
	w.Stop()
}

// Ensure that Disconnect breaks what is open and nothing else.
func TestCluster_Disconnect(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := core(t, cluster.Config())
	w, err := client.ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if n := cluster.Disconnect(); n == 0 {
		t.Error("nothing was connected")
	}
	for range w.ResultChan() { // ends, because the connection is gone
	}
	if _, err := client.Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// Ensure that nothing that holds a secret can be read by others.
func TestCluster_FileModes(t *testing.T) {
	cluster := devcluster.Shared(t)
	var files int
	err := filepath.WalkDir(cluster.DataDir(), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		if d.Type().IsRegular() {
			files++
		}
		return nil
	})
	if err != nil || files < 8 {
		t.Errorf("%d files, %v", files, err)
	}
	if info, err := os.Stat(cluster.Kubeconfig()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("kubeconfig: %v, %v", info.Mode(), err)
	}
}

// Ensure that etcd answers under the URL that is handed out.
func TestCluster_EtcdURL(t *testing.T) {
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, devcluster.Shared(t).EtcdURL()+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("got %s", resp.Status)
	}
}
