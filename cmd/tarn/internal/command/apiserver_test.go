package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// apiServer is as much of a server as it takes to find and list pods and namespaces; it returns a kubeconfig.
func apiServer(t testing.TB) string {
	answers := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"]},` +
			`{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","verbs":["list","watch"]}]}`,
		"/api/v1/namespaces":           `{"kind":"NamespaceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"prod"}},{"metadata":{"name":"shop"}}]}`,
		"/api/v1/namespaces/shop/pods": `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok || r.URL.Query().Has("sendInitialEvents") {
			http.Error(w, "no such thing", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Query().Has("watch") { // nothing happens, for as long as the client looks
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return kubeconfig(t, server.URL)
}

// Ensures that what is probably the name of an object gets the command that watches it, in the namespace that was given, and
// that what may be a resource to come does not.
func TestWatch_Run_ObjectAsResource(t *testing.T) {
	config := apiServer(t)
	for _, c := range []struct{ args, want string }{
		{"pods web-1", "; to watch one object: tarn watch pods --field-selector metadata.name=web-1\n"},
		{"pods web-1 -n shop", "; to watch one object: tarn watch pods --field-selector metadata.name=web-1 -n shop\n"},
		{"pods,web-1 -A", "; to watch one object: tarn watch pods --field-selector metadata.name=web-1 -A\n"},
		{"web-1", ", or wait for it with --wait\n"},
		{"web-1 pods", ", or wait for it with --wait\n"},
		{"pods widgets.example.com", ", or wait for it with --wait\n"},
		{"pods namespace-s", ", or wait for it with --wait\n"},
	} {
		r := run(t, append([]string{"watch", "--kubeconfig", config}, strings.Fields(c.args)...)...)
		if r.code != 1 || !strings.HasPrefix(r.err, "tarn: no resource ") || !strings.HasSuffix(r.err, c.want) || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: code %d: %s", c.args, r.code, r.err)
		}
	}
}

// Ensures that -n offers the server's namespaces.
func TestWatch_CompleteNamespaces(t *testing.T) {
	config := apiServer(t)
	for typed, want := range map[string]string{"": "prod\nshop\n:4\n", "s": "shop\n:4\n", "x": ":4\n"} {
		if r := run(t, "__complete", "watch", "pods", "--cache-dir", t.TempDir(), "--kubeconfig", config, "-n", typed); r.out != want {
			t.Errorf("%q: %q", typed, r.out)
		}
	}
}

// Ensures that -v tells each request with its answer, without the credentials, and that nothing does without it.
func TestWatch_Run_Verbose(t *testing.T) {
	config := apiServer(t)
	r := run(t, "watch", "pods", "--once", "-v", "--kubeconfig", config)
	for _, want := range []string{"msg=asked method=GET url=", "/api/v1 status=200 took=", "/api/v1/namespaces/shop/pods?", "msg=listed"} {
		if r.code != 0 || !strings.Contains(r.err, want) {
			t.Errorf("code %d, no %q:\n%s", r.code, want, r.err)
		}
	}
	if strings.Contains(r.err, "Bearer") {
		t.Errorf("credentials are told:\n%s", r.err)
	}
	if r = run(t, "watch", "pods", "--once", "--kubeconfig", config); r.code != 0 || r.err != "no pods in namespace \"shop\"\n" {
		t.Errorf("without -v: %+v", r)
	}
}

// Ensures that the help says what a script needs to know.
func TestWatch_Help(t *testing.T) {
	r := run(t, "watch", "--help")
	for _, want := range []string{"present", "reordered", "oldVersion, newVersion", "= stands for", "The exit code is 0"} {
		if !strings.Contains(r.out, want) {
			t.Errorf("no %q in\n%s", want, r.out)
		}
	}
	if strings.Contains(r.out, "--watch") {
		t.Errorf("the flag that does nothing is shown:\n%s", r.out)
	}
}
