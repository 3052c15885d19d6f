package phase_test

import (
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
	"github.com/tarn-dev/tarn/bench/internal/serve"
	"github.com/tarn-dev/tarn/internal/workload"
)

// Ensures that the metrics have the names that figures are looked up by.
func TestMetrics_Names(t *testing.T) {
	fixed := []string{
		"sync_wall", "sync_cpu", "sync_peak_rss", "heap_live", "gc_cpu", "relist_wall", "relist_cpu", "relist_peak_rss", "burst_rate",
		"burst_cpu_per_event", "burst_allocs_per_event", "get_p50", "view_p50", "list_cpu", "backlog_peak_rss",
	}
	for _, name := range fixed {
		if !slices.ContainsFunc(phase.Metrics, func(m phase.Metric) bool { return m.Name == name }) {
			t.Errorf("no metric %s", name)
		}
	}
}

// Ensures that every client gets through every workload that it is for, and that each of its figures is a number above zero.
func TestRun_All(t *testing.T) {
	const n, burst = 120, 150
	for _, w := range phase.Workloads {
		names := w.Default
		if names == nil {
			names = w.Clients
		}
		for _, name := range names {
			t.Run(w.Name+" "+name, func(t *testing.T) {
				t.Parallel() // the most of the time is spent in waiting before a relist
				s, err := serve.New(t.Context(), serve.Spec{Kind: w.Kind, Objects: n, Drift: 1, Burst: burst, JSON: true, Protobuf: w.Kind != workload.CustomObjects})
				if err != nil {
					t.Fatal(err)
				}
				h := httptest.NewServer(s)
				defer func() {
					h.CloseClientConnections()
					http.DefaultTransport.(*http.Transport).CloseIdleConnections()
					h.Close()
				}()
				r, err := phase.Run(t.Context(), phase.Options{
					Client: name, Workload: w.Name, Objects: n, Burst: burst, Config: &rest.Config{Host: h.URL}, Control: serve.Client{URL: h.URL},
				})
				if err != nil {
					t.Fatal(err)
				}
				check(t, w.Name, name, r)
			})
		}
	}
}

func check(t *testing.T, workload, name string, r phase.Result) {
	t.Helper()
	seen := map[phase.Figure]bool{}
	for _, f := range r.Figures {
		if !(f.Value > 0) || math.IsInf(f.Value, 0) {
			t.Errorf("%s %s is %v", f.Phase, f.Metric, f.Value)
		}
		f.Value = 0
		if seen[f] {
			t.Errorf("%s %s twice", f.Phase, f.Metric)
		}
		seen[f] = true
	}
	want := map[string]phase.Figure{
		"pods": {Phase: "burst-decode-old-new", Metric: phase.BurstRate}, "pods-decode": {Phase: "sync", Metric: phase.SyncCPU},
		"reads": {Phase: "by-index", Metric: phase.ListCPU}, "reconcile": {Phase: "reconcile", Metric: phase.BurstCPUPerEvent},
		"backlog": {Phase: "backlog", Metric: phase.BacklogPeakRSS},
	}[workload]
	if client.Reads(name) && want != (phase.Figure{}) && !seen[want] {
		t.Errorf("no %v in %v", want, r.Figures)
	}
	if !seen[phase.Figure{Phase: "sync", Metric: phase.HeapLive}] {
		t.Errorf("no live heap in %v", r.Figures)
	}
}

// Ensures that what cannot be run is an error that says so.
func TestRun_Refused(t *testing.T) {
	for _, o := range []phase.Options{
		{Client: client.ClientGo, Workload: "nodes"},
		{Client: client.ClientGo, Workload: "crs"},
		{Client: "informer", Workload: "pods"},
	} {
		if _, err := phase.Run(t.Context(), o); err == nil {
			t.Errorf("%v ran", o)
		}
	}
}
