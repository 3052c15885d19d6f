package devcluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

// fake makes a shell script be the binary, and the temporary folder an empty one that it returns.
func fake(t *testing.T, script string) string {
	t.Helper()
	file, tmp := filepath.Join(t.TempDir(), "fake"), t.TempDir()
	write(t, file, "#!/bin/sh\n"+script)
	t.Setenv(devcluster.EnvBinary, file)
	t.Setenv("TMPDIR", tmp)
	return tmp
}

func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Ensure that a start that fails says what the program said, and leaves nothing behind.
func TestNew_Fails(t *testing.T) {
	tmp := fake(t, "echo port is taken >&2; exit 3")
	_, err := devcluster.New(t.Context())
	if err == nil || !strings.Contains(err.Error(), "port is taken") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	wantEmpty(t, tmp)
}

// Ensure that a start that hangs ends with its context, and the program with it.
func TestNew_ContextEnds(t *testing.T) {
	tmp := fake(t, "echo waiting for godot >&2; exec sleep 60")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := devcluster.New(ctx)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "godot") {
		t.Errorf("got %v", err)
	}
	wantEmpty(t, tmp)
}

// Ensure that the first start leaves ports and credentials to the program, and that every later one asks for the same; that the
// options get through; and that a program that died shows at the end.
func TestCluster_Resume_SamePorts(t *testing.T) {
	tmp := fake(t, `echo "$@" >&2
for arg; do case $arg in --data-dir=*) dir=${arg#--data-dir=};; esac; done
cat > $dir/kubeconfig <<END
apiVersion: v1
kind: Config
current-context: a
clusters: [{name: a, cluster: {server: "https://127.0.0.1:1234"}}]
contexts: [{name: a, context: {cluster: a}}]
END
echo kubeconfig: $dir/kubeconfig
echo server: https://127.0.0.1:1234
echo etcd: http://127.0.0.1:5678
echo ready
read wait_for_stdin
`)
	var said strings.Builder
	c, err := devcluster.New(t.Context(), devcluster.Output(&said), devcluster.Emulate134(), devcluster.WithoutWatchCache())
	if err != nil {
		t.Fatal(err)
	}
	if c.Config().Host != "https://127.0.0.1:1234" || c.EtcdURL() != "http://127.0.0.1:5678" || c.PID() == 0 {
		t.Errorf("host %s, etcd %s, pid %d", c.Config().Host, c.EtcdURL(), c.PID())
	}
	// The script does not handle SIGTERM: it dies of it, which is an error and yet an end.
	if err := c.Stop(); err == nil || c.PID() != 0 {
		t.Errorf("stop: %v, pid %d", err, c.PID())
	}
	first := said.String()
	if strings.Contains(first, "keep-credentials") || strings.Contains(first, "port") {
		t.Errorf("first start: %s", first)
	}
	if want := "-- --emulated-version=1.34 --feature-gates=WatchList=false --watch-cache=false\n"; !strings.HasSuffix(first, want) {
		t.Errorf("first start: %s, want the end %s", first, want)
	}
	if err := c.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "--keep-credentials --secure-port=1234 --etcd-port=5678") {
		t.Errorf("close: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
	wantEmpty(t, tmp)
}
