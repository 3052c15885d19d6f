package printer_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var now = time.Date(2026, 3, 4, 12, 30, 5, 0, time.UTC)

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// pod returns a record of a pod that was made an hour ago; before is "" where there is no change.
func pod(t testing.TB, typ printer.Type, name, before, after string) printer.Record {
	t.Helper()
	r := printer.Record{
		Type: typ, Time: now, Resource: "pods", Short: "pods", Kind: "Pod", Namespace: "prod", Name: name, UID: "u1",
		Created: now.Add(-time.Hour), NewVersion: "12", New: object(t, after),
	}
	if before != "" {
		r.Old, r.OldVersion = object(t, before), "11"
	}
	return r
}

// printed returns what a format prints for the records.
func printed(t testing.TB, format string, o printer.Options, records ...printer.Record) string {
	t.Helper()
	var out bytes.Buffer
	p, err := printer.New(format, &out, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := p.Print(r); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func expect(t testing.TB, got, want string) {
	t.Helper()
	want = strings.TrimPrefix(want, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func columns(n int) func() int { return func() int { return n } }

// records are one of each kind.
func records(t testing.TB) []printer.Record {
	missed := pod(t, printer.Deleted, "web-3", `{}`, `{}`)
	missed.Missed = true
	broken := pod(t, printer.Updated, "web-4", ``, `{}`)
	broken.Err = errors.New("bad\nbytes")
	return []printer.Record{
		pod(t, printer.Added, "web-1", ``, `{"status":{"phase":"Pending"},"spec":{"nodeName":"n7"}}`),
		pod(t, printer.Updated, "web-1",
			`{"metadata":{"resourceVersion":"11"},"status":{"phase":"Pending","conditions":[{"type":"Ready","status":"False","reason":"Starting"}]}}`,
			`{"metadata":{"resourceVersion":"12"},"status":{"phase":"Running","podIP":"10.0.0.1","conditions":[{"type":"Ready","status":"True"}]}}`),
		pod(t, printer.Deleted, "web-2", `{"a":1}`, `{"a":2}`),
		missed, broken,
		pod(t, printer.Present, "web-5", ``, `{"status":{"phase":"Running"}}`),
	}
}

// Ensures that names are what kubectl takes.
func TestNames_Print(t *testing.T) {
	r := records(t)[0]
	crd := r
	crd.Resource, crd.Kind = "certificates.cert-manager.io", "Certificate"
	expect(t, printed(t, "name", printer.Options{}, r, crd), "pod/web-1\ncertificate.cert-manager.io/web-1\n")
}

// Ensures that an unknown format is an error that says which there are, and that a writer's error is returned by all.
func TestNew_Errors(t *testing.T) {
	if _, err := printer.New("wide", io.Discard, printer.Options{}); err == nil || !strings.Contains(err.Error(), "table, diff, json, yaml, name") {
		t.Errorf("got %v", err)
	}
	for _, format := range printer.Formats {
		p, err := printer.New(format, failing{}, printer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Print(records(t)[1]); !errors.Is(err, errFull) {
			t.Errorf("%s: got %v", format, err)
		}
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("disk: %w", errFull) }
