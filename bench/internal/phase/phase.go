// Package phase runs one client through what is measured: it takes a first copy, lists again, stands a burst, is read.
package phase

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/measure"
	"github.com/tarn-dev/tarn/bench/internal/serve"
	"github.com/tarn-dev/tarn/internal/workload"
)

// Options says what is to be run.
type Options struct {
	// Client is a name of package client, Workload a name of [Workloads].
	Client, Workload string
	// Objects is how many objects the server has, Burst how many modifications a burst has.
	Objects, Burst int
	// Config is the server's, Control what makes it do things.
	Config  *rest.Config
	Control serve.Control
}

// Workload is what is read, and how.
type Workload struct {
	// Name is the workload's, fixed.
	Name string
	// Kind is what is read.
	Kind workload.Kind
	// Baseline is the client that others are compared with.
	Baseline string
	// Clients are those that the workload is made for.
	Clients []string
	// Default is the part of Clients that runs unless others are asked for; nil is all.
	Default []string

	index, keep bool
	mode        client.Mode
	run         func(*subject) error
}

// Workloads are all of them, in the order of tables.
var Workloads = []Workload{
	{
		Name: "pods", Kind: workload.Pods, Baseline: client.ClientGo, Clients: client.Names(), run: (*subject).pods,
	},
	{
		Name: "pods-decode", Kind: workload.Pods, Baseline: client.ClientGo, Clients: copies(), mode: client.DecodeNew,
		Default: []string{client.ClientGo, client.TarnLive, client.TarnLean}, run: (*subject).sync,
	},
	{
		Name: "reads", Kind: workload.Pods, Baseline: client.ClientGo, Clients: copies(), index: true, keep: true, run: (*subject).reads,
		Default: []string{client.ClientGo, client.ControllerRuntime, client.StateDB, client.TarnLive, client.TarnLean},
	},
	{
		Name: "reconcile", Kind: workload.Pods, Baseline: client.ControllerRuntime, Clients: copies(), index: true, run: (*subject).reconcile,
		Default: []string{client.ControllerRuntime, client.TarnLive, client.TarnLean},
	},
	{
		Name: "backlog", Kind: workload.Pods, Baseline: client.ClientGo, Clients: copies(), run: (*subject).backlog,
		Default: []string{client.ClientGo, client.TarnLive, client.TarnLean},
	},
	{
		Name: "secrets", Kind: workload.Secrets, Baseline: client.ClientGo, Clients: client.Names(), run: (*subject).collection,
		Default: []string{client.ClientGo, client.TarnLean},
	},
	{
		Name: "configmaps", Kind: workload.ConfigMaps, Baseline: client.ClientGo, Clients: client.Names(), run: (*subject).collection,
		Default: []string{client.ClientGo, client.TarnLean},
	},
	{
		Name: "crs", Kind: workload.CustomObjects, Baseline: client.ClientGoDynamic, run: (*subject).collection,
		Clients: without(client.Names(), client.ClientGo, client.ClientGoStrip, client.StateDB),
		Default: []string{client.ClientGoDynamic, client.TarnLean},
	},
}

// copies returns the clients that can be read from.
func copies() []string {
	return without(client.Names(), client.Empty, client.LimitRead, client.LimitWalk)
}

func without(names []string, drop ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(drop, n) })
}

// Find returns the workload of that name.
func Find(name string) (Workload, error) {
	var names []string
	for _, w := range Workloads {
		if w.Name == name {
			return w, nil
		}
		names = append(names, w.Name)
	}
	return Workload{}, fmt.Errorf("no workload %q (there are: %q)", name, names)
}

// subject is the client that is measured.
type subject struct {
	Options
	ctx    context.Context
	copy   client.Copy
	sink   *client.Sink
	result Result
}

// Run measures one client with one workload. It takes the process to be its own: memory is that of the whole process.
func Run(ctx context.Context, o Options) (Result, error) {
	w, err := Find(o.Workload)
	if err != nil {
		return Result{}, err
	}
	if !slices.Contains(w.Clients, o.Client) {
		return Result{}, fmt.Errorf("workload %s is not for %s", w.Name, o.Client)
	}
	s := &subject{Options: o, sink: client.NewSink(w.mode, w.keep)}
	s.copy, err = client.New(o.Client, client.Options{
		Config: o.Config, Kind: w.Kind, Objects: o.Objects, Index: w.index, Sink: s.sink,
	})
	if err != nil {
		return Result{}, err
	}
	if s.copy == nil {
		return s.empty()
	}
	if err := measure.ResetPeak(); err != nil {
		return Result{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s.ctx = ctx
	ended := make(chan struct{})
	before := measure.Now()
	go func() {
		defer close(ended)
		if err := s.copy.Run(ctx); err != nil {
			cancel(err)
		}
	}()
	err = s.synced(before)
	if err == nil {
		err = w.run(s)
	}
	cancel(errors.New("the run is over"))
	<-ended
	return s.result, errors.Join(err, s.sink.Err())
}

func (s *subject) add(phase, metric string, value float64) {
	Unit(metric)
	s.result.Figures = append(s.result.Figures, Figure{phase, metric, value})
}

func (s *subject) note(format string, args ...any) {
	s.result.Notes = append(s.result.Notes, fmt.Sprintf(format, args...))
}

// empty measures the program without a client.
func (s *subject) empty() (Result, error) {
	peak, err := measure.PeakRSS()
	if err != nil {
		return Result{}, err
	}
	s.add("sync", SyncCPU, measure.Now().CPU.Seconds())
	s.add("sync", SyncPeakRSS, float64(peak))
	return s.result, s.heap()
}

// heap measures what is kept once there is nothing to do.
func (s *subject) heap() error {
	s.add("sync", HeapLive, float64(measure.LiveHeap()))
	s.add("sync", GCCPU, measure.GC().Seconds())
	rss, err := measure.RSS()
	s.add("sync", SteadyRSS, float64(rss))
	return err
}

// peak adds the peak of the resident memory.
func (s *subject) peak(phase, metric string) error {
	peak, err := measure.PeakRSS()
	s.add(phase, metric, float64(peak))
	return err
}
