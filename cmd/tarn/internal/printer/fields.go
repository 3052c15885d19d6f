package printer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/fielddiff"
)

// valueLimit is how long a value in a table is at most, where there is room.
const valueLimit = 48

// fact is one changed field, ready for a table: before the value, the values, and how it changed.
type fact struct {
	kind     fielddiff.Kind
	path     string
	old, new string
}

// facts returns the changes as they are shown, what matters first. Of changes that matter the same, those come first that
// say something about another list: one condition and the container behind it rather than two conditions.
func facts(changes []fielddiff.Change) []fact {
	type ranked struct {
		fielddiff.Change
		rank, again int
	}
	sorted, seen := make([]ranked, len(changes)), map[string]int{}
	for i, c := range changes {
		sorted[i] = ranked{c, rank(c), 0}
		if n := slices.IndexFunc(c.Path, func(s fielddiff.Step) bool { return s.Kind != fielddiff.Field }); n >= 0 {
			list := fmt.Sprint(sorted[i].rank, c.Path[:n])
			sorted[i].again = seen[list]
			seen[list]++
		}
	}
	slices.SortStableFunc(sorted, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.again, b.again))
	})
	out := make([]fact, len(sorted))
	for i, c := range sorted {
		out[i] = fact{kind: c.Kind, path: c.Path.String(), old: brief(c.Old), new: brief(c.New)}
		if out[i].old == out[i].new { // as 1 and "1" are
			out[i].old, out[i].new = exact(c.Old), exact(c.New)
		}
	}
	return out
}

// late are the names of fields that go along with others, and how late they come; see rank.
var late = map[string]int{
	"ready": 2, "reason": 2, "message": 3, "started": 3, "lastState": 3, "state": 2, "generation": 5, "observedGeneration": 5,
}

// rank says how late a change comes: what is wanted and what it has come to, then details, then times and counters that
// follow from them.
func rank(c fielddiff.Change) int {
	name := c.Path.Last()
	late, known := late[name]
	switch {
	case c.Path.Under("metadata", "managedFields"), c.Path.Under("metadata", "resourceVersion"):
		return 6
	case c.Path.Under("spec"), c.Path.Under("data"), name == "phase", name == "deletionTimestamp":
		return 0
	case known:
		return late
	case strings.HasSuffix(name, "Time"), strings.HasSuffix(name, "At"):
		return 5
	case strings.HasSuffix(name, "ID"), c.Path.Under("metadata", "annotations"), isMap(c.Old), isMap(c.New):
		return 4
	}
	return 1
}

func isMap(v any) bool { _, ok := v.(map[string]any); return ok }

// marks are what parts of a value end with; the later ones count only where there is little room.
const marks = "/ ,=@:-."

// fit returns the fact in at most limit columns if that is possible without making it meaningless: first what the values
// have in common is cut, then the values, then, if that is allowed, the path from its front.
func (f fact) fit(limit int, cutPath bool) fact {
	old, now := f.old, f.new
	for n, most := range []int{valueLimit, 32, 24, 16, 12} {
		if f.kind == fielddiff.Changed && (n > 0 || width(old) > most || width(now) > most) {
			old, now = withoutCommon(f.old, f.new, marks[:len(marks)-max(3-n, 0)])
		}
		short := f
		if short.old, short.new = shortenBoth(old, now, most); short.width() <= limit || most == 12 && !cutPath {
			return short
		}
	}
	for _, step := range []struct{ value, path int }{{12, 24}, {8, 12}} {
		f.old, f.new = shortenBoth(old, now, step.value)
		f.path = lastOf(f.path, max(limit-(f.width()-width(f.path)), step.path))
		if f.width() <= limit {
			break
		}
	}
	return f
}

// after returns the fact without the beginning of its path, if that of the one before it is the same.
func (f fact) after(before fact) fact {
	first := func(path string) string { s, _, _ := strings.Cut(path, "."); return s }
	if s := first(f.path); s != f.path && s == first(before.path) {
		f.path = "…" + f.path[len(s)+1:]
	}
	return f
}

// withoutCommon leaves out how both texts begin, up to the last of the marks in it.
func withoutCommon(a, b, marks string) (string, string) {
	ra, rb := []rune(a), []rune(b)
	n, cut := 0, 0
	for n < min(len(ra), len(rb)) && ra[n] == rb[n] {
		if strings.ContainsRune(marks, ra[n]) {
			cut = n
		}
		n++
	}
	if cut < 4 {
		return a, b
	}
	return "…" + string(ra[cut:]), "…" + string(rb[cut:])
}

// shortenBoth returns at most limit characters of each text, see shorten. Texts that differ still do: where the ends are
// the same, what is around the first difference is returned.
func shortenBoth(a, b string, limit int) (string, string) {
	shortA, shortB := shorten(a, limit), shorten(b, limit)
	if a == b || shortA != shortB {
		return shortA, shortB
	}
	ra, rb := []rune(a), []rune(b)
	n := 0
	for n < min(len(ra), len(rb)) && ra[n] == rb[n] {
		n++
	}
	room := limit - 2 // an ellipsis at each end
	start := max(min(n-room/3, max(len(ra), len(rb))-room), 0)
	part := func(r []rune) string {
		end := min(start+room, len(r))
		s := string(r[start:end])
		if start > 0 {
			s = "…" + s
		}
		if end < len(r) {
			s += "…"
		}
		return s
	}
	return part(ra), part(rb)
}

// String returns the fact without colours.
func (f fact) String() string {
	switch f.kind {
	case fielddiff.Added:
		return "+" + f.path + ": " + f.new
	case fielddiff.Removed:
		return "-" + f.path + ": " + f.old
	case fielddiff.Reordered:
		return f.path + " reordered: " + f.old + " → " + f.new
	}
	return f.path + ": " + f.old + " → " + f.new
}

func (f fact) width() int { return width(f.String()) }

// paint returns the fact with colours.
func (f fact) paint(p palette) string {
	switch f.kind {
	case fielddiff.Added:
		return p.added.Sprint("+"+f.path) + ": " + f.new
	case fielddiff.Removed:
		return p.deleted.Sprint("-"+f.path) + ": " + f.old
	case fielddiff.Reordered:
		return f.path + " reordered: " + p.deleted.Sprint(f.old) + " → " + p.added.Sprint(f.new)
	}
	return f.path + ": " + p.deleted.Sprint(f.old) + " → " + p.added.Sprint(f.new)
}

// telling are fields that say the most about an object that has none to compare with.
var telling = [][]string{
	{"status", "phase"},
	{"spec", "nodeName"},
	{"status", "podIP"},
	{"spec", "replicas"},
	{"status", "readyReplicas"},
	{"type"},
	{"reason"},
	{"spec", "type"},
	{"spec", "clusterIP"},
	{"spec", "schedule"},
	{"roleRef", "name"},
	{"message"},
	{"metadata", "deletionTimestamp"},
}

// about returns what an object is about: name=value for the fields that tell the most, and those of a small one's data.
func about(object map[string]any) []string {
	var out []string
	for _, path := range telling {
		v, ok := dig(object, path)
		if !ok {
			continue
		}
		if _, nested := v.(map[string]any); nested {
			continue
		}
		out = append(out, path[len(path)-1]+"="+shorten(text(v), 32))
	}
	conditions, _ := dig(object, []string{"status", "conditions"})
	list, _ := conditions.([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok && (c["type"] == "Ready" || c["type"] == "Available") {
			out = append(out, fmt.Sprintf("%s=%s", c["type"], shorten(text(c["status"]), 32)))
		}
	}
	if data, ok := object["data"].(map[string]any); ok {
		keys := "keys"
		if len(data) == 1 {
			keys = "key"
		}
		out = append(out, fmt.Sprintf("data: %d %s", len(data), keys))
	}
	return out
}

func dig(object map[string]any, path []string) (any, bool) {
	var v any = object
	for _, name := range path {
		m, _ := v.(map[string]any)
		var ok bool
		if v, ok = m[name]; !ok {
			return nil, false
		}
	}
	return v, true
}
