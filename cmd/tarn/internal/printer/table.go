package printer

import (
	"fmt"
	"io"
	"strings"
)

// Where there are fewer columns than detailWidth for what changed, it gets a line of its own, with the age in front, so that
// it begins at detailIndent.
const (
	detailWidth  = 56
	detailIndent = 11
)

// table writes a line per record. Columns grow with what comes, up to a limit; what is longer pushes the rest of its own
// line aside and no other.
type table struct {
	w      io.Writer
	o      Options
	p      palette
	header bool // has been written

	resource, namespace, name int // widths
}

func newTable(w io.Writer, o Options) *table {
	t := &table{w: w, o: o, p: newPalette(o.Color), resource: len("RESOURCE"), namespace: len("NAMESPACE"), name: len("NAME")}
	for _, r := range o.Expect {
		t.growOthers(r) // what these leave is what names may take
	}
	for _, r := range o.Expect {
		t.growName(r)
	}
	return t
}

// growOthers makes the columns as wide as the record needs, within limits: what is longer than those is rare.
func (t *table) growOthers(r Record) {
	screen := t.o.Width()
	t.resource = grown(t.resource, r.Short, limit(24, screen/5))
	t.namespace = grown(t.namespace, r.Namespace, limit(20, screen/6))
}

func (t *table) growName(r Record) {
	t.name = grown(t.name, r.Name, limit(60, t.o.Width()-width(t.line("", "", "", "", ""))+t.name))
}

// limit returns the smaller one of what a column may take at most and what the screen has; 0 is no screen.
func limit(most, screen int) int {
	if screen <= 0 {
		return most
	}
	return min(most, screen)
}

// grown returns the column's width with s in it, if that is not beyond the limit.
func grown(column int, s string, limit int) int {
	if n := width(s); n > column && n <= limit {
		return n
	}
	return column
}

// Print implements [Printer].
func (t *table) Print(r Record) error {
	t.growOthers(r)
	t.growName(r)
	var b strings.Builder
	screen := t.o.Width()
	twoLines := screen > 0 && screen-width(t.line("", "", "", "", ""))-ageWidth < detailWidth && !t.o.State
	if !t.header && screen > 0 { // pipes get data only
		head := t.line("TIME", " ", "RESOURCE", "NAMESPACE", "NAME")
		switch {
		case t.o.State:
			head += "AGE"
		case !twoLines:
			head += pad("AGE", ageWidth) + "CHANGE"
		default:
			head = strings.TrimRight(head, " ") + fmt.Sprintf("\n%*s CHANGE", detailIndent-1, "AGE")
		}
		fmt.Fprintln(&b, t.p.strong.Sprint(strings.TrimRight(head, " ")))
	}
	t.header = true
	sign, _ := t.p.of(r.Type)
	columns, old := t.line(clock(r.Time), sign, r.Short, r.Namespace, r.Name), age(r)
	start, detail := t.paint(r.Type, columns), ""
	if twoLines {
		detail = t.detail(r, max(screen-detailIndent, 24))
	}
	if detail != "" {
		fmt.Fprintf(&b, "%s\n%*s %s\n", strings.TrimRight(start, " "), detailIndent-1, old, detail)
	} else {
		if !twoLines {
			room := 0
			if screen > 0 {
				room = max(screen-width(columns)-ageWidth, 24)
			}
			detail = t.detail(r, room)
		}
		fmt.Fprintln(&b, strings.TrimRight(start+pad(old, ageWidth)+detail, " "))
	}
	_, err := io.WriteString(t.w, b.String())
	return err
}

// ageWidth is the width of the column with the age: 3m39s and a space.
const ageWidth = 6

// paint returns the columns before the age with their colours.
func (t *table) paint(typ Type, columns string) string {
	if !t.o.Color || t.o.State {
		return columns
	}
	const sign = len("15:04:05 ")
	colored := columns[sign:]
	if typ != Added && typ != Deleted {
		colored = colored[:1]
	}
	colored = strings.TrimRight(colored, " ")
	_, c := t.p.of(typ)
	return t.p.faint.Sprint(columns[:sign]) + c.Sprint(colored) + columns[sign+len(colored):]
}

// line returns the columns before the age.
func (t *table) line(time, sign, resource, namespace, name string) string {
	var columns []string
	if !t.o.State {
		columns = append(columns, pad(time, 8), pad(sign, 1))
	}
	if t.o.Kinds {
		columns = append(columns, pad(resource, t.resource))
	}
	if t.o.Namespaces {
		columns = append(columns, pad(namespace, t.namespace))
	}
	return strings.Join(append(columns, pad(name, t.name)), " ") + " "
}

// detail returns the last column in at most room columns; 0 is no limit.
func (t *table) detail(r Record, room int) string {
	switch {
	case r.Err != nil:
		return t.p.deleted.Sprint("cannot be read: " + shorten(Printable(r.Err.Error()), max(room-16, 60)))
	case r.Missed:
		return "(deleted while nobody watched)"
	case r.Type == Deleted:
		return ""
	case r.Type != Updated:
		return t.about(r, room)
	}
	shown, hidden := changes(r, t.o.AllFields)
	if len(shown) == 0 {
		if hidden > 1 {
			return t.p.faint.Sprint("(managedFields only)")
		}
		return t.p.faint.Sprint("(no field changed)")
	}
	return t.list(facts(shown), room)
}

// list returns as many facts as fit, at least one, and how many there are besides.
func (t *table) list(all []fact, room int) string {
	const between = "  "
	var out []string
	used := 0
	for i, f := range all {
		more := ""
		if left := len(all) - i - 1; left > 0 {
			more = fmt.Sprintf("%s… and %d more", between, left)
		}
		space := 1 << 20
		if room > 0 {
			space = room - used - width(more)
		}
		whole := f
		if f = whole.fit(space, i == 0); i > 0 && f.width() > space {
			f = whole.after(all[i-1]).fit(space, false)
		}
		tooMany := i >= t.o.MaxChanges || room > 0 && used+f.width()+width(more) > room
		if i > 0 && tooMany {
			return strings.Join(append(out, t.p.faint.Sprintf("… and %d more", len(all)-i)), between)
		}
		out = append(out, f.paint(t.p))
		used += f.width() + len(between)
	}
	return strings.Join(out, between)
}

// about returns what a new object is about.
func (t *table) about(r Record, room int) string {
	var out []string
	used := 0
	for _, s := range about(r.New) {
		if used += width(s) + 1; room > 0 && used > room+1 {
			break
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return ""
	}
	return t.p.faint.Sprint(strings.Join(out, " "))
}
