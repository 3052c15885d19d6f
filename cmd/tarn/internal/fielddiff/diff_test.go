package fielddiff_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/fielddiff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

func lines(changes []fielddiff.Change) string {
	var out []string
	for _, c := range changes {
		out = append(out, fmt.Sprintf("%s %s: %v > %v", c.Kind, c.Path, c.Old, c.New))
	}
	return strings.Join(out, "\n")
}

// Ensures that each kind of difference is told as a person would tell it.
func TestDiff(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"equal", `{"a":{"b":[1,"x",null]}}`, `{"a":{"b":[1,"x",null]}}`, ``},
		{"scalar", `{"status":{"phase":"Pending"}}`, `{"status":{"phase":"Running"}}`, `changed status.phase: Pending > Running`},
		{"added and removed", `{"a":1}`, `{"b":2}`, "removed a: 1 > <nil>\nadded b: <nil> > 2"},
		{"null is not absent", `{"a":null}`, `{}`, `removed a: <nil> > <nil>`},
		{"type", `{"a":"1"}`, `{"a":1}`, `changed a: 1 > 1`},
		{"map to list", `{"a":{}}`, `{"a":[]}`, `changed a: map[] > []`},
		{
			"by type", `{"c":[{"type":"Ready","status":"False"},{"type":"Init","status":"True"}]}`,
			`{"c":[{"type":"Ready","status":"True"},{"type":"Init","status":"True"}]}`, `changed c[Ready].status: False > True`,
		},
		{
			"inserted by name", `{"c":[{"name":"a","v":1},{"name":"b","v":1}]}`,
			`{"c":[{"name":"x"},{"name":"a","v":1},{"name":"b","v":2}]}`,
			"added c[x]: <nil> > map[name:x]\nchanged c[b].v: 1 > 2",
		},
		{
			"removed by number", `{"p":[{"port":80,"v":1},{"port":443,"v":1}]}`, `{"p":[{"port":443,"v":1}]}`,
			`removed p[80]: map[port:80 v:1] > <nil>`,
		},
		{"reordered", `{"c":[{"name":"a"},{"name":"b"}]}`, `{"c":[{"name":"b"},{"name":"a"}]}`, `reordered c: [a b] > [b a]`},
		{
			"name is not unique, the path is", `{"m":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b"}]}`,
			`{"m":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b","readOnly":true}]}`, `added m[/b].readOnly: <nil> > true`,
		},
		{"by place", `{"args":["-v=1","x"]}`, `{"args":["-v=2","x"]}`, `changed args[0]: -v=1 > -v=2`},
		{"longer", `{"f":["a"]}`, `{"f":["a","b"]}`, `changed f: [a] > [a b]`},
		{"emptied", `{"c":[{"name":"a"}]}`, `{"c":[]}`, `removed c[a]: map[name:a] > <nil>`},
		{"dotted key", `{"l":{"app.io/x":"1"}}`, `{"l":{"app.io/x":"2"}}`, `changed l[app.io/x]: 1 > 2`},
		{"odd keys", `{"":1,"a\nb":1,"c[d":1}`, `{"":2,"a\nb":2,"c[d":2}`, "changed [\"\"]: 1 > 2\nchanged [\"a\\nb\"]: 1 > 2\nchanged [\"c[d\"]: 1 > 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lines(fielddiff.Diff(object(t, c.before), object(t, c.after))); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

// Ensures that paths of sibling changes do not overwrite each other.
func TestDiff_PathsAreTheirOwn(t *testing.T) {
	before := object(t, `{"a":{"b":{"c":{"x":1,"y":1,"z":1}}}}`)
	after := object(t, `{"a":{"b":{"c":{"x":2,"y":2,"z":2}}}}`)
	want := "changed a.b.c.x: 1 > 2\nchanged a.b.c.y: 1 > 2\nchanged a.b.c.z: 1 > 2"
	if got := lines(fielddiff.Diff(before, after)); got != want {
		t.Errorf("got\n%s", got)
	}
}

// Ensures that a path can be asked what it leads to.
func TestPath_Under_Last(t *testing.T) {
	p := fielddiff.Diff(object(t, `{"metadata":{"l":[{"name":"x","v":1}]}}`), object(t, `{"metadata":{"l":[{"name":"x","v":2}]}}`))[0].Path
	if p.Last() != "v" || !p.Under("metadata") || !p.Under("metadata", "l") || p.Under("metadata", "l", "x") || p.Under("spec") {
		t.Errorf("%s: %q %v", p, p.Last(), p)
	}
	if p.Under("metadata", "l", "x", "v", "w") || fielddiff.Path(nil).Last() != "" {
		t.Error("a path is under what is longer than it, or nothing has a name")
	}
}

// Ensures, for any two objects, that there are changes exactly if they differ, that making the changes to the one gives
// the other, and that the way back is as long.
func FuzzDiff(f *testing.F) {
	f.Add(`{"a":1}`, `{"a":2}`)
	f.Add(`{"c":[{"name":"a","v":[1]},{"name":"b"}]}`, `{"c":[{"name":"b","x":{}},{"name":"c"},{"name":"a","v":[1,2]}]}`)
	f.Add(`{"m":{"x":null},"l":[[],{}]}`, `{"m":{"x":[]},"l":[{},[]]}`)
	f.Add(`{"p":[{"port":80},{"port":"80"}]}`, `{"p":[{"port":81},{"port":80}]}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		var before, after map[string]any
		if json.Unmarshal([]byte(a), &before) != nil || json.Unmarshal([]byte(b), &after) != nil || before == nil || after == nil {
			return
		}
		there, back := fielddiff.Diff(before, after), fielddiff.Diff(after, before)
		if (len(there) == 0) != reflect.DeepEqual(before, after) || len(there) != len(back) {
			t.Fatalf("%s > %s: %d changes, %d back", a, b, len(there), len(back))
		}
		if len(fielddiff.Diff(before, before)) != 0 {
			t.Fatalf("%s differs from itself", a)
		}
		got := any(object(t, a))
		for _, c := range there {
			got = apply(got, c.Path, c)
		}
		for _, c := range fielddiff.Diff(got.(map[string]any), after) {
			if c.Kind != fielddiff.Reordered { // a change does not say where an added item stands
				t.Fatalf("%s > %s: applied\n%s\nstill differs: %s", a, b, lines(there), lines([]fielddiff.Change{c}))
			}
		}
	})
}

// apply returns v with the change made at the path.
func apply(v any, p fielddiff.Path, c fielddiff.Change) any {
	if len(p) == 0 {
		if c.Kind == fielddiff.Reordered {
			return v
		}
		return c.New
	}
	gone := len(p) == 1 && c.Kind == fielddiff.Removed
	switch step := p[0]; step.Kind {
	case fielddiff.Field:
		m := v.(map[string]any)
		if gone {
			delete(m, step.Name)
		} else {
			m[step.Name] = apply(m[step.Name], p[1:], c)
		}
	case fielddiff.Index:
		l := v.([]any)
		l[step.Index] = apply(l[step.Index], p[1:], c)
	case fielddiff.Item:
		l := v.([]any)
		i := slices.IndexFunc(l, func(item any) bool { return fmt.Sprint(item.(map[string]any)[step.By]) == step.Name })
		switch {
		case i < 0:
			return append(l, c.New)
		case gone:
			return slices.Delete(l, i, i+1)
		}
		l[i] = apply(l[i], p[1:], c)
	}
	return v
}
