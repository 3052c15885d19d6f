// Package command is the command line of the benchmark.
package command

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	crlog "sigs.k8s.io/controller-runtime/pkg/log"
)

// What libraries log would be mixed with what is measured, and would cost time.
func init() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler))
	crlog.SetLogger(logr.Discard())
}

// Main runs the command until it ends, or SIGINT or SIGTERM ends it, and returns the exit code.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	return Execute(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}

// Execute runs the command and returns the exit code. Of an error it prints one line.
func Execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(errOut, "bench:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	root := newBench()
	root.AddCommand(newServe(), newClient())
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}
