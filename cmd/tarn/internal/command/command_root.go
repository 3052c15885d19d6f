// Package command is the command line of tarn: a file per subcommand, with its options, and what they share.
package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
)

// Main runs the command with the given arguments until it ends, or SIGINT or SIGTERM ends it, and returns the exit code. A
// second signal kills the process.
func Main(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	return Execute(ctx, args, genericiooptions.IOStreams{In: in, Out: out, ErrOut: errOut})
}

// Execute runs the command until it ends or ctx does, which watching takes as the wish to end, and returns the exit code.
// Of an error it prints one line.
func Execute(ctx context.Context, args []string, streams genericiooptions.IOStreams) int {
	root := NewRoot(streams)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(streams.ErrOut, "tarn:", oneLine(err.Error()))
	return 1
}

// client-go's own lines are of no use to who reads a table, and what matters comes back as errors. klog has one logger per
// process, which must not change while anything uses it: so it is set before anything can.
func init() { klog.SetSlogLogger(slog.New(slog.DiscardHandler)) }

// NewRoot returns the command with all subcommands. Everything it writes goes to streams.
func NewRoot(streams genericiooptions.IOStreams) *cobra.Command {
	root := &cobra.Command{
		Use:   "tarn",
		Short: "See what changes in a Kubernetes cluster, field by field",
		Long: "tarn keeps a local copy of Kubernetes resources in step with the server and shows every change to them:\n" +
			"which object, which of its fields, from what to what.",
		Version:       readVersion().String(),
		SilenceErrors: true, SilenceUsage: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return &usageError{fmt.Errorf("there is no command %q", args[0]), "tarn"}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &usageError{err, cmd.CommandPath()} })
	root.AddCommand(newWatch(streams), newVersion(streams))
	return root
}

// usageError is a mistake in the command line.
type usageError struct {
	error
	command string
}

// Error returns one line that says where help is.
func (e *usageError) Error() string { return fmt.Sprintf("%v; see %q", e.error, e.command+" --help") }

// Unwrap returns the mistake.
func (e *usageError) Unwrap() error { return e.error }
