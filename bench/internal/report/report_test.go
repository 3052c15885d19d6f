package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tarn-dev/tarn/bench/internal/report"
)

// figures are what a small benchmark measured.
func figures() report.Figures {
	var c report.Collection
	for _, v := range []struct {
		phase, metric, client string
		values                []float64
	}{
		{"sync", "heap_live", "client-go", []float64{2e9, 2.2e9, 2.1e9}},
		{"sync", "heap_live", "tarn-lean", []float64{105e6}},
		{"sync", "sync_wall", "client-go", []float64{8, 12}},
		{"sync", "sync_wall", "tarn-lean", []float64{0.0125}},
		{"burst", "burst_rate", "tarn-lean", []float64{41000}},
		{"burst", "burst_rate", "client-go", []float64{4100}},
		{"burst", "burst_allocs_per_event", "tarn-lean", []float64{0.5}},
	} {
		for _, value := range v.values {
			c.Add(report.Key{Workload: "pods", Objects: 100_000, Phase: v.phase, Metric: v.metric, Client: v.client}, value)
		}
	}
	c.Add(report.Key{Workload: "pods", Objects: 1_000_000, Phase: "sync", Metric: "heap_live", Client: "tarn-lean"}, 0.9e9)
	return c.Figures()
}

// Ensures that a figure has the median, the extremes and the number of its runs.
func TestCollection_Figures(t *testing.T) {
	all := figures()
	for _, c := range []struct {
		phase, metric    string
		median, min, max float64
		runs             int
		unit             string
	}{
		{"sync", "heap_live", 2.1e9, 2e9, 2.2e9, 3, "B"},
		{"sync", "sync_wall", 10, 8, 12, 2, "s"},
		{"burst", "burst_rate", 4100, 4100, 4100, 1, "events/s"},
	} {
		got, ok := all.Find(report.Key{Workload: "pods", Objects: 100_000, Phase: c.phase, Metric: c.metric, Client: "client-go"})
		want := report.Figure{
			Client: "client-go", Objects: 100_000, Workload: "pods", Phase: c.phase, Metric: c.metric, Unit: c.unit,
			Median: c.median, Min: c.min, Max: c.max, Runs: c.runs,
		}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Error(diff)
		}
	}
	if _, ok := all.Find(report.Key{Workload: "pods"}); ok {
		t.Error("found what is not there")
	}
}

// Ensures that figures are written as one JSON object per line, with exactly the names that are promised, and read back.
func TestFigures_JSON(t *testing.T) {
	all := figures()
	var b bytes.Buffer
	if err := all.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(all) {
		t.Errorf("%d lines of %d figures", len(lines), len(all))
	}
	for _, line := range lines {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"client", "objects", "workload", "phase", "metric", "unit", "median", "min", "max", "runs"} {
			if _, ok := fields[name]; !ok {
				t.Errorf("no %s in %s", name, line)
			}
			delete(fields, name)
		}
		if len(fields) > 0 {
			t.Errorf("more than is promised: %v", fields)
		}
	}
	back, err := report.ReadJSON(&b)
	if diff := cmp.Diff(all, back); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := report.ReadJSON(strings.NewReader(`{"client":`)); err == nil {
		t.Error("read what is cut off")
	}
}

// Ensures that the table has a block for each phase, with values in readable units and their ratio to the baseline.
func TestFigures_Table(t *testing.T) {
	var b strings.Builder
	if err := figures().WriteTable(&b); err != nil {
		t.Fatal(err)
	}
	want := `100,000 objects, median of 3
  pods, sync       sync_wall        heap_live
  client-go     10.0 s     1  2,100 MB      1
  tarn-lean    12.5 ms  1/800    105 MB  1/20.0

100,000 objects, median of 1
  pods, burst     burst_rate  burst_allocs_per_event
  client-go     4,100/s     1                 -
  tarn-lean    41,000/s  10.0x              0.50

1,000,000 objects, median of 1
  pods, sync     heap_live
  tarn-lean    900 MB
`
	squeeze := func(s string) string {
		var lines []string
		for line := range strings.Lines(s) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	if diff := cmp.Diff(squeeze(want), squeeze(b.String())); diff != "" {
		t.Errorf("%s\n%s", diff, b.String())
	}
	for line := range strings.Lines(b.String()) {
		if strings.TrimRight(line, "\n") != strings.TrimRight(line, " \n") {
			t.Errorf("space at the end of %q", line)
		}
	}
}

// Ensures that ratios and values are written so that people can read them.
func TestRatio(t *testing.T) {
	for r, want := range map[float64]string{1: "1", 0.05: "1/20.0", 8: "8.00x", 41.25: "41.2x", 0.001: "1/1000", 1.004: "1", 0.5: "1/2.00"} {
		if got := report.Ratio(r); got != want {
			t.Errorf("%v is %q, want %q", r, got, want)
		}
	}
	for _, c := range []struct {
		value      float64
		unit, want string
	}{
		{82e6, "B", "82 MB"},
		{2134e6, "B", "2,134 MB"},
		{12.5e6, "B", "12.5 MB"},
		{0.0000023, "s", "2.30 µs"},
		{3e-7, "s", "300 ns"},
		{41000, "events/s", "41,000/s"},
		{387.2, "allocs", "387"},
		{61.5, "s", "61.5 s"},
		{0.004, "s", "4.00 ms"},
	} {
		if got := report.Value(c.value, c.unit); got != c.want {
			t.Errorf("%v %s is %q, want %q", c.value, c.unit, got, c.want)
		}
	}
}

// Ensures that the chart is well-formed, has a bar for each figure that it shows, and can be told apart on dark ground.
func TestFigures_SVG(t *testing.T) {
	var b bytes.Buffer
	if err := figures().WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	bars := map[string]int{}
	for d := xml.NewDecoder(bytes.NewReader(b.Bytes())); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars[e.Attr[0].Value]++
		}
	}
	if bars["tarn"] != 1 || bars["other"] != 1 {
		t.Errorf("bars %v", bars)
	}
	for _, want := range []string{"prefers-color-scheme: dark", "100,000 pods", "live heap", "105 MB (1/20.0)"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the chart", want)
		}
	}
	if err := (report.Figures{}).WriteSVG(io.Discard); err == nil {
		t.Error("a chart of nothing")
	}
}

// Ensures that each bound is compared with the right figures and that a miss is an error that can be told from others.
func TestBounds_Check(t *testing.T) {
	for name, c := range map[string]struct {
		bounds, want string
		missed       bool
	}{
		"kept, goal not reached": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","of":"pods/sync/heap_live/client-go","atMost":"1/18","goal":"1/25"}`,
			"ok      heap: 105 MB, 1/20.0 of 2,100 MB, at most 1/18, goal 1/25, at 100,000 objects\n", false,
		},
		"goal reached": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","of":"pods/sync/heap_live/client-go","atMost":"1/10","goal":"1/15"}`,
			"ok      heap: 105 MB, 1/20.0 of 2,100 MB, at most 1/10, goal 1/15 (goal reached), at 100,000 objects\n", false,
		},
		"missed": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","of":"pods/sync/heap_live/client-go","atMost":"1/21"}`,
			"MISSED  heap: 105 MB, 1/20.0 of 2,100 MB, at most 1/21, at 100,000 objects\n", true,
		},
		"at least": {
			`{"what":"rate","figure":"pods/burst/burst_rate/tarn-lean","of":"pods/burst/burst_rate/client-go","atLeast":"8"}`,
			"ok      rate: 41,000/s, 10.0x of 4,100/s, at least 8x, at 100,000 objects\n", false,
		},
		"at least, missed": {
			`{"what":"rate","figure":"pods/burst/burst_rate/tarn-lean","of":"pods/burst/burst_rate/client-go","atLeast":"10.5"}`,
			"MISSED  rate: 41,000/s, 10.0x of 4,100/s, at least 10.5x, at 100,000 objects\n", true,
		},
		"by itself, at the largest size": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","atMost":"1e9"}`,
			"ok      heap: 900 MB, at most 1,000 MB, at 1,000,000 objects\n", false,
		},
		"at a size": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","objects":100000,"atMost":"1e8"}`,
			"MISSED  heap: 105 MB, at most 100 MB, at 100,000 objects\n", true,
		},
		"plus": {
			`{"what":"wall","figure":"pods/sync/sync_wall/client-go","of":"pods/sync/sync_wall/tarn-lean","atMost":"0.7","plus":9.999}`,
			"ok      wall: 10.0 s, 800x of 12.5 ms, at most 0.7x and 10.00 s, at 100,000 objects\n", false,
		},
		"not measured": {
			`{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","atMost":"1e9"},{"what":"get","figure":"reads/get/get_p50/tarn-lean","atMost":"1"}`,
			"ok      heap: 900 MB, at most 1,000 MB, at 1,000,000 objects\n-       get: not measured\n", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bounds, err := report.ParseBounds([]byte("[" + c.bounds + "]"))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := bounds.Check(figures(), &b); errors.Is(err, report.ErrMissed) != c.missed || !c.missed && err != nil {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(c.want, b.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
	bounds, err := report.ParseBounds([]byte(`[{"what":"get","figure":"reads/get/get_p50/tarn-lean","atMost":"1"}]`))
	if err != nil {
		t.Fatal(err)
	}
	if err := bounds.Check(figures(), io.Discard); err == nil || errors.Is(err, report.ErrMissed) {
		t.Errorf("bounds of which nothing was measured: %v", err)
	}
}

// Ensures that bounds that could never be missed for being written wrong are refused.
func TestParseBounds_Refused(t *testing.T) {
	for _, text := range []string{
		`[{"figure":"pods/sync/heap_live/tarn-lean"}]`,
		`[{"figure":"pods/sync/heap_live/tarn-lean","atMost":"1","atLeast":"1"}]`,
		`[{"figure":"pods/heap_live/tarn-lean","atMost":"1"}]`,
		`[{"figure":"pods/sync/heap_live/tarn-lean","of":"client-go","atMost":"1"}]`,
		`[{"figure":"pods/sync/heap_live/tarn-lean","atMost":"1/x"}]`,
		`[{"figure":"pods/sync/heap_live/tarn-lean","atMost":"0"}]`,
		`[{"figure":"pods/sync/heap_live/tarn-lean","atmost":"1","limit":3}]`,
		`[{"atMost":"1"}]`,
		`{`,
	} {
		if b, err := report.ParseBounds([]byte(text)); err == nil {
			t.Errorf("%s: %v", text, b)
		}
	}
}
