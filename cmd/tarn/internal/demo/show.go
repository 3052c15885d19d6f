package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/tarn-dev/tarn/cmd/tarn/internal/command"
	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

// demo is what is shown.
type demo struct {
	// pods is how many there are, with all that goes with them; rate how many changes there are a second.
	pods int
	rate float64
	// limit is how long is watched; 0 is until ctx ends.
	limit time.Duration
}

// show runs the demo until ctx ends, or its time is over, and leaves nothing behind. An end by ctx is no error.
func (d demo) show(ctx context.Context, out, errOut io.Writer) (err error) {
	s := &steps{w: errOut}
	defer func() {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = nil
		}
	}()

	s.begin("starting a control plane (etcd and kube-apiserver)")
	cluster, err := devcluster.New(ctx)
	if err != nil {
		return s.broken(err)
	}
	defer func() {
		s.begin("ending the control plane")
		if closed := cluster.Close(); closed != nil {
			err = errors.Join(err, s.broken(closed))
			return
		}
		s.end("gone, with all its files")
	}()
	s.end("ready at " + cluster.Config().Host)

	generator := workload.New(workload.Options{Pods: d.pods})
	s.begin(fmt.Sprintf("filling it with %d pods and what goes with them", d.pods))
	total := 0
	progress := func(kind workload.Kind, done, of int) {
		total++
		s.progress("%s %d of %d", kind, done, of)
	}
	if err := workload.Fill(ctx, cluster.Config(), generator, workload.FillOptions{Progress: progress}); err != nil {
		return s.broken(err)
	}
	s.end(fmt.Sprintf("%d objects", total))

	watch, cancel := context.WithCancel(ctx)
	defer cancel()
	if d.limit > 0 {
		watch, cancel = context.WithTimeout(ctx, d.limit)
		defer cancel()
	}
	args := []string{"watch", "pods,deployments", "-A"}
	fmt.Fprintf(errOut, "changing it %g times a second, and watching: tarn watch pods,deployments -A\n\n", d.rate)
	var changing sync.WaitGroup
	var failed error
	changing.Go(func() {
		if _, failed = workload.Churn(watch, cluster.Config(), generator, workload.ChurnOptions{Rate: d.rate}); failed != nil {
			cancel() // nothing more to see
		}
	})
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: out, ErrOut: errOut}
	code := command.Execute(watch, append(args, "--kubeconfig", cluster.Kubeconfig()), streams)
	cancel()
	changing.Wait()
	fmt.Fprintln(errOut)
	if code != 0 {
		return errors.Join(failed, fmt.Errorf("tarn watch ended with code %d", code))
	}
	return failed
}

// steps tells of one step after the other, and how long each took.
type steps struct {
	w       io.Writer
	what    string
	started time.Time
	told    time.Time
}

func (s *steps) terminal() bool {
	f, ok := s.w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// begin starts a step.
func (s *steps) begin(what string) {
	s.what, s.started = what, time.Now()
	s.told = s.started
	if s.terminal() {
		fmt.Fprint(s.w, what+" ...")
	} else {
		fmt.Fprintln(s.w, what+" ...")
	}
}

// progress tells how far the step is: on a terminal in its line, else on a new one every few seconds.
func (s *steps) progress(format string, args ...any) {
	every := 5 * time.Second
	if s.terminal() {
		every = 100 * time.Millisecond
	}
	if time.Since(s.told) < every {
		return
	}
	s.told = time.Now()
	text := fmt.Sprintf(format, args...)
	if s.terminal() {
		fmt.Fprintf(s.w, "\r\x1b[K%s ... %s", s.what, text)
	} else {
		fmt.Fprintf(s.w, "  %s\n", text)
	}
}

// end ends the step.
func (s *steps) end(result string) {
	took := time.Since(s.started).Seconds()
	if s.terminal() {
		fmt.Fprintf(s.w, "\r\x1b[K%s: %s (%.1f s)\n", s.what, result, took)
	} else {
		fmt.Fprintf(s.w, "  %s (%.1f s)\n", result, took)
	}
}

// broken ends the step with an error, which it returns.
func (s *steps) broken(err error) error {
	fmt.Fprintln(s.w)
	return fmt.Errorf("%s: %w", s.what, err)
}
