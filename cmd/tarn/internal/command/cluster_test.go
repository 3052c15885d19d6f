//go:build devcluster

package command_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/command"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

func clientset(t testing.TB, cluster *devcluster.Cluster) *kubernetes.Clientset {
	t.Helper()
	c, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace makes a namespace for the test.
func namespace(t testing.TB, client *kubernetes.Clientset) string {
	t.Helper()
	ns, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

func create(t testing.TB, client *kubernetes.Clientset, ns, name string, data map[string]string) {
	t.Helper()
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}}, Data: data}
	if _, err := client.CoreV1().ConfigMaps(ns).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func patch(t testing.TB, client *kubernetes.Clientset, ns, name, json string) {
	t.Helper()
	if _, err := client.CoreV1().ConfigMaps(ns).Patch(t.Context(), name, types.MergePatchType, []byte(json), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, client *kubernetes.Clientset, ns, name string) {
	t.Helper()
	if err := client.CoreV1().ConfigMaps(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

// started is a command that runs.
type started struct {
	out, err *output
	cancel   context.CancelFunc
	code     chan int
}

// start starts a command; end, or the end of the test, ends it.
func start(t testing.TB, args ...string) *started {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &started{newOutput(), newOutput(), cancel, make(chan int, 1)}
	go func() {
		s.code <- command.Execute(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: s.out, ErrOut: s.err})
	}()
	return s
}

// end ends the command as Ctrl-C does, and returns the exit code.
func (s *started) end() int {
	s.cancel()
	return <-s.code
}

// Ensures that a create, a change and a delete are told in each format, that changes from before are not, and that the end
// comes with a summary and code 0.
func TestWatch_Run_Formats(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	for format, want := range map[string][]string{
		"table": {" + c ", " data: 1 key\n", " ~ c ", " data.a: 1 → 2\n", " - c "},
		"diff":  {"+ configmap/c in ", "~ configmap/c in ", "-   data.a: 1\n+   data.a: 2\n", "- configmap/c in "},
		"json":  {`"type":"added"`, `"changes":[{"path":"data.a","kind":"changed","old":"1","new":"2"}]`, `"type":"deleted"`},
		"yaml":  {"added configmap/c, ", "updated configmap/c, ", "data:\n  a: \"2\"\n", "deleted configmap/c, "},
		"name":  {"configmap/c\nconfigmap/c\nconfigmap/c\n"},
	} {
		t.Run(format, func(t *testing.T) {
			ns := namespace(t, client)
			create(t, client, ns, "before", nil)
			s := start(t, "watch", "cm", "-n", ns, "-o", format, "--kubeconfig", cluster.Kubeconfig())
			s.err.wait(t, "watching 1 configmap in namespace \""+ns+"\" since version ")
			create(t, client, ns, "c", map[string]string{"a": "1"})
			patch(t, client, ns, "c", `{"data":{"a":"2"}}`)
			remove(t, client, ns, "c")
			for _, w := range want {
				s.out.wait(t, w)
			}
			code, said := s.end(), s.err.String()
			if code != 0 || !strings.Contains(said, "3 changes in ") || !strings.HasSuffix(said, ": 1 added, 1 updated, 1 deleted; 0 conflated, 0 errors\n") {
				t.Errorf("code %d: %s", code, s.err)
			}
			if strings.Contains(s.out.String(), "before") {
				t.Errorf("what was there before is printed:\n%s", s.out)
			}
			if format == "json" {
				for line := range strings.Lines(s.out.String()) {
					if !json.Valid([]byte(line)) {
						t.Errorf("not JSON: %s", line)
					}
				}
			}
		})
	}
}

// Ensures that several resources come in one stream with their names, --initial prints what is there first, and selectors
// are the server's.
func TestWatch_Run_SeveralInitialSelector(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	ns := namespace(t, client)
	create(t, client, ns, "c", nil)
	create(t, client, ns, "other", nil)
	s := start(t, "watch", "configmaps,secret", "cm", "-l", "app=c", "-n", ns, "--initial", "--kubeconfig", cluster.Kubeconfig())
	s.err.wait(t, "watching 1 configmap and 0 secrets in namespace ")
	s.out.wait(t, " = configmaps c ")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s", Labels: map[string]string{"app": "c"}}}
	if _, err := client.CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.out.wait(t, " + secrets    s ")
	if code := s.end(); code != 0 || strings.Contains(s.out.String(), "other") || !strings.Contains(s.err.String(), "1 change in") {
		t.Errorf("code %d:\n%s%s", code, s.out, s.err)
	}
}

// Ensures that --once prints the state and ends with code 0, says so where there is nothing, and that a resource without
// namespaces needs none.
func TestWatch_Run_Once(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	ns := namespace(t, client)
	if r := run(t, "watch", "cm", "--once", "-n", ns, "--kubeconfig", cluster.Kubeconfig()); r.code != 0 || r.out != "" || r.err != "no configmaps in namespace \""+ns+"\"\n" {
		t.Errorf("empty: %+v", r)
	}
	create(t, client, ns, "b", map[string]string{"k": "v"})
	create(t, client, ns, "a", nil)
	r := run(t, "watch", "cm", "--once", "-n", ns, "--kubeconfig", cluster.Kubeconfig())
	if r.code != 0 || r.err != "" || !strings.HasPrefix(r.out, "a ") || !strings.Contains(r.out, "\nb ") {
		t.Errorf("table: %+v", r)
	}
	if r := run(t, "watch", "cm", "--once", "-o", "name", "-n", ns, "--kubeconfig", cluster.Kubeconfig()); r.out != "configmap/a\nconfigmap/b\n" {
		t.Errorf("name: %+v", r)
	}
	if r := run(t, "watch", "namespaces", "--once", "-A", "--kubeconfig", cluster.Kubeconfig()); r.code != 0 || !strings.Contains(r.out, "kube-system ") {
		t.Errorf("without namespaces: %+v", r)
	}
}

// Ensures that what the server does not have, or allow, is one line that says what to do, and code 1.
func TestWatch_Run_Refused(t *testing.T) {
	cluster := devcluster.Shared(t)
	for _, c := range []struct{ args, want string }{
		{"pood", `tarn: no resource "pood" on the server (did you mean "pods"?), or wait for it with --wait`},
		{"zzz", `tarn: no resource "zzz" on the server; "kubectl api-resources" lists what there is`},
		{"configmaps web-1 -A", `tarn: no resource "web-1" on the server; to watch one object: tarn watch configmaps --field-selector metadata.name=web-1 -A`},
		{"tokenreviews", "tarn: tokenreviews.authentication.k8s.io: the resource cannot be listed and so not be watched"},
		{"secrets --as jane", `tarn: secrets is forbidden: User "jane" cannot list resource "secrets" in API group "" in the namespace "default"; ask for a role`},
		{"pods,secrets --as jane -A", `is forbidden: User "jane" cannot list resource`},
		{"pods --token wrong", "tarn: the server does not accept your credentials: https://127.0.0.1:"},
		{"pods --field-selector spec.x=1", "tarn: the server refuses the request: field label not supported: spec.x; check --selector"},
	} {
		r := run(t, append([]string{"watch", "--kubeconfig", cluster.Kubeconfig()}, strings.Fields(c.args)...)...)
		if r.code != 1 || r.out != "" || !strings.Contains(r.err, strings.TrimSuffix(c.want, ", or wait for it with --wait")) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: code %d: %s", c.args, r.code, r.err)
		}
	}
}

// Ensures that with --wait a missing right is waited for until it is granted.
func TestWatch_Run_WaitForRight(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	ns := namespace(t, client)
	s := start(t, "watch", "cm", "--wait", "--as", "joe", "-n", ns, "--kubeconfig", cluster.Kubeconfig())
	s.err.wait(t, `! configmaps: configmaps is forbidden: User "joe" cannot list resource`)
	meta := metav1.ObjectMeta{Name: "reader"}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}}}
	if _, err := client.RbacV1().Roles(ns).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "joe"}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}
	if _, err := client.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.err.wait(t, "watching 0 configmaps in namespace ")
	if code := s.end(); code != 0 || !strings.Contains(s.err.String(), "! configmaps: back after ") {
		t.Errorf("code %d: %s", code, s.err)
	}
}

// Ensures that with --wait a resource that the server does not have yet is waited for until its definition appears, and that
// others are watched meanwhile.
func TestWatch_Run_WaitForResource(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	ns := namespace(t, client)
	flags := []string{"watch", "-A", "--wait", "--initial", "-o", "name", "--kubeconfig", cluster.Kubeconfig()}
	alone := start(t, append(slices.Clone(flags), "pipelines")...)
	both := start(t, append(slices.Clone(flags), "pipelines", "cm")...)
	for _, s := range []*started{alone, both} {
		s.err.wait(t, `! no resource "pipelines" on the server`)
	}
	both.err.wait(t, "watching ")
	create(t, client, ns, "while-waiting", nil)
	both.out.wait(t, "configmap/while-waiting\n")
	generator := workload.New(workload.Options{Pods: -1, CustomObjects: 2})
	if err := workload.Fill(t.Context(), cluster.Config(), generator, workload.FillOptions{Kinds: []workload.Kind{workload.CustomObjects}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*started{alone, both} {
		s.err.wait(t, "! found pipelines.")
		s.err.wait(t, " in all namespaces")
		s.out.wait(t, "pipeline.")
	}
	both.err.wait(t, " in all namespaces as well\n")
	for _, s := range []*started{alone, both} {
		if code := s.end(); code != 0 || strings.Count(s.err.String(), "no resource") != 1 {
			t.Errorf("code %d: %s", code, s.err)
		}
	}
}

// Ensures that a server that goes away is told and waited for, that its return is told, and that changes go on.
func TestWatch_Run_ServerRestart(t *testing.T) {
	cluster := devcluster.Shared(t)
	client := clientset(t, cluster)
	ns := namespace(t, client)
	create(t, client, ns, "c", map[string]string{"a": "1"})
	s := start(t, "watch", "cm,secrets", "-n", ns, "--kubeconfig", cluster.Kubeconfig())
	s.err.wait(t, "watching ")
	if err := cluster.Stop(); err != nil {
		t.Fatal(err)
	}
	s.err.wait(t, ": connection refused; trying again ")
	if err := cluster.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.err.wait(t, ": back after ")
	if strings.Contains(s.err.String(), "meanwhile") {
		t.Errorf("changes are promised: %s", s.err)
	}
	patch(t, client, ns, "c", `{"data":{"a":"2"}}`)
	s.out.wait(t, "data.a: 1 → 2")
	if code := s.end(); code != 0 || strings.Contains(s.err.String(), " 0 errors") {
		t.Errorf("code %d: %s", code, s.err)
	}
}

// Ensures that the process ends with a summary and code 0 on Ctrl-C and on SIGTERM.
func TestMain_Signals(t *testing.T) {
	cluster := devcluster.Shared(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := exec.Command(program, "watch", "pods", "--kubeconfig", cluster.Kubeconfig())
		cmd.Env = append(os.Environ(), asCommand+"=1")
		errOut := newOutput()
		cmd.Stderr = errOut
		cmd.WaitDelay = 30 * time.Second
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		errOut.wait(t, "Ctrl-C to end\n")
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(errOut.String(), "0 changes in ") {
			t.Errorf("%v: %v: %s", signal, err, errOut)
		}
	}
}

// Ensures that resources are completed as the server has them, the last one after a comma.
func TestWatch_CompleteResources(t *testing.T) {
	cluster := devcluster.Shared(t)
	for typed, want := range map[string]string{"deploy": "deployments\n:4\n", "pods,configm": "pods,configmaps\n:4\n", "tokenr": ":4\n"} {
		if r := run(t, "__complete", "watch", "--cache-dir", t.TempDir(), "--kubeconfig", cluster.Kubeconfig(), typed); r.out != want {
			t.Errorf("%s: %q", typed, r.out)
		}
	}
}
