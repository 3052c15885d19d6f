// Command devcluster runs a real etcd and a real kube-apiserver in one process on loopback, for tests and demos. It is
// multi-call: started under the name etcd or kube-apiserver it is just that program, with upstream's flags. See
// devcluster --help.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // time zones of CronJobs, wherever the binary runs

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the client metrics that kube-apiserver serves
	_ "k8s.io/component-base/metrics/prometheus/version"  // its version metric
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	switch filepath.Base(os.Args[0]) {
	case etcdName:
		etcdmain.Main(os.Args)
		return
	case apiserverName:
		os.Exit(cli.Run(app.NewAPIServerCommand()))
	}
	if err := devcluster(os.Args[1:]); err != nil {
		fmt.Fprintf(progress, "devcluster: %v\n", err)
		os.Exit(1)
	}
}

// devcluster is the program under its own name.
func devcluster(args []string) error {
	if len(args) > 0 && args[0] == "assets" {
		return assets(args[1:])
	}
	opts, err := parse(args)
	if err != nil || opts == nil {
		return err
	}
	return run(opts)
}
