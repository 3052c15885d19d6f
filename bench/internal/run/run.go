package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/tarn-dev/tarn/bench/internal/report"
	"github.com/tarn-dev/tarn/bench/internal/serve"
)

// Servers starts a server for a step; the default is a serving process.
type Servers func(ctx context.Context, s Step) (at Address, stop func() error, err error)

// Processes is the [Servers] of serving processes.
func Processes(ctx context.Context, s Step) (Address, func() error, error) {
	p, err := serveStep(ctx, s)
	if err != nil {
		return Address{}, nil, err
	}
	return p.Address, p.close, nil
}

// All runs the steps, each with its clients in turn and round by round, and returns what was measured. A client that fails
// does not keep the others from being measured: its error is part of the one that is returned in the end. What is being
// done is written to progress.
func All(ctx context.Context, steps []Step, servers Servers, progress io.Writer) (report.Figures, error) {
	r := &runner{servers: servers, progress: progress, began: time.Now()}
	for _, s := range steps {
		r.total += s.Rounds * len(s.Run)
	}
	var errs []error
	for _, s := range steps {
		if err := r.step(ctx, s); err != nil {
			errs = append(errs, err)
		}
		if ctx.Err() != nil {
			errs = append(errs, context.Cause(ctx))
			break
		}
	}
	return r.collected.Figures(), errors.Join(errs...)
}

type runner struct {
	servers   Servers
	progress  io.Writer
	began     time.Time
	at, total int
	collected report.Collection
}

func (r *runner) say(format string, args ...any) {
	elapsed := time.Since(r.began).Round(time.Second)
	fmt.Fprintf(r.progress, "[%*d/%d %6s] %s\n", len(fmt.Sprint(r.total)), r.at, r.total, elapsed, fmt.Sprintf(format, args...))
}

func (r *runner) step(ctx context.Context, s Step) (err error) {
	what := fmt.Sprintf("%s, %d objects", s.Name, s.Objects)
	r.say("%s: starting the server", what)
	at, stop, err := r.servers(ctx, s)
	if err != nil {
		r.at += s.Rounds * len(s.Run)
		return fmt.Errorf("%s: %w", what, err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	control := serve.Client{URL: at.Control}
	var errs []error
	noted := map[string]bool{}
	for round := range s.Rounds {
		for _, name := range s.Run {
			r.at++
			r.say("%s: %s, round %d of %d", what, name, round+1, s.Rounds)
			if err := control.Reset(ctx); err != nil {
				return err
			}
			result, err := runClient(ctx, s, name, at)
			if err != nil {
				r.say("failed: %v", err)
				errs = append(errs, err)
				continue
			}
			for _, f := range result.Figures {
				r.collected.Add(report.Key{Workload: s.Name, Objects: s.Objects, Phase: f.Phase, Metric: f.Metric, Client: name}, f.Value)
			}
			for _, note := range result.Notes {
				if note = name + ": " + note; !noted[note] {
					noted[note] = true
					r.say("%s", note)
				}
			}
			if ctx.Err() != nil {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}
