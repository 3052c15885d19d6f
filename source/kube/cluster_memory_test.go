//go:build devcluster

package kube_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

// Ensures that reading a list of 20,000 pods from a real server, in one piece, holds under 16 MB, compressed or not.
func TestCluster_List_MemoryDoesNotGrow(t *testing.T) {
	const n = 20_000
	c := devcluster.Start(t)
	begin := time.Now()
	if err := workload.Store(t.Context(), c.EtcdURL(), workload.New(workload.Options{Pods: n}), workload.Pods); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pods stored in %v", n, time.Since(begin))
	for name, off := range map[string]bool{"compressed": false, "plain": true} {
		cfg := c.Config()
		cfg.DisableCompression = off
		src := clusterSource(t, cfg, typedPods)
		if _, err := src.Mapping(t.Context()); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		items, size, peak := readAndDrop(t, src, metav1.ListOptions{})
		t.Logf("%s: %d pods, %.1f MB in %v: at most %.1f MB held", name, items, float64(size)/1e6, time.Since(begin), float64(peak)/1e6)
		if items != n || peak > maxReading {
			t.Errorf("%s: %d pods, %d bytes held, want at most %d", name, items, peak, maxReading)
		}
	}
}
