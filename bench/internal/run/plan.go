// Package run plans a benchmark and runs it: a process that serves, and one process for each run of each client.
package run

import (
	"fmt"
	"slices"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
)

// Options says what to run. The zero value of a field that is not explained is not a useful one.
type Options struct {
	Objects int
	Drift   float64
	Burst   int
	Rounds  int
	// Clients and Workloads are names; nil is what is there by default.
	Clients, Workloads []string
	// Full is everything at full size, in place of Objects, Burst and the defaults of the workloads.
	Full bool
	// Seed selects the objects.
	Seed uint64
}

// Step is a workload with its size: one server, and rounds of clients.
type Step struct {
	phase.Workload
	Objects, Burst, Rounds int
	Drift                  float64
	Seed                   uint64
	Run                    []string
}

// incompressible is how many objects those workloads have at most that are about kinds of which there are never more.
const incompressible = 20_000

// Plan returns the steps in their order.
func Plan(o Options) ([]Step, error) {
	for _, name := range o.Workloads {
		if _, err := phase.Find(name); err != nil {
			return nil, err
		}
	}
	for _, name := range o.Clients {
		if !slices.Contains(client.Names(), name) {
			return nil, fmt.Errorf("no client %q (there are: %q)", name, client.Names())
		}
	}
	switch {
	case o.Objects <= 0:
		return nil, fmt.Errorf("%d objects", o.Objects)
	case o.Rounds <= 0:
		return nil, fmt.Errorf("%d rounds", o.Rounds)
	case o.Drift < 0 || o.Drift > 4:
		return nil, fmt.Errorf("drift %v is not within 0 to 4", o.Drift)
	case o.Burst < 0:
		return nil, fmt.Errorf("a burst of %d modifications", o.Burst)
	}
	var steps []Step
	for _, w := range phase.Workloads {
		if o.Workloads != nil && !slices.Contains(o.Workloads, w.Name) {
			continue
		}
		s := Step{Workload: w, Objects: o.Objects, Burst: o.Burst, Rounds: o.Rounds, Drift: o.Drift, Seed: o.Seed}
		if o.Full {
			s.Objects, s.Burst = 100_000, 200_000
		}
		if o.Full && (w.Name == "pods-decode" || w.Name == "reconcile") {
			s.Objects = 50_000
		}
		if w.Name == "secrets" || w.Name == "configmaps" || w.Name == "crs" {
			s.Objects, s.Burst = min(s.Objects, incompressible), 0
		}
		if w.Name != "pods" && !o.Full {
			s.Rounds = min(s.Rounds, 2) // the rest is there to be looked at; what is compared most gets the time
		}
		s.Run = o.among(w)
		if len(s.Run) > 0 {
			steps = append(steps, s)
		}
	}
	if o.Full && len(steps) > 0 && steps[0].Name == "pods" && slices.Contains(steps[0].Run, client.TarnLean) {
		million := steps[0]
		million.Objects, million.Burst, million.Rounds, million.Run = 1_000_000, 0, 1, []string{client.TarnLean}
		steps = append(steps, million)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("none of the clients %q is for any of the workloads %q", o.Clients, o.Workloads)
	}
	return steps, nil
}

// among returns the clients that run a workload, in the order of tables.
func (o Options) among(w phase.Workload) []string {
	var names []string
	for _, name := range w.Clients {
		switch {
		case o.Clients != nil && slices.Contains(o.Clients, name),
			o.Clients == nil && (w.Default == nil || o.Full || slices.Contains(w.Default, name)):
			names = append(names, name)
		}
	}
	return names
}
