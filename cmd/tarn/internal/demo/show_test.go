//go:build devcluster

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Ensures that the demo tells each step, shows changes, ends by itself with a summary, and leaves no folder behind.
func TestDemo_Show(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out, errOut bytes.Buffer
	if err := (demo{pods: 40, rate: 20, limit: 4 * time.Second}).show(t.Context(), &out, &errOut); err != nil {
		t.Fatalf("%v\n%s", err, &errOut)
	}
	for _, want := range []string{
		"starting a control plane", "ready at https://127.0.0.1:", "filling it with 40 pods", " objects (", "watching 40 pods and ",
		" in all namespaces", " changes in ", "gone, with all its files",
	} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("no %q in\n%s", want, &errOut)
		}
	}
	if !strings.Contains(out.String(), " ~ pods ") {
		t.Errorf("no changes:\n%s", &out)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Ensures that an end while the server is being filled is clean and no error.
func TestDemo_Show_EndsWhileFilling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	errOut := &trigger{on: "filling it", do: cancel}
	if err := (demo{pods: 500, rate: 20}).show(ctx, errOut, errOut); err != nil {
		t.Error(err)
	}
	if !strings.Contains(errOut.text.String(), "gone, with all its files") {
		t.Errorf("got\n%s", errOut.text.String())
	}
}

// trigger is a writer that does something when it is written a text.
type trigger struct {
	text bytes.Buffer
	on   string
	do   func()
}

func (w *trigger) Write(b []byte) (int, error) {
	if strings.Contains(string(b), w.on) {
		w.do()
	}
	return w.text.Write(b)
}
