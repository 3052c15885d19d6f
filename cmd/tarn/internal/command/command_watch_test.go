package command_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/command"
)

// Ensures that a mistake in the command line is one line that says what to do instead, and code 1, before anything is
// asked of a server.
func TestWatch_Complete_Mistakes(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfig(t, "https://127.0.0.1:1"))
	for _, c := range []struct{ args, want string }{
		{"", `say what to watch, for example "tarn watch pods"`},
		{", ,", `say what to watch`},
		{"pods/web-1", `take "tarn watch pods --field-selector metadata.name=web-1"`},
		{"pods/web-1 -n prod", `take "tarn watch pods --field-selector metadata.name=web-1 -n prod"`},
		{"pods/web-1 -A", `take "tarn watch pods --field-selector metadata.name=web-1 -A"`},
		{"-w pods/web-1", `take "tarn watch pods --field-selector metadata.name=web-1"`},
		{"pods -o wide", `there is no output "wide": take one of table, diff, json, yaml, name`},
		{"pods --color=blue", `take one of auto, always, never`},
		{"pods --once -o diff", `leave out one of them`},
		{"pods --max-changes=0", `at least 1`},
		{"pods -l a=b=c", `--selector "a=b=c": `},
		{"pods --field-selector a", `--field-selector "a": `},
		{"pods --colour", `unknown flag: --colour`},
		{"pods --request-timeout=5s", `unknown flag: --request-timeout`},
	} {
		r := run(t, append([]string{"watch"}, strings.Fields(c.args)...)...)
		if r.code != 1 || r.out != "" || !strings.Contains(r.err, c.want) ||
			!strings.HasSuffix(r.err, "; see \"tarn watch --help\"\n") || strings.Count(r.err, "\n") != 1 {
			t.Errorf("%s: code %d, %s", c.args, r.code, r.err)
		}
	}
}

// Ensures that whatever is wrong with the kubeconfig is one line that says what to do, and code 1.
func TestWatch_Complete_Kubeconfig(t *testing.T) {
	good := kubeconfig(t, "https://127.0.0.1:1")
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("apiVersion: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, env, args, want string }{
		{"missing, by flag", good, "--kubeconfig=/none", "tarn: kubeconfig: stat /none: no such file or directory; check --kubeconfig and KUBECONFIG\n"},
		{"missing, by environment", "/none", "", "tarn: no cluster is configured: there is no kubeconfig at /none; give --kubeconfig, set KUBECONFIG, or give --server\n"},
		{"unreadable", bad, "", "tarn: kubeconfig: error loading config file \"" + bad + "\": "},
		{"no such context", good, "--context=three", "tarn: kubeconfig: context \"three\" does not exist; choose another --context: there is one, two\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", c.env)
			r := run(t, append([]string{"watch", "pods"}, strings.Fields(c.args)...)...)
			if r.code != 1 || r.out != "" || !strings.HasPrefix(r.err, c.want) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("code %d: %s", r.code, r.err)
			}
		})
	}
}

// Ensures that a server that does not answer, or is none, is one line that names it and says what to do, and code 1.
func TestWatch_Run_NoServer(t *testing.T) {
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	defer tls.Close()
	for _, c := range []struct{ name, server, want string }{
		{
			"refused", "https://127.0.0.1:1",
			"tarn: no answer from https://127.0.0.1:1 (context \"one\"): connection refused; " +
				"check that it runs and that this is the right one (--context, --server), or wait for it with --wait\n",
		},
		{"certificate", tls.URL, "tarn: the certificate of " + tls.URL + " (context \"one\") is not trusted: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, "watch", "pods", "--kubeconfig", kubeconfig(t, c.server))
			if r.code != 1 || r.out != "" || !strings.HasPrefix(r.err, c.want) || strings.Count(r.err, "\n") != 1 {
				t.Errorf("code %d: %s", r.code, r.err)
			}
		})
	}
}

// Ensures that with --wait a server that does not answer is waited for until the user ends it.
func TestWatch_Run_WaitForServer(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, errOut := newOutput(), newOutput()
	done := make(chan int, 1)
	args := []string{"watch", "pods", "--wait", "--kubeconfig", kubeconfig(t, "https://127.0.0.1:1")}
	go func() { done <- command.Execute(ctx, args, genericiooptions.IOStreams{Out: out, ErrOut: errOut}) }()
	errOut.wait(t, "! no answer from https://127.0.0.1:1 (context \"one\"): connection refused; asking again until that changes\n")
	cancel()
	if code := <-done; code != 0 || !strings.Contains(errOut.String(), "before everything was read") {
		t.Errorf("code %d: %s", code, errOut)
	}
}

// Ensures that a server that has an error of its own is asked again without being told to, and that it is said once.
func TestWatch_Run_ServerError(t *testing.T) {
	asked := make(chan time.Time, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- time.Now()
		http.Error(w, "etcd is away", http.StatusServiceUnavailable)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, errOut := newOutput(), newOutput()
	done := make(chan int, 1)
	args := []string{"watch", "pods", "--kubeconfig", kubeconfig(t, server.URL)}
	go func() { done <- command.Execute(ctx, args, genericiooptions.IOStreams{Out: out, ErrOut: errOut}) }()
	errOut.wait(t, "; asking again until that changes\n")
	said := time.Now()
	for at := range asked {
		if at.Sub(said) > 1500*time.Millisecond { // the pauses are 1 s, 2 s and so on: this is the third attempt
			break
		}
	}
	cancel()
	if code := <-done; code != 0 || strings.Count(errOut.String(), " ! ") != 1 {
		t.Errorf("code %d: %s", code, errOut)
	}
}
