// Command build builds the devcluster binary into .build, unless it is there already, and shows that it is alive
// meanwhile. It prints the path of the binary. With -path it builds nothing, and fails where there is none.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/tarn-dev/tarn/internal/devcluster"
)

func main() {
	pathOnly := flag.Bool("path", false, "print where the binary is; do not build it")
	flag.Parse()
	path, err := devcluster.Find()
	if errors.Is(err, devcluster.ErrNotBuilt) && !*pathOnly {
		path, err = build()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "devcluster: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// build compiles the binary and puts it where it is looked for. Older ones are removed.
func build() (string, error) {
	root, err := devcluster.Root()
	if err != nil {
		return "", err
	}
	target, err := devcluster.Target(root)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", err
	}
	unfinished := fmt.Sprintf("%s.%d", target, os.Getpid())
	defer os.Remove(unfinished)
	version, err := devcluster.Version(root)
	if err != nil {
		return "", err
	}
	if err := compile(filepath.Join(root, "devcluster"), unfinished, version); err != nil {
		return "", err
	}
	if err := os.Rename(unfinished, target); err != nil {
		return "", err
	}
	old, err := filepath.Glob(filepath.Join(filepath.Dir(target), "devcluster-v*"))
	if err != nil {
		return "", err
	}
	for _, path := range old {
		// Names with another dot belong to a build that is still running.
		if path != target && len(filepath.Base(path)) == len(filepath.Base(target)) {
			if err := os.Remove(path); err != nil {
				return "", err
			}
		}
	}
	return target, nil
}

// compile runs go build in dir.
func compile(dir, output, version string) error {
	fmt.Fprintf(os.Stderr, "devcluster: building kube-apiserver %s and etcd: 6 to 12 minutes on two cores when nothing is cached\n", version)
	run := func(stderr io.Writer, args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		// The workspace's versions must not reach this module, nor its replacements the workspace.
		cmd.Env = append(os.Environ(), "GOWORK=off")
		cmd.Stderr = stderr
		return cmd.Output()
	}
	show := startProgress(os.Stderr)
	list, err := run(show, "list", "-deps", ".")
	if err == nil {
		show.total.Store(int64(bytes.Count(list, []byte("\n"))))
		_, err = run(show, "build", "-v", "-ldflags", ldflags(version), "-o", output, ".")
	}
	show.end()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s", show.messages.String())
		return fmt.Errorf("go: %w", err)
	}
	return nil
}

// ldflags leave out what only a debugger needs, half of the size, and set the version that the server tells.
func ldflags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, set := range []string{"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=clean", "gitCommit="} {
		flags = append(flags, "-X k8s.io/component-base/version."+set)
	}
	return strings.Join(flags, " ")
}
