package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	etcdversion "go.etcd.io/etcd/api/v3/version"
	"k8s.io/component-base/version"
)

// options is what can be said on the command line.
type options struct {
	dataDir         string
	kubeconfig      string
	securePort      int
	etcdPort        int
	keepCredentials bool
	exitWithStdin   bool
	verbose         bool
	// apiserver are the arguments after --, for kube-apiserver.
	apiserver []string
}

const usage = `devcluster runs a real etcd and a real kube-apiserver in one process on 127.0.0.1.

There are no nodes, no scheduler and no controllers: what you create stays as you created it. RBAC is on; the kubeconfig
is an administrator's. When the server is ready, devcluster prints

  kubeconfig: PATH
  server: https://127.0.0.1:PORT
  etcd: http://127.0.0.1:PORT
  ready

on standard output and runs until Ctrl-C or SIGTERM. Progress goes to standard error.

Usage:
  devcluster [flags] [-- kube-apiserver flags]
  devcluster assets DIR

Examples:
  devcluster                                     free ports, all data gone at exit
  devcluster --data-dir ./data --secure-port 6443
  devcluster --kubeconfig ./kc &                 then: kubectl --kubeconfig ./kc get namespaces
  devcluster -- --emulated-version=1.34 --feature-gates=WatchList=false
                                                 act as an older server without streaming lists
  devcluster -- --watch-cache=false              answer lists and watches from etcd
  devcluster assets ./bin                        put etcd and kube-apiserver into ./bin; then run any
                                                 envtest suite with KUBEBUILDER_ASSETS=$PWD/bin

A flag after -- replaces devcluster's own for kube-apiserver; feature gates and admission plugins are joined. The feature
ShardedListAndWatch is on unless said otherwise. Started under the name etcd or kube-apiserver, this program is just
that, with its flags.

Flags:
`

// parse reads the command line. It returns nil options where the answer has been printed already.
func parse(args []string) (*options, error) {
	var o options
	fs := pflag.NewFlagSet("devcluster", pflag.ContinueOnError)
	fs.SortFlags = false
	fs.Usage = func() {}
	fs.StringVar(&o.dataDir, "data-dir", "", "keep all state in this `folder`, and find it there again; by default a temporary\none that is removed at exit")
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "write the kubeconfig to this `file` (by default: kubeconfig in the data folder)")
	fs.IntVar(&o.securePort, "secure-port", 0, "`port` of kube-apiserver (0 = a free one)")
	fs.IntVar(&o.etcdPort, "etcd-port", 0, "client `port` of etcd (0 = a free one)")
	fs.BoolVar(&o.keepCredentials, "keep-credentials", false, "use the credentials of the last start in the same data folder, so that its\n"+
		"kubeconfig stays valid; by default they are made anew at each start")
	fs.BoolVar(&o.exitWithStdin, "exit-with-stdin", false, "end when standard input is closed: a program that starts devcluster with a\npipe there never leaves it behind")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "log to standard error instead of devcluster.log in the data folder")
	showVersion := fs.Bool("version", false, "print the versions and exit")
	help := fs.BoolP("help", "h", false, "print this and exit")

	if err := fs.Parse(args); err != nil {
		return nil, fmt.Errorf("%w; see devcluster --help", err)
	}
	switch {
	case *help:
		fmt.Print(usage, fs.FlagUsages())
		return nil, nil
	case *showVersion:
		fmt.Printf("kube-apiserver %s\netcd %s\n", version.Get().GitVersion, etcdversion.Version)
		return nil, nil
	}
	o.apiserver = fs.Args()
	if dash := fs.ArgsLenAtDash(); len(o.apiserver) > 0 && dash != 0 {
		return nil, fmt.Errorf("unknown argument %q: kube-apiserver's flags come after --; see devcluster --help", o.apiserver[0])
	}
	if o.keepCredentials && o.dataDir == "" {
		return nil, errors.New("--keep-credentials needs --data-dir")
	}
	return &o, nil
}

// progress is where devcluster itself speaks: standard error as it was at the start, for the logs may go elsewhere later.
var progress = os.Stderr
