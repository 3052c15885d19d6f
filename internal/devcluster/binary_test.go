package devcluster_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devcluster.Sharing(m)) }

// checkout makes a folder that looks like a checkout and returns it.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "devcluster", "go.mod"), "module x\n\nrequire (\n\tk8s.io/kubernetes v1.2.3\n)\n")
	write(t, filepath.Join(root, "devcluster", "main.go"), "package main\n")
	return root
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o755); err != nil {
		t.Fatal(err)
	}
}

// Ensure that the binary's name changes with whatever it is built from, and with nothing else.
func TestTarget(t *testing.T) {
	root := checkout(t)
	target := func() string {
		t.Helper()
		path, err := devcluster.Target(root)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	first := target()
	if !strings.HasPrefix(first, filepath.Join(root, ".build", "devcluster-v1.2.3-")) {
		t.Errorf("got %s", first)
	}
	for _, c := range []struct {
		file, content string
		changes       bool
	}{
		{"README.md", "text", false},
		{"build.mk", "all:", false},
		{"internal/x/x_test.go", "package x", false},
		{"internal/x/x.go", "package x", true},
		{"internal/x/x.go", "package y", true},
		{"go.sum", "sum", true},
		{"go.mod", "require (\n\tk8s.io/kubernetes v1.2.3\n)\n", true},
		{"go.mod", "require (\n\tk8s.io/kubernetes v1.2.4\n)\n", true},
	} {
		before := target()
		write(t, filepath.Join(root, "devcluster", c.file), c.content)
		if after := target(); (after != before) != c.changes {
			t.Errorf("%s: changed is %v, want %v", c.file, after != before, c.changes)
		}
	}
}

// Ensure that the binary is found from any folder of the checkout once it is built, and that the error says what to do before.
func TestFind(t *testing.T) {
	root := checkout(t)
	t.Setenv(devcluster.EnvBinary, "")
	t.Chdir(filepath.Join(root, "devcluster"))
	if _, err := devcluster.Find(); !errors.Is(err, devcluster.ErrNotBuilt) || !strings.Contains(err.Error(), "make devcluster") {
		t.Fatalf("not built: got %v", err)
	}
	target, err := devcluster.Target(root)
	if err != nil {
		t.Fatal(err)
	}
	write(t, target, "")
	got, err := devcluster.Find()
	if err != nil || filepath.Base(got) != filepath.Base(target) {
		t.Errorf("built: got %s, %v; want %s", got, err, target)
	}
}

// Ensure that the environment names another binary, and that a name of nothing is an error.
func TestFind_Environment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other")
	t.Setenv(devcluster.EnvBinary, file)
	if _, err := devcluster.Find(); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), devcluster.EnvBinary) {
		t.Errorf("missing: got %v", err)
	}
	write(t, file, "")
	if got, err := devcluster.Find(); err != nil || got != file {
		t.Errorf("got %s, %v", got, err)
	}
}

// Ensure that outside of a checkout the error says how to name a binary.
func TestFind_NoCheckout(t *testing.T) {
	t.Setenv(devcluster.EnvBinary, "")
	t.Chdir(t.TempDir())
	if _, err := devcluster.Find(); err == nil || !strings.Contains(err.Error(), devcluster.EnvBinary) {
		t.Errorf("got %v", err)
	}
}
