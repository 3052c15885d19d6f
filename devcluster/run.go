package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"

	"github.com/tarn-dev/tarn/devcluster/internal/credentials"
	"github.com/tarn-dev/tarn/devcluster/internal/kubeconfig"
)

// Ending takes at most the sum of these: what has not ended by then ends with the process. Nothing is lost by that, etcd
// has written down whatever it acknowledged.
const (
	apiserverGrace = 3 * time.Second
	etcdGrace      = 1 * time.Second
)

// errStopped says that somebody asked devcluster to end, which is no failure.
var errStopped = errors.New("stopped")

// run runs the control plane until a signal, or until one of the two servers fails.
func run(o *options) (err error) {
	started := time.Now()
	// The command has the signal handler of the process; its context ends at the first signal.
	apiserver := app.NewAPIServerCommand()
	ctx := apiserver.Context()
	if o.exitWithStdin {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			requestShutdown(ctx)
		}()
	}

	dir, err := openDataDir(o.dataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer func() { err = errors.Join(err, dir.close()) }()
	if !o.verbose {
		logFile, err := os.OpenFile(dir.file("devcluster.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		os.Stderr = logFile // both servers log there; progress still is the old one
	}

	creds, err := openCredentials(dir.file("credentials"), o.keepCredentials)
	if err != nil {
		return err
	}
	etcdPort, err := choosePort(o.etcdPort)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	securePort, err := choosePort(o.securePort)
	if err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	etcdURL, serverURL := "http://"+address(etcdPort), "https://"+address(securePort)
	args, err := apiserverArgs(securePort, etcdURL, creds, dir.file("credentials"), o.apiserver)
	if err != nil {
		return err
	}

	say(started, "starting etcd on %s", address(etcdPort))
	etcd, err := startEtcd(ctx, dir.file("etcd"), etcdPort)
	if err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	defer within(etcdGrace, etcd.Close)

	say(started, "starting kube-apiserver on %s", address(securePort))
	apiserver.SetArgs(args)
	failed := make(chan error, 2)
	apiserverDone := make(chan struct{})
	go func() {
		defer close(apiserverDone)
		if err := cli.RunNoErrOutput(apiserver); err != nil {
			failed <- fmt.Errorf("kube-apiserver: %w", err)
		} else if ctx.Err() == nil {
			failed <- errors.New("kube-apiserver ended by itself")
		}
	}()
	go func() {
		if err, ok := <-etcd.Err(); ok {
			failed <- fmt.Errorf("etcd: %w", err)
		}
	}()
	defer within(apiserverGrace, func() {
		requestShutdown(ctx)
		<-apiserverDone
	})

	switch err := waitReady(ctx, started, newProbe(securePort, creds), failed); {
	case errors.Is(err, errStopped):
		return nil
	case err != nil:
		return err
	}
	path := o.kubeconfig
	if path == "" {
		path = dir.file("kubeconfig")
	}
	if err := kubeconfig.Write(path, serverURL, creds.CA, creds.Token); err != nil {
		return err
	}
	say(started, "ready; Ctrl-C ends it")
	fmt.Printf("kubeconfig: %s\nserver: %s\netcd: %s\nready\n", path, serverURL, etcdURL)

	select {
	case <-ctx.Done():
		say(started, "ending")
		return nil
	case err := <-failed:
		return err
	}
}

// requestShutdown ends ctx, the process's. A second request would end the process on the spot, as a second Ctrl-C does.
func requestShutdown(ctx context.Context) {
	if ctx.Err() == nil {
		genericapiserver.RequestShutdown()
	}
}

// openCredentials returns the credentials of this start: new ones, or if asked to keep them the last start's.
func openCredentials(dir string, keep bool) (*credentials.Set, error) {
	if keep {
		set, err := credentials.Load(dir)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return set, err
		}
	}
	return credentials.Make(dir)
}

// waitReady waits until the server answers, and says every second what it waits for.
func waitReady(ctx context.Context, started time.Time, p *probe, failed <-chan error) error {
	poll, report := time.NewTicker(50*time.Millisecond), time.NewTicker(time.Second)
	defer poll.Stop()
	defer report.Stop()
	missing := errors.New("not asked yet")
	for {
		select {
		case <-ctx.Done():
			return errStopped
		case err := <-failed:
			return err
		case <-report.C:
			say(started, "kube-apiserver: %v", missing)
		case <-poll.C:
			if missing = p.ready(ctx); missing == nil {
				return nil
			}
		}
	}
}

// within runs f and returns when it has, or when the time is over.
func within(limit time.Duration, f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
	}
}

// say reports progress.
func say(started time.Time, format string, args ...any) {
	line := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
	fmt.Fprintf(progress, "devcluster: %5.1f s  %s\n", time.Since(started).Seconds(), line)
}
