// Package report says what was measured: as a table, as JSON, as a chart, and against bounds.
package report

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
)

// Key says what was measured.
type Key struct {
	Workload      string
	Objects       int
	Phase, Metric string
	Client        string
}

// Figure is what all runs measured for one key.
type Figure struct {
	Client   string  `json:"client"`
	Objects  int     `json:"objects"`
	Workload string  `json:"workload"`
	Phase    string  `json:"phase"`
	Metric   string  `json:"metric"`
	Unit     string  `json:"unit"`
	Median   float64 `json:"median"`
	Min      float64 `json:"min"`
	Max      float64 `json:"max"`
	Runs     int     `json:"runs"`
}

// Key returns what the figure is of.
func (f Figure) Key() Key { return Key{f.Workload, f.Objects, f.Phase, f.Metric, f.Client} }

// Figures are the figures of a benchmark, in the order in which they were first measured.
type Figures []Figure

// Collection gathers the values of several runs. The zero value is empty.
type Collection struct {
	order  []Key
	values map[Key][]float64
}

// Add adds a value.
func (c *Collection) Add(k Key, value float64) {
	if c.values == nil {
		c.values = map[Key][]float64{}
	}
	if c.values[k] == nil {
		c.order = append(c.order, k)
	}
	c.values[k] = append(c.values[k], value)
}

// Figures returns the figure of each key.
func (c *Collection) Figures() Figures {
	var all Figures
	for _, k := range c.order {
		v := slices.Sorted(slices.Values(c.values[k]))
		n := len(v)
		all = append(all, Figure{
			Client: k.Client, Objects: k.Objects, Workload: k.Workload, Phase: k.Phase, Metric: k.Metric, Unit: phase.Unit(k.Metric),
			Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1], Runs: n,
		})
	}
	return all
}

// Find returns the figure of a key.
func (all Figures) Find(k Key) (Figure, bool) {
	i := slices.IndexFunc(all, func(f Figure) bool { return f.Key() == k })
	if i < 0 {
		return Figure{}, false
	}
	return all[i], true
}

// Baseline returns the figure that f is compared with: that of the workload's baseline client.
func (all Figures) Baseline(f Figure) (Figure, bool) {
	w, err := phase.Find(f.Workload)
	if err != nil {
		return Figure{}, false
	}
	k := f.Key()
	k.Client = w.Baseline
	return all.Find(k)
}

// WriteJSON writes one JSON object per line.
func (all Figures) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	for _, f := range all {
		if err := e.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(r io.Reader) (all Figures, err error) {
	d := json.NewDecoder(r)
	for {
		var f Figure
		switch err := d.Decode(&f); err {
		case nil:
			all = append(all, f)
		case io.EOF:
			return all, nil
		default:
			return nil, err
		}
	}
}

// clientOrder and metricOrder are the orders of tables.
func clientOrder(a, b string) int {
	names := client.Names()
	return cmp.Compare(slices.Index(names, a), slices.Index(names, b))
}

func metricOrder(a, b string) int {
	at := func(name string) int {
		return slices.IndexFunc(phase.Metrics, func(m phase.Metric) bool { return m.Name == name })
	}
	return cmp.Compare(at(a), at(b))
}
