package tarn_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Ensures that the tests which docs/semantics.md names exist, so that a promise cannot lose its test unnoticed.
func TestDocs_Semantics(t *testing.T) {
	if n := namedTests(t, "docs/semantics.md"); n < 150 {
		t.Errorf("only %d tests are named", n)
	}
}

// Ensures the same of docs/cases.md, and that each case has a test.
func TestDocs_Cases(t *testing.T) {
	if n := namedTests(t, "docs/cases.md"); n < 60 {
		t.Errorf("only %d tests are named", n)
	}
	text, err := os.ReadFile("docs/cases.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 39; n++ {
		row := regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\|.*`Test", n))
		if !row.Match(text) {
			t.Errorf("case %d has no row with a test", n)
		}
	}
}

// namedTests reports the tests that file names and that do not exist, and returns how many it names.
func namedTests(t *testing.T, file string) int {
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
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllSubmatch(text, -1)
	for _, m := range named {
		if !defined[string(m[1])] {
			t.Errorf("%s names %s, which does not exist", file, m[1])
		}
	}
	return len(named)
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
