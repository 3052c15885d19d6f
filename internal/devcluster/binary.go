package devcluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// EnvBinary is the environment variable that names the devcluster binary to use, in place of the one that
// `make devcluster` builds.
const EnvBinary = "TARN_DEVCLUSTER"

// ErrNotBuilt is returned where the binary has not been built from the sources as they are.
var ErrNotBuilt = errors.New("devcluster is not built: run `make devcluster` (6 to 12 minutes when nothing is cached, then seconds)")

// Find returns the path of the devcluster binary: what [EnvBinary] says, else the one built from the sources in this
// checkout as they are now. The error wraps [ErrNotBuilt] where that does not exist.
func Find() (string, error) {
	path := os.Getenv(EnvBinary)
	if path == "" {
		root, err := Root()
		if err != nil {
			return "", err
		}
		if path, err = Target(root); err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%w, or set %s", ErrNotBuilt, EnvBinary)
		}
		return path, nil
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", EnvBinary, err)
	}
	return path, nil
}

// Root returns the checkout that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "devcluster", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("the working directory is in no checkout of tarn; set %s", EnvBinary)
		}
		dir = parent
	}
}

// Target returns where the binary built from the sources under root belongs: its name holds the version of Kubernetes and
// a hash of the sources, so that a binary is found exactly as long as it is the right one.
func Target(root string) (string, error) {
	version, err := Version(root)
	if err != nil {
		return "", err
	}
	hash, err := hashSources(filepath.Join(root, "devcluster"))
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".build", "devcluster-"+version+"-"+hash), nil
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+)$`)

// Version returns the version of Kubernetes that the sources under root build: "v1.37.2".
func Version(root string) (string, error) {
	file := filepath.Join(root, "devcluster", "go.mod")
	mod, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	m := kubernetesVersion.FindSubmatch(mod)
	if m == nil {
		return "", fmt.Errorf("%s requires no version of k8s.io/kubernetes", file)
	}
	return string(m[1]), nil
}

// hashSources returns a hash of what the binary is built from.
func hashSources(dir string) (string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := filepath.Base(path)
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") || name == "go.mod" || name == "go.sum"
		if err == nil && !d.IsDir() && source {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(files)
	h := sha256.New()
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", filepath.ToSlash(name), len(content), content)
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
