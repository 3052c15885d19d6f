//go:build devcluster

package devcluster_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

func binary(t *testing.T) string {
	t.Helper()
	path, err := devcluster.Find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// launch starts the binary by hand and waits for its ready line. Closing the result ends it and waits for it.
func launch(t *testing.T, args ...string) (said map[string]string, end func() error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"--exit-with-stdin"}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said = map[string]string{}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		said[name] = value
	}
	if lines.Text() != "ready" {
		t.Fatalf("not ready: %v\n%s", cmd.Wait(), stderr.String())
	}
	return said, func() error {
		stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		return cmd.Wait()
	}
}

// Ensure that devcluster ends when the program that started it is gone, and that its temporary folder goes with it.
func TestCommand_ExitWithStdin(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	said, end := launch(t)
	if _, err := os.Stat(said["kubeconfig"]); err != nil {
		t.Error(err)
	}
	limit(t, "end", 5*time.Second, end)
	wantEmpty(t, os.Getenv("TMPDIR"))
}

// Ensure that credentials are made anew at each start, that only one process uses a data folder at a time, and that the kubeconfig
// is written where it is asked for.
func TestCommand_DataDir(t *testing.T) {
	dir, kubeconfig := t.TempDir(), filepath.Join(t.TempDir(), "kc")
	start := func() (content string, end func() error) {
		said, end := launch(t, "--data-dir", dir, "--kubeconfig", kubeconfig)
		if said["kubeconfig"] != kubeconfig {
			t.Errorf("says that the kubeconfig is %q", said["kubeconfig"])
		}
		written, err := os.ReadFile(kubeconfig)
		if err != nil {
			t.Error(err)
		}
		return string(written), end
	}
	first, end := start()
	out, err := exec.CommandContext(t.Context(), binary(t), "--data-dir", dir).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "in use by another devcluster") {
		t.Errorf("second process: %v\n%s", err, out)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	second, end := start()
	if err := end(); err != nil {
		t.Fatal(err)
	}
	token := func(kubeconfig string) string { return kubeconfig[strings.Index(kubeconfig, "token:"):] }
	if token(first) == token(second) {
		t.Error("the second start has the token of the first")
	}
}

// Ensure that what cannot work is one clear message and exit code 1, and leaves nothing behind.
func TestCommand_Errors(t *testing.T) {
	taken, end := launch(t)
	defer end()
	port := taken["server"][strings.LastIndexByte(taken["server"], ':')+1:]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--nonsense"}, "unknown flag: --nonsense; see devcluster --help"},
		{[]string{"nonsense"}, `unknown argument "nonsense"`},
		{[]string{"--keep-credentials"}, "needs --data-dir"},
		{[]string{"assets"}, "usage: devcluster assets DIR"},
		{[]string{"--", "--bind-address=0.0.0.0"}, "listens on 127.0.0.1 only"},
		{[]string{"--", "--nonsense"}, "kube-apiserver: unknown flag: --nonsense"},
		{[]string{"--", "--feature-gates=Nonsense=true"}, "unrecognized feature gate: Nonsense"},
		{[]string{"--secure-port", port}, "address already in use"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			cmd := exec.CommandContext(t.Context(), binary(t), c.args...)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			err := cmd.Run()
			if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
				t.Errorf("%v\nstdout: %s\nstderr: %s\nwant: %s", err, &stdout, &stderr, c.want)
			}
			wantEmpty(t, os.Getenv("TMPDIR"))
		})
	}
}

// Ensure that --help teaches.
func TestCommand_Help(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), binary(t), "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Usage:", "Examples:", "--data-dir folder", "KUBEBUILDER_ASSETS", "--emulated-version=1.34"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("help does not mention %s:\n%s", want, out)
		}
	}
}

// Ensure that the folder made by `devcluster assets` has both programs, that they are upstream's, and that making it again works.
func TestCommand_Assets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "bin")
	for range 2 {
		out, err := exec.CommandContext(t.Context(), binary(t), "assets", dir).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != dir {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("files: %v, %v", files, err)
	}
	for program, want := range map[string]string{"etcd": "etcd Version: 3.7.", "kube-apiserver": "Kubernetes v1.37."} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, program), "--version").CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
	// A flag that only upstream's programs have.
	for program, flag := range map[string]string{"etcd": "--unsafe-no-fsync", "kube-apiserver": "--etcd-servers"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(dir, program), "--help").CombinedOutput()
		if err != nil || !strings.Contains(string(out), flag) {
			t.Errorf("%s --help: %v, no %s", program, err, flag)
		}
	}
}
