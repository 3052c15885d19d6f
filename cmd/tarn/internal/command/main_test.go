package command_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/command"
	"github.com/tarn-dev/tarn/internal/devcluster"
)

// asCommand is set where the test binary is started as the command itself, so that it can be sent signals.
const asCommand = "TARN_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(command.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(devcluster.Sharing(m))
}

// output collects what a command writes, and lets a test wait for it.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // closed and replaced at each write
}

func newOutput() *output { return &output{changed: make(chan struct{})} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(o.changed)
	o.changed = make(chan struct{})
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// wait waits until text has been written.
func (o *output) wait(t testing.TB, text string) {
	t.Helper()
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		o.mu.Lock()
		found, changed := strings.Contains(o.text.String(), text), o.changed
		o.mu.Unlock()
		if found {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("%q does not come; there is\n%s", text, o)
		}
	}
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

// run runs a command to its end.
func run(t testing.TB, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, errOut := newOutput(), newOutput()
	code := command.Execute(ctx, args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut})
	return result{code, out.String(), errOut.String()}
}

// kubeconfig writes a kubeconfig for a server and returns its path.
func kubeconfig(t testing.TB, server string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	content := `apiVersion: v1
kind: Config
current-context: one
contexts: [{name: one, context: {cluster: c, user: u, namespace: shop}}, {name: two, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: u, user: {token: t}}]
`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
