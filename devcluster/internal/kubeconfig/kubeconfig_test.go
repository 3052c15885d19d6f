package kubeconfig_test

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/tarn-dev/tarn/devcluster/internal/kubeconfig"
)

// Ensure that client-go reads back what was written, that only the owner can read the file, and that nothing else is left.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := kubeconfig.Write(path, "https://127.0.0.1:6443", []byte("authority"), "secret"); err != nil {
		t.Fatal(err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "https://127.0.0.1:6443" || string(cfg.CAData) != "authority" || cfg.BearerToken != "secret" {
		t.Errorf("got %v", cfg)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files left", len(files))
	}
}

// Ensure that a folder that does not exist is an error that says what was being done.
func TestWrite_NoFolder(t *testing.T) {
	if err := kubeconfig.Write(filepath.Join(t.TempDir(), "no", "kubeconfig"), "", nil, ""); err == nil {
		t.Error("got no error")
	}
}
