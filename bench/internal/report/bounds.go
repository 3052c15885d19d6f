package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrMissed is returned where a figure is beyond its bound.
var ErrMissed = errors.New("missed")

// Bound is what a figure must be. Its value is compared with a number of times another figure, or with the number alone.
type Bound struct {
	// What says what it is about, for people.
	What string `json:"what"`
	// Figure is compared with Of, if that is set. Both are written workload/phase/metric/client.
	Figure string `json:"figure"`
	Of     string `json:"of,omitempty"`
	// Objects is the size at which they are compared; 0 is the largest at which both were measured.
	Objects int `json:"objects,omitempty"`
	// AtMost or AtLeast is the bound, Goal what is hoped for: a number, or a fraction such as 1/18.
	AtMost  Number `json:"atMost,omitempty"`
	AtLeast Number `json:"atLeast,omitempty"`
	Goal    Number `json:"goal,omitempty"`
	// Plus is added to the bound, in the metric's unit.
	Plus float64 `json:"plus,omitempty"`
}

// Number is a number that is written as people do: 8, 0.7, 1/18. The zero value is none.
type Number struct {
	Text  string
	Value float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Number) UnmarshalJSON(raw []byte) error {
	if err := json.Unmarshal(raw, &n.Text); err != nil {
		return err
	}
	above, below, fraction := strings.Cut(n.Text, "/")
	value, err := strconv.ParseFloat(above, 64)
	if err == nil && fraction {
		var divisor float64
		divisor, err = strconv.ParseFloat(below, 64)
		value /= divisor
	}
	if err != nil || !(value > 0) {
		return fmt.Errorf("%q is no positive number, such as 8 or 1/18", n.Text)
	}
	n.Value = value
	return nil
}

// Bounds are what a benchmark must keep to.
type Bounds []Bound

// ParseBounds reads bounds, a JSON array.
func ParseBounds(text []byte) (Bounds, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var all Bounds
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	for _, b := range all {
		if (b.AtMost.Text == "") == (b.AtLeast.Text == "") {
			return nil, fmt.Errorf("%s: either atMost or atLeast must be set", b.What)
		}
		for _, figure := range []string{b.Figure, b.Of} {
			if figure != "" && strings.Count(figure, "/") != 3 || b.Figure == "" {
				return nil, fmt.Errorf("%s: %q is not of the form workload/phase/metric/client", b.What, figure)
			}
		}
	}
	return all, nil
}

// Check compares the figures with the bounds and writes a line for each. The error wraps [ErrMissed] where one is missed.
// One whose figures were not measured is not missed, as long as others were.
func (all Bounds) Check(figures Figures, w io.Writer) error {
	missed, measured := 0, 0
	for _, b := range all {
		f, of, ok := b.find(figures)
		if !ok {
			fmt.Fprintf(w, "-       %s: not measured\n", b.What)
			continue
		}
		measured++
		is, kept, reached := b.judge(f, of)
		verdict := "ok"
		if !kept {
			missed++
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%-6s  %s: %s, %s", verdict, b.What, is, b.wanted(f.Unit))
		if b.Goal.Text != "" && reached {
			fmt.Fprint(w, " (goal reached)")
		}
		fmt.Fprintf(w, ", at %s objects\n", thousands(float64(f.Objects)))
	}
	switch {
	case measured == 0:
		return fmt.Errorf("none of the %d bounds is about what was measured", len(all))
	case missed > 0:
		return fmt.Errorf("%d of %d bounds %w", missed, measured, ErrMissed)
	}
	return nil
}

// find returns the figures that the bound is about.
func (b Bound) find(figures Figures) (f, of Figure, ok bool) {
	sizes := []int{b.Objects}
	if b.Objects == 0 {
		sizes = nil
		for _, f := range figures {
			sizes = append(sizes, f.Objects)
		}
		slices.Sort(sizes)
		slices.Reverse(sizes)
	}
	for _, size := range slices.Compact(sizes) {
		if f, ok = figures.Find(keyOf(b.Figure, size)); !ok {
			continue
		}
		if b.Of == "" {
			return f, of, true
		}
		if of, ok = figures.Find(keyOf(b.Of, size)); ok {
			return f, of, true
		}
	}
	return f, of, false
}

func keyOf(path string, objects int) Key {
	p := strings.Split(path, "/")
	return Key{Workload: p[0], Objects: objects, Phase: p[1], Metric: p[2], Client: p[3]}
}

// judge says what the figure is, and whether the bound and the goal are kept to.
func (b Bound) judge(f, of Figure) (is string, kept, reached bool) {
	scale, is := 1.0, Value(f.Median, f.Unit)
	if b.Of != "" {
		scale = of.Median
		is += fmt.Sprintf(", %s of %s", Ratio(f.Median/of.Median), Value(of.Median, of.Unit))
	}
	if b.AtLeast.Text != "" {
		return is, f.Median >= b.AtLeast.Value*scale+b.Plus, f.Median >= b.Goal.Value*scale+b.Plus
	}
	return is, f.Median <= b.AtMost.Value*scale+b.Plus, f.Median <= b.Goal.Value*scale+b.Plus
}

// wanted says what the bound is.
func (b Bound) wanted(unit string) string {
	text, n := "at most ", b.AtMost
	if b.AtLeast.Text != "" {
		text, n = "at least ", b.AtLeast
	}
	number := func(n Number) string {
		switch {
		case b.Of == "":
			return Value(n.Value, unit)
		case strings.Contains(n.Text, "/"):
			return n.Text
		}
		return n.Text + "x"
	}
	text += number(n)
	if b.Plus != 0 {
		text += " and " + Value(b.Plus, unit)
	}
	if b.Goal.Text != "" {
		text += ", goal " + number(b.Goal)
	}
	return text
}
