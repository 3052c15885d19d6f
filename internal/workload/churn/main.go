// Command churn changes what a cluster holds until so many modifications were accepted. Tests run it as a process of its own,
// because making realistic objects under the race detector takes longer than everything that is tested with them.
//
// It prints how many were accepted so far, a line every now and then and at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/tarn-dev/tarn/internal/workload"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("churn: ")
	kubeconfig := flag.String("kubeconfig", "", "file with the address of the API server")
	custom := flag.Bool("custom", false, "change custom objects, not pods")
	total := flag.Int("total", 1000, "how many modifications the server has to accept")
	generator := workload.Options{}
	flag.Uint64Var(&generator.Seed, "seed", 0, "the generator's seed, as when the cluster was filled")
	flag.IntVar(&generator.Pods, "pods", 0, "the number of pods that the cluster was filled with")
	flag.IntVar(&generator.CustomObjects, "objects", 0, "the number of custom objects that it was filled with")
	o := workload.ChurnOptions{Mix: workload.Mix{Status: 50, Label: 15, Annotation: 10, Spec: 5, Delete: 10, Create: 10}}
	flag.StringVar(&o.EtcdURL, "etcd", "", "write to the etcd at this URL, past the API server")
	flag.Float64Var(&o.Rate, "rate", 0, "modifications per second; negative is as fast as the server takes them")
	flag.Parse()
	if *custom {
		o.Kind = workload.CustomObjects
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := churn(ctx, *total, func(limit int, progress func(workload.ChurnCounts)) error {
		// Another seed each round: the same one would be refused the same modifications for ever.
		o.Limit, o.Seed, o.Progress = limit, o.Seed+1, progress
		_, err := workload.Churn(ctx, cfg, workload.New(generator), o)
		return err
	}); err != nil {
		log.Fatal(err)
	}
}

// churn runs rounds until total modifications were accepted: of each round's, some are refused.
func churn(ctx context.Context, total int, round func(limit int, progress func(workload.ChurnCounts)) error) error {
	for accepted := 0; accepted < total && ctx.Err() == nil; {
		before := accepted
		err := round(total-accepted, func(c workload.ChurnCounts) {
			accepted = before + c.Accepted()
			if c.Total()%50 == 0 {
				fmt.Println(accepted)
			}
		})
		if err != nil {
			return err
		}
		fmt.Println(accepted)
	}
	return nil
}
