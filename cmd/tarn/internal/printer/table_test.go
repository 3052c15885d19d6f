package printer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
)

// Ensures that every kind of record has its line, and that without a terminal lines are as long as they need to be.
func TestTable_Print_Pipe(t *testing.T) {
	expect(t, printed(t, "table", printer.Options{}, records(t)...), `
12:30:05 + web-1 60m   phase=Pending nodeName=n7
12:30:05 ~ web-1 60m   status.phase: Pending → Running  status.conditions[Ready].status: False → True  +status.podIP: 10.0.0.1  -status.conditions[Ready].reason: Starting
12:30:05 - web-2 60m
12:30:05 - web-3 60m   (deleted while nobody watched)
12:30:05 ~ web-4 60m   cannot be read: bad\nbytes
12:30:05 = web-5 60m   phase=Running
`)
}

// Ensures that a terminal gets a header, no line is wider than it, and what does not fit is counted.
func TestTable_Print_Wide(t *testing.T) {
	o := printer.Options{Width: columns(100), Kinds: true, Namespaces: true}
	expect(t, printed(t, "table", o, records(t)...), `
TIME       RESOURCE NAMESPACE NAME  AGE   CHANGE
12:30:05 + pods     prod      web-1 60m   phase=Pending nodeName=n7
12:30:05 ~ pods     prod      web-1 60m   status.phase: Pending → Running  … and 3 more
12:30:05 - pods     prod      web-2 60m
12:30:05 - pods     prod      web-3 60m   (deleted while nobody watched)
12:30:05 ~ pods     prod      web-4 60m   cannot be read: bad\nbytes
12:30:05 = pods     prod      web-5 60m   phase=Running
`)
}

// Ensures that on a narrow terminal the change gets a line of its own, with the age under the time.
func TestTable_Print_Narrow(t *testing.T) {
	o := printer.Options{Width: columns(80), Kinds: true, Namespaces: true}
	expect(t, printed(t, "table", o, records(t)...), `
TIME       RESOURCE NAMESPACE NAME
       AGE CHANGE
12:30:05 + pods     prod      web-1
       60m phase=Pending nodeName=n7
12:30:05 ~ pods     prod      web-1
       60m status.phase: Pending → Running  … and 3 more
12:30:05 - pods     prod      web-2 60m
12:30:05 - pods     prod      web-3
       60m (deleted while nobody watched)
12:30:05 ~ pods     prod      web-4
       60m cannot be read: bad\nbytes
12:30:05 = pods     prod      web-5
       60m phase=Running
`)
}

// Ensures that the state is a plain list, without times and signs.
func TestTable_Print_State(t *testing.T) {
	expect(t, printed(t, "table", printer.Options{Width: columns(80), State: true}, records(t)[5]), `
NAME  AGE
web-5 60m   phase=Running
`)
}

// Ensures that columns are as wide from the start as what is expected needs, and that one odd name moves no other line.
func TestTable_Print_Columns(t *testing.T) {
	long := pod(t, printer.Deleted, strings.Repeat("x", 70), `{}`, `{}`)
	o := printer.Options{Expect: []printer.Record{{Name: "a-name-of-20-letters"}, {Name: long.Name}}}
	expect(t, printed(t, "table", o, records(t)[2], long, records(t)[2]), `
12:30:05 - web-2                60m
12:30:05 - `+long.Name+` 60m
12:30:05 - web-2                60m
`)
}

// Ensures what is said of a change that leaves nothing to show, and that all fields are shown on request.
func TestTable_Print_Hidden(t *testing.T) {
	only := pod(t, printer.Updated, "web-1", `{"metadata":{"resourceVersion":"11","managedFields":[]}}`,
		`{"metadata":{"resourceVersion":"12","managedFields":[{"manager":"x"}]}}`)
	nothing := pod(t, printer.Updated, "web-1", `{"metadata":{"resourceVersion":"11"}}`, `{"metadata":{"resourceVersion":"12"}}`)
	expect(t, printed(t, "table", printer.Options{}, only, nothing), `
12:30:05 ~ web-1 60m   (managedFields only)
12:30:05 ~ web-1 60m   (no field changed)
`)
	expect(t, printed(t, "table", printer.Options{AllFields: true}, only), `
12:30:05 ~ web-1 60m   metadata.managedFields: [] → [{manager: x}]  metadata.resourceVersion: 11 → 12
`)
}

// Ensures that no more changes are shown than asked for.
func TestTable_Print_MaxChanges(t *testing.T) {
	r := pod(t, printer.Updated, "web-1", `{"a":1,"b":1,"c":1,"d":1}`, `{"a":2,"b":2,"c":2,"d":2}`)
	expect(t, printed(t, "table", printer.Options{MaxChanges: 1}, r), "12:30:05 ~ web-1 60m   a: 1 → 2  … and 3 more\n")
	expect(t, printed(t, "table", printer.Options{MaxChanges: 3}, r), "12:30:05 ~ web-1 60m   a: 1 → 2  b: 1 → 2  c: 1 → 2  … and 1 more\n")
}

// Ensures that of a crash the condition and the restart come first, the second without what it has in common with the first
// where room is short, and what follows from them last.
func TestTable_Print_Order(t *testing.T) {
	before := `{"metadata":{"generation":1},"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"a"},` +
		`{"type":"ContainersReady","status":"True"}],"containerStatuses":[{"name":"app","ready":true,"restartCount":0,"lastState":{}}]}}`
	after := `{"metadata":{"generation":2},"status":{"conditions":[{"type":"Ready","status":"False","lastTransitionTime":"b"},` +
		`{"type":"ContainersReady","status":"False"}],"containerStatuses":[{"name":"app","ready":false,"restartCount":1,"lastState":{"terminated":{"exitCode":1}}}]}}`
	r := pod(t, printer.Updated, "web-1", before, after)
	expect(t, printed(t, "table", printer.Options{MaxChanges: 9}, r), "12:30:05 ~ web-1 60m   status.conditions[Ready].status: True → False"+
		"  status.containerStatuses[app].restartCount: 0 → 1  status.conditions[ContainersReady].status: True → False"+
		"  status.containerStatuses[app].ready: true → false  +status.containerStatuses[app].lastState.terminated: {exitCode: 1}"+
		"  metadata.generation: 1 → 2  status.conditions[Ready].lastTransitionTime: a → b\n")
	expect(t, printed(t, "table", printer.Options{Width: columns(132)}, r), `
TIME       NAME  AGE   CHANGE
12:30:05 ~ web-1 60m   status.conditions[Ready].status: True → False  …containerStatuses[app].restartCount: 0 → 1  … and 5 more
`)
}

// Ensures how values are shown: unmistakably, shortened where they are long, and without what could disturb a terminal.
func TestTable_Print_Values(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"empty", `"x"`, `""`, `a: x → ""`},
		{"text that looks like another type", `true`, `"true"`, `a: true → "true"`},
		{"null", `1`, `null`, `a: 1 → null`},
		{"number that becomes text", `1`, `"1"`, `a: 1 → "1"`},
		{"escape sequence", `"x"`, `"\u001b[31mred\u0007"`, `a: x → "\x1b[31mred\a"`},
		{"list", `["a"]`, `["a",1,null]`, `a: [a] → [a, 1, null]`},
		{"nested", `[]`, `[{"at":{"x":1},"reason":"R","startedAt":"t","n":1}]`, `+a[0]`},
		{
			"common beginning", `"registry.example.com/team/web:1.26.10-beta.20"`, `"registry.example.com/team/web:1.26.10-beta.21-hotfix"`,
			`a: …/web:1.26.10-beta.20 → …/web:1.26.10-beta.21-hotfix`,
		},
		{"long", `"x"`, `"` + strings.Repeat("0123456789", 8) + `"`, `a: x → 0123456789012345678901234567890…4567890123456789`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "nested" {
				c.want = `a: [] → [{reason: R, n: 1, startedAt: t, at: {x: 1}}]`
			}
			r := pod(t, printer.Updated, "p", `{"a":`+c.before+`}`, `{"a":`+c.after+`}`)
			expect(t, strings.TrimPrefix(printed(t, "table", printer.Options{}, r), "12:30:05 ~ p    60m   "), c.want+"\n")
		})
	}
}

// Ensures that for any width a line fits, as long as the terminal is not smaller than what cannot be cut.
func TestTable_Print_Fits(t *testing.T) {
	r := pod(t, printer.Updated, "web-1", `{"spec":{"a":{"very":{"long":{"path":{"to":"`+strings.Repeat("x", 60)+`"}}}}},"b":1,"c":1}`,
		`{"spec":{"a":{"very":{"long":{"path":{"to":"`+strings.Repeat("y", 70)+`"}}}}},"b":2,"c":2}`)
	for w := 60; w < 240; w++ {
		out := printed(t, "table", printer.Options{Width: columns(w), Namespaces: true, Kinds: true}, r)
		for line := range strings.Lines(out) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > w {
				t.Fatalf("width %d: %d columns: %s", w, n, line)
			}
		}
		if !strings.Contains(out, "to: ") {
			t.Fatalf("width %d: what changed is not said:\n%s", w, out)
		}
	}
}

// Ensures that however short two values are made, what differs is in what is left of them.
func TestTable_Print_DifferenceStays(t *testing.T) {
	long := strings.Repeat("0123456789", 9)
	for name, c := range map[string][2]string{
		"a line in the middle":  {`line1\nline2\nline3\n`, `line1\nlineX\nline3\n`},
		"middle":                {long + "a" + long, long + "b" + long},
		"missing in the middle": {long + long, long + "b" + long},
		"beginning":             {"a" + long, "b" + long},
		"end":                   {long + "a", long + "b"},
		"longer":                {long, long + "b"},
	} {
		for _, kind := range []string{`"%s"`, `["%s"]`} { // lists keep their front
			before, after := fmt.Sprintf(kind, c[0]), fmt.Sprintf(kind, c[1])
			r := pod(t, printer.Updated, "p", `{"a":`+before+`}`, `{"a":`+after+`}`)
			for w := 40; w < 300; w++ {
				out := printed(t, "table", printer.Options{Width: columns(w)}, r)
				old, now, ok := strings.Cut(strings.TrimSpace(out[strings.Index(out, "a: ")+3:]), " → ")
				if !ok || old == now {
					t.Fatalf("%s, %s, width %d: %s", name, kind, w, out)
				}
			}
		}
	}
	r := pod(t, printer.Updated, "p", `{"a":"line1\nline2\nline3\n"}`, `{"a":"line1\nlineX\nline3\n"}`)
	if out := printed(t, "table", printer.Options{Width: columns(44)}, r); !strings.Contains(out, `a: …ine2\nline… → …ineX\nline…`) {
		t.Errorf("got\n%s", out)
	}
}

// Ensures that the keys of a new object's data are counted.
func TestTable_Print_Data(t *testing.T) {
	for data, want := range map[string]string{`{}`: "data: 0 keys\n", `{"a":"1"}`: "data: 1 key\n", `{"a":"1","b":"2"}`: "data: 2 keys\n"} {
		if out := printed(t, "table", printer.Options{}, pod(t, printer.Added, "p", ``, `{"data":`+data+`}`)); !strings.HasSuffix(out, want) {
			t.Errorf("%s: %s", data, out)
		}
	}
}

// Ensures that colours are there only if they are wanted, and are ended.
func TestTable_Print_Color(t *testing.T) {
	if out := printed(t, "table", printer.Options{}, records(t)...); strings.Contains(out, "\x1b") {
		t.Errorf("colours without being asked: %q", out)
	}
	out := printed(t, "table", printer.Options{Color: true}, records(t)...)
	for _, want := range []string{"\x1b[32m+ web-1", "\x1b[33m~", "\x1b[31m- web-2", "\x1b[31mPending", "\x1b[32mRunning"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if i := strings.LastIndex(line, "\x1b["); !strings.HasPrefix(line[i:], "\x1b[0") && !strings.HasPrefix(line[i:], "\x1b[2") {
			t.Errorf("colour does not end: %q", line)
		}
	}
}
