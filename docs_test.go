package tarn_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Ensures that the tests which docs/semantics.md names exist, so that a promise cannot lose its test unnoticed.
func TestDocs_Semantics(t *testing.T) {
	defined := map[string]bool{}
	definition := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range definition.FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(text, -1)
	for _, m := range named {
		if !defined[string(m[1])] {
			t.Errorf("docs/semantics.md names %s, which does not exist", m[1])
		}
	}
	if len(named) < 150 {
		t.Errorf("only %d tests are named", len(named))
	}
}

// Ensures that the README's first program is the package's example, which compiles.
func TestDocs_FirstProgram(t *testing.T) {
	read := func(file, before, after string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, ok := strings.Cut(string(text), before)
		body, _, ended := strings.Cut(rest, after)
		if !ok || !ended {
			t.Fatalf("%s has no program", file)
		}
		return body
	}
	shown := read("README.md", "func main() {\n", "\n}\n")
	if shown != read("example_test.go", "func Example() {\n", "\n}\n") {
		t.Error("the README shows another program than the example")
	}
	if n := strings.Count(shown, "\n") + 3; n >= 20 {
		t.Errorf("it has %d lines, want under 20", n)
	}
}
