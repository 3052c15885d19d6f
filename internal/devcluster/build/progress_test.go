package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ensure that packages are counted, however their names arrive, and that the compiler's messages are kept.
func TestProgress_Write(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p := startProgress(out)
	p.total.Store(9)
	for _, part := range []string{"errors\nio", "/fs\nexample.com/a/", "b\n# example.com/a\n./a.go:1:2: undefined: x\n"} {
		if _, err := p.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	p.end()
	if got := p.messages.String(); got != "# example.com/a\n./a.go:1:2: undefined: x\n" {
		t.Errorf("messages %q", got)
	}
	shown, err := os.ReadFile(out.Name())
	if err != nil || !strings.Contains(string(shown), "compiled 3 of at most 9 packages") {
		t.Errorf("shown %q, %v", shown, err)
	}
}
