package printer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/duration"
)

// text returns a value on one line: strings as they are where that is unmistakable, else as in JSON. Nothing in it can
// move the cursor or change colours, whatever the server sent.
func text(v any) string {
	s, ok := v.(string)
	if !ok {
		return exact(v)
	}
	if s == "" || s == "null" || s == "true" || s == "false" || s != strings.TrimSpace(s) || Printable(s) != s {
		return strconv.Quote(s)
	}
	return s
}

// exact returns a value as in JSON, with nothing in it that disturbs a terminal.
func exact(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return Printable(string(raw))
}

// brief is text with what tells most of a map first, and without the punctuation that only a program needs.
func brief(v any) string {
	switch v := v.(type) {
	case map[string]any:
		names := slices.Collect(maps.Keys(v))
		slices.SortFunc(names, func(a, b string) int {
			return cmp.Or(cmp.Compare(weight(v[a], a), weight(v[b], b)), cmp.Compare(a, b))
		})
		var parts []string
		for _, name := range names {
			parts = append(parts, Printable(name)+": "+brief(v[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, item := range v {
			parts = append(parts, brief(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return text(v)
}

// weight orders the fields of a map: names and reasons, then what else is short, then what is nested.
func weight(v any, name string) int {
	switch v.(type) {
	case map[string]any, []any:
		return 3
	}
	switch {
	case name == "name", name == "type", name == "reason":
		return 0
	case strings.HasSuffix(name, "ID"), strings.HasSuffix(name, "At"), strings.HasSuffix(name, "Time"):
		return 2
	}
	return 1
}

// Printable returns s with every character that is not printable escaped.
func Printable(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if strings.IndexFunc(s, odd) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if odd(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shorten returns at most limit characters of s, with an ellipsis where some are missing: in the middle, because the ends
// of ids, images and addresses tell the most; what is in brackets has its most telling part in front. limit is at least 8.
func shorten(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	r := []rune(s)
	if r[0] == '{' || r[0] == '[' {
		return string(r[:limit-1]) + "…"
	}
	head := (limit - 1) * 2 / 3
	return string(r[:head]) + "…" + string(r[len(r)-(limit-1-head):])
}

// lastOf returns the end of a path that fits, from the start of one of its parts if there is one, after an ellipsis.
func lastOf(path string, limit int) string {
	r := []rune(path)
	if len(r) <= limit {
		return path
	}
	end := string(r[len(r)-max(limit-1, 0):])
	if i := strings.IndexAny(end, ".["); i >= 0 && i < len(end)-4 {
		end = end[i:]
	}
	return "…" + end
}

// width returns how many columns s takes, as far as every character takes one.
func width(s string) int { return utf8.RuneCountInString(s) }

// pad returns s with spaces up to n columns.
func pad(s string, n int) string { return s + strings.Repeat(" ", max(n-width(s), 0)) }

// age returns how old the object is, as kubectl writes it.
func age(r Record) string {
	if r.Created.IsZero() {
		return "?"
	}
	return duration.HumanDuration(max(r.Time.Sub(r.Created), 0))
}

// clock returns the time of day.
func clock(t time.Time) string { return t.Format("15:04:05") }

// objectName returns the object as kubectl's -o name writes it: pod/web-1, deployment.apps/web.
func objectName(r Record) string {
	_, group, _ := strings.Cut(r.Resource, ".")
	kind := strings.ToLower(r.Kind)
	if group != "" {
		kind += "." + group
	}
	return kind + "/" + r.Name
}
