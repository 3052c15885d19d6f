package tarnprom_test

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/tarnprom"
	"github.com/tarn-dev/tarn/tarntest"
)

// Metrics are registered once and given to a hub (tarn.WithMetrics) or, as here, to one informer.
func Example() {
	src := tarntest.NewSource(tarntest.JSON[gadget]())
	src.Add(gadgetNamed("one"))
	src.Add(gadgetNamed("two"))
	metrics, registry := tarnprom.New(), prometheus.NewRegistry()
	registry.MustRegister(metrics)
	gadgets, err := tarn.New[*gadget](src, tarntest.JSON[gadget](), tarn.Name("gadgets"), tarn.ReportTo(metrics))
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- gadgets.Run(ctx) }()
	if err := gadgets.WaitSynced(ctx); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tarn_objects" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	cancel()
	<-done
	// Output: tarn_objects 2
}
