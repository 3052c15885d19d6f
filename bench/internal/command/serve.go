package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/tarn-dev/tarn/bench/internal/phase"
	"github.com/tarn-dev/tarn/bench/internal/serve"
)

// newServe returns the serving process: it prints its URL when it is ready and ends when its input does.
func newServe() *cobra.Command {
	var (
		spec     serve.Spec
		workload string
	)
	cmd := &cobra.Command{
		Use: "serve", Hidden: true, Args: cobra.NoArgs,
		Short: "Serve a workload's objects until the input ends",
		RunE: func(cmd *cobra.Command, _ []string) error {
			w, err := phase.Find(workload)
			if err != nil {
				return err
			}
			spec.Kind = w.Kind
			return serveUntilEOF(cmd.Context(), spec, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f := cmd.Flags()
	f.StringVar(&workload, "workload", "pods", "workload")
	f.IntVar(&spec.Objects, "objects", 10_000, "number of objects")
	f.IntVar(&spec.Burst, "burst", 0, "number of modifications to make in advance")
	f.Float64Var(&spec.Drift, "drift", 1, "how much siblings differ")
	f.Uint64Var(&spec.Seed, "seed", 1, "seed of the objects")
	f.BoolVar(&spec.JSON, "json", false, "serve JSON")
	f.BoolVar(&spec.Protobuf, "protobuf", true, "serve protobuf")
	return cmd
}

func serveUntilEOF(ctx context.Context, spec serve.Spec, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		io.Copy(io.Discard, in)
		cancel()
	}()
	s, err := serve.New(ctx, spec)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: s, BaseContext: func(net.Listener) context.Context { return ctx }}
	fmt.Fprintln(out, "http://"+l.Addr().String())
	closed := make(chan error, 1)
	go func() {
		<-ctx.Done()
		closed <- server.Close()
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}
