package phase

import "fmt"

// Figure is one measurement.
type Figure struct {
	// Phase is what was being done, such as sync.
	Phase string `json:"phase"`
	// Metric is what was measured, one of [Metrics].
	Metric string `json:"metric"`
	// Value is in the metric's unit.
	Value float64 `json:"value"`
}

// Result is what one run of one client measured.
type Result struct {
	Figures []Figure `json:"figures"`
	// Notes say what a figure is to be read with.
	Notes []string `json:"notes,omitempty"`
}

// The metrics.
const (
	SyncWall            = "sync_wall"
	SyncCPU             = "sync_cpu"
	SyncPeakRSS         = "sync_peak_rss"
	HeapLive            = "heap_live"
	GCCPU               = "gc_cpu"
	SteadyRSS           = "steady_rss"
	RelistWall          = "relist_wall"
	RelistCPU           = "relist_cpu"
	RelistPeakRSS       = "relist_peak_rss"
	BurstRate           = "burst_rate"
	BurstCPUPerEvent    = "burst_cpu_per_event"
	BurstAllocsPerEvent = "burst_allocs_per_event"
	GetP50              = "get_p50"
	ViewP50             = "view_p50"
	ListCPU             = "list_cpu"
	BacklogPeakRSS      = "backlog_peak_rss"
)

// Metric is a metric's name and unit: s, B, events/s, or allocs.
type Metric struct{ Name, Unit string }

// Metrics are all of them, in the order of tables.
var Metrics = []Metric{
	{SyncWall, "s"},
	{SyncCPU, "s"},
	{SyncPeakRSS, "B"},
	{HeapLive, "B"},
	{GCCPU, "s"},
	{SteadyRSS, "B"},
	{RelistWall, "s"},
	{RelistCPU, "s"},
	{RelistPeakRSS, "B"},
	{BurstRate, "events/s"},
	{BurstCPUPerEvent, "s"},
	{BurstAllocsPerEvent, "allocs"},
	{GetP50, "s"},
	{ViewP50, "s"},
	{ListCPU, "s"},
	{BacklogPeakRSS, "B"},
}

// Unit returns the unit of a metric; it panics if there is none of that name.
func Unit(metric string) string {
	for _, m := range Metrics {
		if m.Name == metric {
			return m.Unit
		}
	}
	panic(fmt.Sprintf("phase: no metric %q", metric))
}
