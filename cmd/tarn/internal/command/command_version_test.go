package command_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// Ensures that the version tells the build, the Go version and the platform, as text and as JSON.
func TestVersion_Run(t *testing.T) {
	r := run(t, "version")
	if r.code != 0 || !strings.HasPrefix(r.out, "tarn ") || !strings.Contains(r.out, runtime.Version()) || strings.Count(r.out, "\n") != 1 {
		t.Errorf("code %d: %q", r.code, r.out)
	}
	if flag := run(t, "--version"); flag != r {
		t.Errorf("as a flag: %+v", flag)
	}
	r = run(t, "version", "-o", "json")
	var v map[string]any
	if err := json.Unmarshal([]byte(r.out), &v); err != nil || v["go"] != runtime.Version() || v["version"] == "" || v["platform"] != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%v: %s", err, r.out)
	}
}

// Ensures that an unknown output is one line that says which there are.
func TestVersion_Run_UnknownOutput(t *testing.T) {
	if r := run(t, "version", "-o", "xml"); r.code != 1 || !strings.Contains(r.err, "take text or json") || strings.Count(r.err, "\n") != 1 {
		t.Errorf("code %d: %q", r.code, r.err)
	}
}
