//go:build devcluster

package kube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

// storePods puts n pods into etcd as an API server does: 40,000 requests to the server itself would take minutes.
func storePods(t *testing.T, etcdURL string, n int) {
	t.Helper()
	type put struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value"`
	}
	type operation struct {
		Put put `json:"requestPut"`
	}
	const batch = 100 // etcd takes 128 operations and 1.5 MiB at once
	g := workload.New(workload.Options{Pods: n})
	var batchOf []operation
	flush := func() {
		body, err := json.Marshal(map[string]any{"success": batchOf})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.Post(etcdURL+"/v3/kv/txn", jsonMedia, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("etcd: %s: %s", resp.Status, answer)
		}
		batchOf = batchOf[:0]
	}
	for pod := range g.All(workload.Pods) {
		pod.SetResourceVersion("") // etcd keeps it
		pod.GetObjectKind().SetGroupVersionKind(workload.Pods.GVK())
		batchOf = append(batchOf, operation{put{
			Key:   fmt.Appendf(nil, "/registry/pods/%s/%s", pod.GetNamespace(), pod.GetName()),
			Value: envelope(t, protobufMedia, runtime.Object(pod)),
		}})
		if len(batchOf) == batch {
			flush()
		}
	}
	if len(batchOf) > 0 {
		flush()
	}
	http.DefaultClient.CloseIdleConnections()
}

// Ensures that reading a list of 20,000 pods from a real server, in one piece, holds under 16 MB, compressed or not.
func TestCluster_List_MemoryDoesNotGrow(t *testing.T) {
	const n = 20_000
	c := devcluster.Start(t)
	begin := time.Now()
	storePods(t, c.EtcdURL(), n)
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
