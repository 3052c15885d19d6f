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

// facts returns the changes as they are shown, what matters first: times and counters that go along with other changes come
// last.
func facts(changes []fielddiff.Change) []fact {
	sorted := slices.Clone(changes)
	slices.SortStableFunc(sorted, func(a, b fielddiff.Change) int { return cmp.Compare(rank(a), rank(b)) })
	out := make([]fact, len(sorted))
	for i, c := range sorted {
		out[i] = fact{kind: c.Kind, path: c.Path.String(), old: text(c.Old), new: text(c.New)}
	}
	return out
}

// rank says how late a change comes in the order.
func rank(c fielddiff.Change) int {
	name := c.Path.Last()
	switch {
	case c.Path.Under("metadata", "managedFields"), c.Path.Under("metadata", "resourceVersion"):
		return 5
	case name == "observedGeneration", name == "generation", strings.HasSuffix(name, "TransitionTime"),
		strings.HasSuffix(name, "UpdateTime"), strings.HasSuffix(name, "HeartbeatTime"), strings.HasSuffix(name, "ProbeTime"):
		return 4
	case strings.HasSuffix(name, "Time"), strings.HasSuffix(name, "ID"), strings.HasSuffix(name, "At"):
		return 3
	case name == "message", c.Path.Under("metadata", "annotations"):
		return 2
	case name == "phase", name == "replicas", name == "deletionTimestamp", c.Path.Under("spec"):
		return 0
	}
	return 1
}

// fit returns the fact in at most limit columns if that is possible without making it meaningless: first the values are
// cut, then the path from its front.
func (f fact) fit(limit int) fact {
	for _, n := range []int{valueLimit, 32, 24, 16, 12} {
		f.old, f.new = shorten(f.old, n), shorten(f.new, n)
		if f.width() <= limit {
			return f
		}
	}
	f.path = last(f.path, max(limit-(f.width()-width(f.path)), 16))
	return f
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
	{"status", "phase"}, {"spec", "nodeName"}, {"status", "podIP"}, {"spec", "replicas"}, {"status", "readyReplicas"},
	{"type"}, {"reason"}, {"spec", "type"}, {"spec", "clusterIP"}, {"spec", "schedule"}, {"roleRef", "name"}, {"message"},
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
	if data, ok := object["data"].(map[string]any); ok {
		out = append(out, fmt.Sprintf("data: %d keys", len(data)))
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
