package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// WriteTable writes all figures as one table: a block for each phase of each workload, in it a line for each client, with
// the median of each metric and how it compares with the baseline's: 1/20 is a twentieth of it, 20x is twenty times.
func (all Figures) WriteTable(w io.Writer) error {
	type block struct {
		workload string
		objects  int
		phase    string
	}
	var blocks []block
	for _, f := range all {
		if b := (block{f.Workload, f.Objects, f.Phase}); !slices.Contains(blocks, b) {
			blocks = append(blocks, b)
		}
	}
	for n, b := range blocks {
		var clients, metrics []string
		runs := 0
		for _, f := range all {
			if (block{f.Workload, f.Objects, f.Phase}) != b {
				continue
			}
			if !slices.Contains(clients, f.Client) {
				clients = append(clients, f.Client)
			}
			if !slices.Contains(metrics, f.Metric) {
				metrics = append(metrics, f.Metric)
			}
			runs = max(runs, f.Runs)
		}
		slices.SortFunc(clients, clientOrder)
		slices.SortFunc(metrics, metricOrder)
		rows := [][]string{{fmt.Sprintf("%s, %s", b.workload, b.phase)}}
		for _, m := range metrics {
			rows[0] = append(rows[0], m, "")
		}
		for _, c := range clients {
			row := []string{c}
			for _, m := range metrics {
				f, ok := all.Find(Key{b.workload, b.objects, b.phase, m, c})
				if !ok {
					row = append(row, "-", "")
					continue
				}
				ratio := ""
				if base, ok := all.Baseline(f); ok {
					ratio = Ratio(f.Median / base.Median)
				}
				row = append(row, Value(f.Median, f.Unit), ratio)
			}
			rows = append(rows, row)
		}
		if n > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s objects, median of %d\n", thousands(float64(b.objects)), runs)
		if err := writeRows(w, rows); err != nil {
			return err
		}
	}
	return nil
}

// writeRows writes rows in columns: the first to the left, the others to the right; a heading may reach into the next
// column where that has none.
func writeRows(w io.Writer, rows [][]string) error {
	width := make([]int, len(rows[0]))
	for n, row := range rows {
		for i, cell := range row {
			if n > 0 || i == 0 {
				width[i] = max(width[i], utf8.RuneCountInString(cell))
			}
		}
	}
	for i := 1; i+1 < len(width); i += 2 {
		width[i+1] = max(width[i+1], 4)
		width[i] = max(width[i], len(rows[0][i])-width[i+1]-2)
	}
	for n, row := range rows {
		line := fmt.Sprintf("  %-*s", width[0], row[0])
		for i := 1; i+1 < len(row); i += 2 {
			if n == 0 {
				line += fmt.Sprintf("  %*s", width[i]+width[i+1]+2, row[i])
				continue
			}
			line += fmt.Sprintf("  %*s  %*s", width[i], row[i], width[i+1], row[i+1])
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// Ratio writes how many times something is.
func Ratio(r float64) string {
	switch {
	case math.IsNaN(r) || math.IsInf(r, 0):
		return ""
	case r > 0.995 && r < 1.005:
		return "1"
	case r < 1 && r > 0:
		return "1/" + short(1/r)
	}
	return short(r) + "x"
}

func short(v float64) string {
	switch {
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Value writes a value with its unit.
func Value(v float64, unit string) string {
	switch unit {
	case "B":
		return thousands(v/1e6) + " MB"
	case "s":
		switch {
		case v >= 1:
			return short(v) + " s"
		case v >= 1e-3:
			return short(v*1e3) + " ms"
		case v >= 1e-6:
			return short(v*1e6) + " µs"
		}
		return fmt.Sprintf("%.0f ns", v*1e9)
	case "events/s":
		return thousands(v) + "/s"
	}
	return short(v)
}

// thousands writes a number with commas, and with decimals where it is small.
func thousands(v float64) string {
	if v < 100 && v != math.Trunc(v) {
		return short(v)
	}
	text := fmt.Sprintf("%.0f", v)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
