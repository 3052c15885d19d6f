package printer

import (
	"fmt"
	"io"
	"strings"

	"github.com/fatih/color"
	"sigs.k8s.io/yaml"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/fielddiff"
)

// diff writes a header per record and a pair of lines per changed field.
type diff struct {
	w io.Writer
	o Options
	p palette
}

// Print implements [Printer].
func (d *diff) Print(r Record) error {
	var b strings.Builder
	sign, c := d.p.of(r.Type)
	head := sign + " " + objectName(r)
	if r.Namespace != "" {
		head += " in " + r.Namespace
	}
	version := "version " + r.NewVersion
	if r.Type == Updated && r.OldVersion != "" {
		version = "version " + r.OldVersion + " → " + r.NewVersion
	}
	what := string(r.Type)
	if r.Missed {
		what += " while nobody watched"
	}
	fmt.Fprintf(&b, "%s  %s\n", c.Sprint(head), d.p.faint.Sprintf("%s %s, age %s, %s", clock(r.Time), what, age(r), version))
	shown, hidden := changes(r, d.o.AllFields)
	switch {
	case r.Err != nil:
		fmt.Fprintf(&b, "    cannot be read: %s\n", Printable(r.Err.Error()))
	case r.Type == Added || r.Type == Present:
		for _, s := range about(r.New) {
			fmt.Fprintf(&b, "    %s\n", d.p.faint.Sprint(s))
		}
	case r.Type == Updated && len(shown) == 0:
		text := "(no field changed)"
		if hidden > 1 {
			text = "(managedFields only)"
		}
		fmt.Fprintf(&b, "    %s\n", d.p.faint.Sprint(text))
	}
	for _, change := range shown {
		d.change(&b, change)
	}
	_, err := io.WriteString(d.w, b.String())
	return err
}

func (d *diff) change(b *strings.Builder, c fielddiff.Change) {
	path := c.Path.String()
	old, isText := c.Old.(string)
	now, stillText := c.New.(string)
	if c.Kind == fielddiff.Changed && isText && stillText && (strings.Contains(old, "\n") || strings.Contains(now, "\n")) {
		fmt.Fprintf(b, "    %s:\n", path)
		for _, l := range lineDiff(strings.Split(old, "\n"), strings.Split(now, "\n")) {
			text := l.sign + "     " + strings.ReplaceAll(Printable(strings.ReplaceAll(l.text, "\t", "    ")), "\r", "")
			switch l.sign {
			case "+":
				text = d.p.added.Sprint(text)
			case "-":
				text = d.p.deleted.Sprint(text)
			default:
				text = d.p.faint.Sprint(text)
			}
			b.WriteString(text + "\n")
		}
		return
	}
	if c.Kind == fielddiff.Reordered {
		path += " (order)"
	}
	if c.Kind != fielddiff.Added {
		block(b, d.p.deleted, "-   ", path, c.Old)
	}
	if c.Kind != fielddiff.Removed {
		block(b, d.p.added, "+   ", path, c.New)
	}
}

// lineLimit is how long a list may be that is written on one line.
const lineLimit = 60

// block writes a value after its path: what is simple or short on the same line, anything larger as YAML on lines of its own.
func block(b *strings.Builder, c *color.Color, prefix, path string, v any) {
	var raw []byte
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			raw, _ = yaml.Marshal(v)
		}
	case []any:
		if short := text(v); len(v) > 0 && (len(short) > lineLimit || strings.Contains(short, "{")) {
			raw, _ = yaml.Marshal(v)
		}
	}
	if raw == nil {
		fmt.Fprintln(b, c.Sprint(prefix+path+": "+text(v)))
		return
	}
	fmt.Fprintln(b, c.Sprint(prefix+path+":"))
	for line := range strings.SplitSeq(strings.TrimSuffix(string(raw), "\n"), "\n") {
		fmt.Fprintln(b, c.Sprint(prefix+"  "+Printable(line)))
	}
}

// line is a line of a text, and whether it came (+), went (-) or stayed (" ").
type line struct{ sign, text string }

// lineContext is how many equal lines are shown around changed ones.
const lineContext = 2

// lineDiff returns the lines between the first and the last that differ, with a little of what is around them.
func lineDiff(old, now []string) []line {
	head := 0
	for head < min(len(old), len(now)) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < min(len(old), len(now))-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	var out []line
	for _, s := range old[max(head-lineContext, 0):head] {
		out = append(out, line{" ", s})
	}
	for _, s := range old[head : len(old)-tail] {
		out = append(out, line{"-", s})
	}
	for _, s := range now[head : len(now)-tail] {
		out = append(out, line{"+", s})
	}
	for _, s := range old[len(old)-tail : min(len(old)-tail+lineContext, len(old))] {
		out = append(out, line{" ", s})
	}
	return out
}
