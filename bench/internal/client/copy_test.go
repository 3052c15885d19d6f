package client_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/serve"
	"github.com/tarn-dev/tarn/internal/workload"
)

// Ensures that all clients end up with the same copy and answer the same reads alike, before and after a burst and a
// relist: else their figures would be of different things.
func TestCopy_Agree(t *testing.T) {
	const n = 60
	for _, kind := range []workload.Kind{workload.Pods, workload.Secrets, workload.ConfigMaps, workload.CustomObjects} {
		var mu sync.Mutex
		want := map[string][]int{}
		for _, name := range client.Names() {
			if !client.Reads(name) || kind == workload.CustomObjects && (name == client.ClientGo || name == client.ClientGoStrip || name == client.StateDB) {
				continue
			}
			t.Run(kind.String()+" "+name, func(t *testing.T) {
				t.Parallel() // the most of the time is spent in waiting before a relist
				s, err := serve.New(t.Context(), serve.Spec{Kind: kind, Objects: n, Drift: 1, Burst: 100, JSON: true, Protobuf: kind != workload.CustomObjects})
				if err != nil {
					t.Fatal(err)
				}
				h := httptest.NewServer(s)
				defer func() {
					h.CloseClientConnections()
					http.DefaultTransport.(*http.Transport).CloseIdleConnections()
					h.Close()
				}()
				steps := life(t, name, kind, n, h.URL)
				mu.Lock()
				defer mu.Unlock()
				for step, got := range steps {
					if want[step] == nil {
						want[step] = got
					}
					if !slices.Equal(got, want[step]) || slices.Contains(got, 0) {
						t.Errorf("%s: %v, others have %v", step, got, want[step])
					}
				}
			})
		}
	}
}

// life runs a client through the server's repertoire and returns what it had to say about its copy at each step.
func life(t *testing.T, name string, kind workload.Kind, n int, url string) map[string][]int {
	t.Helper()
	sink := client.NewSink(client.DecodeOldNew, true)
	c, err := client.New(name, client.Options{Config: &rest.Config{Host: url}, Kind: kind, Objects: n, Index: true, Sink: sink})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := sink.Err(); err != nil {
			t.Errorf("handler: %v", err)
		}
	}()
	if err := sink.AwaitAdded(ctx, n); err != nil {
		t.Fatal(err)
	}
	steps := map[string][]int{"sync": look(t, c, sink.Keys())}
	control := serve.Client{URL: url}
	burst := func() {
		t.Helper()
		if err := sink.Await(ctx, func() (string, error) { return control.Burst(ctx, 100, 0) }); err != nil {
			t.Fatal(err)
		}
	}
	burst()
	steps["burst"] = look(t, c, sink.Keys())
	if kind != workload.Pods && kind != workload.CustomObjects {
		return steps // a relist takes a second, and these are read like pods
	}
	if _, err := control.Relist(ctx); err != nil {
		t.Fatal(err)
	}
	burst()
	steps["relist"] = look(t, c, sink.Keys())
	return steps
}

// look reads the copy in every way and returns numbers that depend on what is in it.
func look(t *testing.T, c client.Copy, keys []string) []int {
	t.Helper()
	count := func(n int, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	versions, label := 0, ""
	for _, key := range keys {
		private, err := c.Get(key)
		if err != nil {
			t.Fatal(err)
		}
		shared, err := c.View(key)
		if err != nil {
			t.Fatal(err)
		}
		p, s := private.(metav1.Object), shared.(metav1.Object)
		if p.GetResourceVersion() != s.GetResourceVersion() || p.GetNamespace()+"/"+p.GetName() != key || s.GetUID() != p.GetUID() {
			t.Fatalf("%s: %s at %s and %s", key, p.GetName(), p.GetResourceVersion(), s.GetResourceVersion())
		}
		for _, digit := range p.GetResourceVersion() {
			versions = versions*31 + int(digit)
		}
		label = max(label, p.GetLabels()[client.IndexLabel])
	}
	if _, err := c.Get("nowhere/none"); err == nil {
		t.Error("an object that does not exist")
	}
	return []int{
		len(keys), count(c.List(labels.Everything())), count(c.List(labels.SelectorFromSet(labels.Set{client.IndexLabel: label}))),
		count(c.ByIndex(label, 0)), count(c.ByIndex(label, 1)),
	}
}
