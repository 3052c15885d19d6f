package printer_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
)

// Ensures that JSON is one line per record that a program finds everything in.
func TestJSON_Print(t *testing.T) {
	out := printed(t, "json", printer.Options{}, records(t)...)
	expect(t, out, `
{"type":"added","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-1","uid":"u1","newVersion":"12",`+
		`"new":{"spec":{"nodeName":"n7"},"status":{"phase":"Pending"}}}
`+`{"type":"updated","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-1","uid":"u1","oldVersion":"11","newVersion":"12","changes":[`+
		`{"path":"status.conditions[Ready].reason","kind":"removed","old":"Starting"},`+
		`{"path":"status.conditions[Ready].status","kind":"changed","old":"False","new":"True"},`+
		`{"path":"status.phase","kind":"changed","old":"Pending","new":"Running"},{"path":"status.podIP","kind":"added","new":"10.0.0.1"}],`+
		`"old":{"metadata":{"resourceVersion":"11"},"status":{"conditions":[{"reason":"Starting","status":"False","type":"Ready"}],"phase":"Pending"}},`+
		`"new":{"metadata":{"resourceVersion":"12"},"status":{"conditions":[{"status":"True","type":"Ready"}],"phase":"Running","podIP":"10.0.0.1"}}}
{"type":"deleted","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-2","uid":"u1","oldVersion":"11","newVersion":"12","old":{"a":2}}
{"type":"deleted","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-3","uid":"u1","oldVersion":"11","newVersion":"12","missed":true}
{"type":"updated","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-4","uid":"u1","newVersion":"12","error":"bad\nbytes"}
{"type":"present","time":"2026-03-04T12:30:05Z","resource":"pods","kind":"Pod","key":"prod/web-5","uid":"u1","newVersion":"12","new":{"status":{"phase":"Running"}}}
`)
}

// Ensures that YAML is a document per record, which says in a comment what happened.
func TestYAML_Print(t *testing.T) {
	r := records(t)
	expect(t, printed(t, "yaml", printer.Options{}, r[0], pod(t, printer.Updated, "web-1", `{"a":1}`, `{"a":2}`), r[4]), `
---
# 12:30:05 added pod/web-1, version 12
spec:
  nodeName: n7
status:
  phase: Pending
---
# 12:30:05 updated pod/web-1, version 11 → 12
a: 2
---
# 12:30:05 updated pod/web-4, version 12
# cannot be read: bad\nbytes
`)
}

// Ensures that whole objects come without managedFields but with their version, and with both on request, and that the
// record itself stays as it was.
func TestStructured_Print_ManagedFields(t *testing.T) {
	const with = `{"metadata":{"managedFields":[{"manager":"x"}],"resourceVersion":"12"}}`
	const without = `{"metadata":{"resourceVersion":"12"}}`
	for _, typ := range []printer.Type{printer.Added, printer.Updated, printer.Deleted, printer.Present} {
		before := ""
		if typ == printer.Updated || typ == printer.Deleted {
			before = with
		}
		r := pod(t, typ, "web-1", before, with)
		for format, version := range map[string]string{"json": `"resourceVersion":"12"`, "yaml": `resourceVersion: "12"`} {
			out := printed(t, format, printer.Options{}, r)
			if strings.Contains(out, "managedFields") || !strings.Contains(out, version) {
				t.Errorf("%s, %s: %s", typ, format, out)
			}
			if out = printed(t, format, printer.Options{AllFields: true}, r); !strings.Contains(out, "managedFields") {
				t.Errorf("%s, %s, all fields: %s", typ, format, out)
			}
		}
		if raw, err := json.Marshal(r.New); err != nil || string(raw) != with {
			t.Errorf("%s: the record became %s, %v", typ, raw, err)
		}
	}
	expect(t, printed(t, "yaml", printer.Options{}, pod(t, printer.Present, "web-1", "", with)),
		"---\n# 12:30:05 present pod/web-1, version 12\nmetadata:\n  resourceVersion: \"12\"\n")
	if out := printed(t, "json", printer.Options{}, pod(t, printer.Deleted, "web-1", with, with)); !strings.HasSuffix(out, `"old":`+without+"}\n") {
		t.Errorf("deleted: %s", out)
	}
}
