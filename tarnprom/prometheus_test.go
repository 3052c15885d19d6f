package tarnprom_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/tarnprom"
	"github.com/tarn-dev/tarn/tarntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type gadget struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func gadgetNamed(name string) *gadget {
	return &gadget{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}}
}

// Ensures that every measurement reaches Prometheus under its name, with the informer's and the subscription's, that the
// whole passes the linter, and that a stopped informer is not reported any more.
func TestMetrics_Collect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := tarntest.NewSource(tarntest.JSON[gadget](), tarntest.StartAt(100))
		src.Add(gadgetNamed("one"))
		src.Add([]byte(`{"metadata":{"namespace":"a","name":"bad"},"size":"big"}`))
		metrics := tarnprom.New()
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(metrics)
		i, err := tarn.New[*gadget](src, tarntest.JSON[gadget](), tarn.Name("gadgets"), tarn.ReportTo(metrics),
			tarn.Logger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}
		handle := tarn.HandlerFunc[*gadget](func(_ context.Context, e tarn.Event[*gadget]) {
			_, _ = e.New() // one of them does not decode
		})
		if _, err := i.Subscribe(handle, tarn.SubscriberName("mine")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- i.Run(ctx) }()
		synctest.Wait()
		src.Add(gadgetNamed("two"))
		synctest.Wait()
		time.Sleep(7 * time.Second) // fake time
		synctest.Wait()

		want := `
# HELP tarn_events_total Watch events by type.
# TYPE tarn_events_total counter
tarn_events_total{informer="gadgets",type="ADDED"} 1
# HELP tarn_failed_objects Objects that are stored but could not be decoded, transformed or indexed.
# TYPE tarn_failed_objects gauge
tarn_failed_objects{informer="gadgets"} 1
# HELP tarn_list_items_total Objects that lists brought.
# TYPE tarn_list_items_total counter
tarn_list_items_total{informer="gadgets"} 2
# HELP tarn_objects Objects stored.
# TYPE tarn_objects gauge
tarn_objects{informer="gadgets",namespace=""} 3
# HELP tarn_resource_version The last resourceVersion seen, where it is a number.
# TYPE tarn_resource_version gauge
tarn_resource_version{informer="gadgets",namespace=""} 103
# HELP tarn_seconds_since_update Seconds since anything last came: an object or a bookmark.
# TYPE tarn_seconds_since_update gauge
tarn_seconds_since_update{informer="gadgets",namespace=""} 7
# HELP tarn_subscription_delivered_total Changes taken up by the handler, or by its filter.
# TYPE tarn_subscription_delivered_total counter
tarn_subscription_delivered_total{informer="gadgets",subscription="mine"} 3
# HELP tarn_synced 1 if the whole collection has been stored since the informer was started.
# TYPE tarn_synced gauge
tarn_synced{informer="gadgets"} 1
`
		err = testutil.GatherAndCompare(registry, strings.NewReader(want), "tarn_events_total", "tarn_failed_objects", "tarn_list_items_total",
			"tarn_objects", "tarn_resource_version", "tarn_seconds_since_update", "tarn_subscription_delivered_total", "tarn_synced")
		if err != nil {
			t.Error(err)
		}
		if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v %v", problems, err)
		}

		src.OnRequest(func(context.Context, tarntest.Request) error { return errors.New("down") })
		src.Disconnect(errors.New("cut"))
		synctest.Wait()
		if n := testutil.CollectAndCount(metrics, "tarn_last_error_info"); n != 1 {
			t.Errorf("%d last errors while the source is down", n)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := testutil.CollectAndCount(metrics, "tarn_objects"); n != 0 {
			t.Errorf("%d informers reported after the end", n)
		}
	})
}
