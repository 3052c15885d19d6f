package run_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/run"
)

func usual() run.Options { return run.Options{Objects: 10_000, Burst: 50_000, Rounds: 3, Drift: 1} }

// Ensures that by default every workload and every client runs, each workload with its baseline.
func TestPlan_Default(t *testing.T) {
	steps, err := run.Plan(usual())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var names []string
	for _, s := range steps {
		names = append(names, s.Name)
		if !slices.Contains(s.Run, s.Baseline) || s.Objects != 10_000 || s.Rounds < 2 {
			t.Errorf("%s: %d objects, %d rounds of %q", s.Name, s.Objects, s.Rounds, s.Run)
		}
		for _, name := range s.Run {
			seen[name] = true
		}
	}
	if len(seen) != len(client.Names()) || len(names) != 8 {
		t.Errorf("clients %v, workloads %q", seen, names)
	}
}

// Ensures that everything at full size is what is promised, a million pods for tarn alone included.
func TestPlan_Full(t *testing.T) {
	o := usual()
	o.Full = true
	steps, err := run.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	size := map[string]int{}
	for _, s := range steps {
		if s.Objects == 1_000_000 {
			if !slices.Equal(s.Run, []string{client.TarnLean}) || s.Name != "pods" {
				t.Errorf("a million %s for %q", s.Name, s.Run)
			}
			s.Name = "million"
		}
		size[s.Name] = s.Objects
	}
	for name, want := range map[string]int{
		"pods": 100_000, "pods-decode": 50_000, "reads": 100_000, "reconcile": 50_000, "backlog": 100_000, "secrets": 20_000, "configmaps": 20_000,
		"crs": 20_000, "million": 1_000_000,
	} {
		if size[name] != want {
			t.Errorf("%s has %d objects, not %d", name, size[name], want)
		}
	}
}

// Ensures that clients and workloads can be chosen, and that a client is not run where it makes no sense.
func TestPlan_Chosen(t *testing.T) {
	o := usual()
	o.Clients, o.Workloads, o.Objects = []string{client.TarnLean, client.StateDB, client.Empty}, []string{"crs", "pods-decode"}, 50_000
	steps, err := run.Plan(o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, s := range steps {
		got[s.Name] = s.Run
	}
	if len(got) != 2 || !slices.Equal(got["crs"], []string{client.Empty, client.TarnLean}) || !slices.Equal(got["pods-decode"], []string{client.StateDB, client.TarnLean}) {
		t.Errorf("%q", got)
	}
	if steps[1].Objects != 20_000 {
		t.Errorf("%d custom resources", steps[1].Objects)
	}
}

// Ensures that options that cannot be run are errors.
func TestPlan_Refused(t *testing.T) {
	for name, change := range map[string]func(*run.Options){
		"workload": func(o *run.Options) { o.Workloads = []string{"nodes"} },
		"client":   func(o *run.Options) { o.Clients = []string{"informer"} },
		"objects":  func(o *run.Options) { o.Objects = 0 },
		"rounds":   func(o *run.Options) { o.Rounds = 0 },
		"drift":    func(o *run.Options) { o.Drift = 5 },
		"burst":    func(o *run.Options) { o.Burst = -1 },
		"nothing":  func(o *run.Options) { o.Workloads, o.Clients = []string{"crs"}, []string{client.StateDB} },
	} {
		o := usual()
		change(&o)
		if steps, err := run.Plan(o); err == nil {
			t.Errorf("%s: %v", name, steps)
		}
	}
}

// Ensures that a server that does not start costs its own step and no other, and is reported.
func TestAll_NoServer(t *testing.T) {
	steps, err := run.Plan(usual())
	if err != nil {
		t.Fatal(err)
	}
	why, asked := errors.New("no server today"), 0
	figures, err := run.All(t.Context(), steps, func(context.Context, run.Step) (run.Address, func() error, error) {
		asked++
		return run.Address{}, nil, why
	}, io.Discard)
	if !errors.Is(err, why) || len(figures) > 0 || asked != len(steps) {
		t.Errorf("%d of %d servers, %v", asked, len(steps), err)
	}
}
