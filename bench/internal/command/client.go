package command

import (
	"encoding/json"
	"os"
	"runtime/pprof"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tarn-dev/tarn/bench/internal/phase"
	"github.com/tarn-dev/tarn/bench/internal/serve"
)

// newClient returns the process of one run of one client: it prints what it measured as JSON.
func newClient() *cobra.Command {
	var (
		o                   phase.Options
		server, kube, steer string
		profile             string
	)
	cmd := &cobra.Command{
		Use: "client NAME", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "Measure one client in this process",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Client = args[0]
			o.Config = &rest.Config{Host: server}
			if kube != "" {
				cfg, err := clientcmd.BuildConfigFromFlags("", kube)
				if err != nil {
					return err
				}
				o.Config = cfg
			}
			o.Control = serve.Client{URL: steer}
			if profile != "" {
				stop, err := profiled(profile)
				if err != nil {
					return err
				}
				defer stop()
			}
			result, err := phase.Run(cmd.Context(), o)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(result)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Workload, "workload", "pods", "workload")
	f.IntVar(&o.Objects, "objects", 10_000, "number of objects on the server")
	f.IntVar(&o.Burst, "burst", 50_000, "number of modifications in a burst")
	f.StringVar(&server, "server", "", "URL of the server")
	f.StringVar(&kube, "kubeconfig", "", "file that says where the server is, in place of --server")
	f.StringVar(&steer, "control", "", "URL of what makes the server do things")
	f.StringVar(&profile, "profile", "", "write profiles of the processor and of allocations to files of this name with .cpu and .mem behind it")
	return cmd
}

// profiled starts to profile the process, and returns what ends it and writes the profiles.
func profiled(name string) (stop func(), err error) {
	cpu, err := os.Create(name + ".cpu")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		cpu.Close()
		mem, err := os.Create(name + ".mem")
		if err != nil {
			return
		}
		defer mem.Close()
		_ = pprof.Lookup("allocs").WriteTo(mem, 0)
	}, nil
}
