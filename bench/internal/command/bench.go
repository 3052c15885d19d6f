package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
	"github.com/tarn-dev/tarn/bench/internal/report"
	"github.com/tarn-dev/tarn/bench/internal/run"
)

type benchOptions struct {
	run.Options
	server, json, check, svg, from string
}

// devclusterBurst is what a real API server on the same two cores takes in some seconds.
const devclusterBurst = 3000

func newBench() *cobra.Command {
	var o benchOptions
	var workloads []string
	for _, w := range phase.Workloads {
		workloads = append(workloads, w.Name)
	}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Compare tarn with client-go's informers and what is built on them",
		Long: `Compare tarn with client-go's informers and what is built on them.

A process of its own serves realistic objects, made and encoded in advance. Then each client runs in a
process of its own, in turn, several rounds: it takes a first copy, lists again after the server forgot
what it knew, stands a burst of modifications, and is read from. The table has the median of the rounds and
how it compares with client-go (or the workload's own baseline): 1/20 is a twentieth, 20x is twenty times.

Clients:   ` + strings.Join(client.Names(), ", ") + `
Workloads: ` + strings.Join(workloads, ", ") + `

docs/benchmarks.md says what each of them, and each metric, is.`,
		Example: `  bench                                           # 10,000 objects, under 8 minutes on two cores
  bench --workloads pods --clients client-go,tarn-lean --objects 50000
  bench --drift 0 --workloads pods                # siblings that are clones; 2: twice as different as usual
  bench --full --json full.json --check bounds.json
  bench --from full.json --svg chart.svg          # from an earlier run
  bench --server devcluster --workloads pods      # against a real API server`,
		Args:         cobra.NoArgs,
		SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.IntVar(&o.Objects, "objects", 10_000, "number of objects (at most 20,000 of secrets, config maps and custom resources)")
	f.IntVar(&o.Burst, "burst", 50_000, "number of modifications in a burst; 0 is none")
	f.Float64Var(&o.Drift, "drift", 1, "how much the pods of one workload differ: 0 is clones, 1 usual, 2 twice that")
	f.StringSliceVar(&o.Clients, "clients", nil, "clients to run, by name (default: those that each workload is about)")
	f.StringSliceVar(&o.Workloads, "workloads", nil, "workloads to run, by name (default all)")
	f.IntVar(&o.Rounds, "rounds", 3, "number of rounds")
	f.Uint64Var(&o.Seed, "seed", 1, "seed of the objects")
	f.BoolVar(&o.Full, "full", false, "everything at full size: 100,000 objects, and 1,000,000 for tarn; takes up to two hours")
	f.StringVar(&o.server, "server", "bench", "bench, or devcluster for a real API server (built by make devcluster)")
	f.StringVar(&o.json, "json", "", "write the figures to this file, one JSON object per line")
	f.StringVar(&o.check, "check", "", "compare the figures with the bounds in this file, and exit 1 where one is missed")
	f.StringVar(&o.svg, "svg", "", "draw a chart of the pods workload into this file")
	f.StringVar(&o.from, "from", "", "run nothing: take the figures from this file, written by --json")
	return cmd
}

func (o *benchOptions) run(cmd *cobra.Command) error {
	figures, failed := o.figures(cmd)
	if len(figures) == 0 {
		return failed
	}
	if err := figures.WriteTable(cmd.OutOrStdout()); err != nil {
		return err
	}
	errs := []error{failed}
	if o.json != "" {
		errs = append(errs, write(o.json, figures.WriteJSON))
	}
	if o.svg != "" {
		errs = append(errs, write(o.svg, figures.WriteSVG))
	}
	if o.check != "" {
		errs = append(errs, o.checked(cmd, figures))
	}
	return errors.Join(errs...)
}

func (o *benchOptions) figures(cmd *cobra.Command) (report.Figures, error) {
	if o.from != "" {
		f, err := os.Open(o.from)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return report.ReadJSON(f)
	}
	if o.server == "devcluster" {
		if o.Workloads == nil {
			o.Workloads = []string{"pods"}
		}
		if !cmd.Flags().Changed("burst") {
			o.Burst = devclusterBurst
		}
	}
	steps, err := run.Plan(o.Options)
	if err != nil {
		return nil, err
	}
	servers := run.Servers(run.Processes)
	switch o.server {
	case "bench":
	case "devcluster":
		servers = run.DevCluster
	default:
		return nil, fmt.Errorf("no server %q (there are: bench, devcluster)", o.server)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	return run.All(ctx, steps, servers, cmd.ErrOrStderr())
}

func (o *benchOptions) checked(cmd *cobra.Command, figures report.Figures) error {
	text, err := os.ReadFile(o.check)
	if err != nil {
		return err
	}
	bounds, err := report.ParseBounds(text)
	if err != nil {
		return fmt.Errorf("%s: %w", o.check, err)
	}
	fmt.Fprintln(cmd.OutOrStdout())
	return bounds.Check(figures, cmd.OutOrStdout())
}
