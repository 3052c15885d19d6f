//go:build devcluster

package workload_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devcluster.Sharing(m)) }

// client returns a REST client for the kind's group.
func client(t *testing.T, cfg *rest.Config, kind workload.Kind) *rest.RESTClient {
	t.Helper()
	gv := kind.GVR().GroupVersion()
	cfg.GroupVersion, cfg.APIPath, cfg.QPS = &gv, "/apis", -1
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	if gv.Group == "" {
		cfg.APIPath = "/api"
	}
	c, err := rest.RESTClientFor(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// list reads all objects of the kind as the server has them.
func list(t *testing.T, cfg *rest.Config, kind workload.Kind) []unstructured.Unstructured {
	t.Helper()
	raw, err := client(t, cfg, kind).Get().Resource(kind.String()).SetHeader("Accept", "application/json").Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("list %s: %v", kind, err)
	}
	var l struct{ Items []map[string]any }
	if err := json.Unmarshal(raw, &l); err != nil {
		t.Fatal(err)
	}
	objects := make([]unstructured.Unstructured, len(l.Items))
	for i := range l.Items {
		objects[i].Object = l.Items[i]
	}
	return objects
}

func pods(t *testing.T, cfg *rest.Config) []corev1.Pod {
	t.Helper()
	var l corev1.PodList
	err := client(t, cfg, workload.Pods).Get().Resource("pods").SetHeader("Accept", "application/vnd.kubernetes.protobuf").Do(t.Context()).Into(&l)
	if err != nil {
		t.Fatal(err)
	}
	return l.Items
}

// content is what a pod says, without what depends on when and by which server it was written.
func content(t *testing.T, list []corev1.Pod) map[string]string {
	t.Helper()
	out := map[string]string{}
	for i := range list {
		p := workload.ForCreate(&list[i])
		out[p.GetNamespace()+"/"+p.GetName()] = string(encoded(t, p))
	}
	return out
}

// Ensures that a server holds after Fill what the generator made, down to status, managers and size; that filling it again
// changes nothing; and that Churn does what it was asked to, the same on a second server.
func TestFill_Server_HoldsEverything(t *testing.T) {
	g := workload.New(workload.Options{Seed: 3, Pods: 300})
	var churned [2]map[string]string
	for run := range 2 {
		cluster := devcluster.Start(t)
		start := time.Now()
		progress := map[workload.Kind]int{}
		options := workload.FillOptions{Progress: func(kind workload.Kind, done, total int) {
			if progress[kind]++; progress[kind] != done || total != g.Count(kind) {
				t.Errorf("%s: progress %d of %d, at call %d", kind, done, total, progress[kind])
			}
		}}
		if err := workload.Fill(t.Context(), cluster.Config(), g, options); err != nil {
			t.Fatal(err)
		}
		objects := 0
		for _, n := range progress {
			objects += n
		}
		t.Logf("filled with %d objects, %d of them pods, in %v", objects, g.Count(workload.Pods), time.Since(start).Round(time.Millisecond))
		for _, kind := range workload.Kinds() {
			names := map[string]bool{}
			for _, o := range list(t, cluster.Config(), kind) {
				names[o.GetNamespace()+"/"+o.GetName()] = true
			}
			for o := range g.All(kind) {
				if !names[o.GetNamespace()+"/"+o.GetName()] {
					t.Errorf("%s %s/%s is missing", kind, o.GetNamespace(), o.GetName())
				}
			}
			if extra := len(names) - g.Count(kind); extra != 0 && kind != workload.Namespaces && kind != workload.ConfigMaps {
				t.Errorf("%d %s, want %d", len(names), kind, g.Count(kind))
			}
		}
		if run == 0 {
			checkPods(t, g, cluster.Config())
		}
		churned[run] = churn(t, g, cluster.Config())
	}
	if len(churned[0]) == 0 || !maps.Equal(churned[0], churned[1]) {
		t.Errorf("two servers differ after the same modifications (%d and %d pods)", len(churned[0]), len(churned[1]))
	}
}

func checkPods(t *testing.T, g *workload.Generator, cfg *rest.Config) {
	t.Helper()
	before := pods(t, cfg)
	var sizes []int
	wanted := map[string]string{}
	for o := range g.All(workload.Pods) {
		wanted[o.GetNamespace()+"/"+o.GetName()] = string(encoded(t, workload.ForCreate(o)))
	}
	for i := range before {
		p := &before[i]
		sizes = append(sizes, p.Size())
		if n := len(p.ManagedFields); n < 2 || n > 4 {
			t.Errorf("pod %s has %d managers", p.Name, n)
		}
	}
	got := content(t, before)
	for key, want := range wanted {
		if got[key] != want {
			t.Errorf("pod %s is not what was made:\n%q\n%q", key, got[key], want)
			break
		}
	}
	t.Logf("pods on the server: %s", quantiles(sizes))
	if m := mean(sizes); m < 6500 || m > 7500 {
		t.Errorf("mean pod of %d bytes, want 6,500 to 7,500", m)
	}
	if err := workload.Fill(t.Context(), cfg, g, workload.FillOptions{Kinds: []workload.Kind{workload.Pods}}); err != nil {
		t.Fatalf("fill again: %v", err)
	}
	versions := map[string]string{}
	for i := range before {
		versions[before[i].Namespace+"/"+before[i].Name] = before[i].ResourceVersion
	}
	again, moved := pods(t, cfg), 0
	for i := range again {
		if versions[again[i].Namespace+"/"+again[i].Name] != again[i].ResourceVersion {
			moved++
		}
	}
	if len(again) != len(before) || moved > 0 {
		t.Errorf("filled again: %d pods, %d before; %d written anew", len(again), len(before), moved)
	}
}

// churn modifies pods and custom objects and returns what the pods are then.
func churn(t *testing.T, g *workload.Generator, cfg *rest.Config) map[string]string {
	t.Helper()
	mix := workload.Mix{Status: 10, Label: 2, Annotation: 2, Spec: 2, Delete: 2, Create: 1}
	for _, kind := range []workload.Kind{workload.Pods, workload.CustomObjects} {
		before := len(list(t, cfg, kind))
		counts, err := workload.Churn(t.Context(), cfg, g, workload.ChurnOptions{Rate: -1, Limit: 400, Kind: kind, Mix: mix, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %+v", kind, counts)
		if counts.Total() != 400 || counts.Failed+counts.NotFound+counts.Conflict > 0 || slices.Min(counts.Done[:]) == 0 {
			t.Errorf("%s: %+v", kind, counts)
		}
		if after := len(list(t, cfg, kind)); after != before+counts.Done[workload.Create]-counts.Done[workload.Delete] {
			t.Errorf("%d %s after %d, with %+v", after, kind, before, counts)
		}
	}
	return content(t, pods(t, cfg))
}

// Ensures that Churn goes on where somebody else has deleted the objects, at about the rate asked for.
func TestChurn_ObjectsGone_GoesOn(t *testing.T) {
	cluster := devcluster.Shared(t)
	g := workload.New(workload.Options{Seed: 9, Pods: 20})
	start := time.Now()
	counts, err := workload.Churn(t.Context(), cluster.Config(), g, workload.ChurnOptions{Rate: 100, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	if counts.Total() != 100 || counts.NotFound < 90 {
		t.Errorf("on a server without the pods: %+v", counts)
	}
	if took := time.Since(start); took < 900*time.Millisecond {
		t.Errorf("100 modifications at 100/s took %v", took)
	}
}

// Ensures that the end of the context ends both at once: Churn without an error, Fill with the cause.
func TestFill_ContextEnds_Returns(t *testing.T) {
	cluster := devcluster.Shared(t)
	g := workload.New(workload.Options{Pods: 100_000})
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	err := workload.Fill(ctx, cluster.Config(), g, workload.FillOptions{Kinds: []workload.Kind{workload.Nodes}, Progress: func(_ workload.Kind, done, _ int) {
		if done == 10 {
			cancel(cause)
		}
	}})
	if !errors.Is(err, cause) {
		t.Errorf("fill: %v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	counts, err := workload.Churn(ctx, cluster.Config(), g, workload.ChurnOptions{Rate: -1, Progress: func(c workload.ChurnCounts) {
		if c.Total() == 10 {
			cancel(cause)
		}
	}})
	if err != nil || counts.Total() < 10 {
		t.Errorf("churn: %+v, %v", counts, err)
	}
}

// Ensures that refused credentials end Churn: no modification would ever succeed.
func TestChurn_Unauthorized_Ends(t *testing.T) {
	cfg := devcluster.Shared(t).Config()
	cfg.BearerToken, cfg.BearerTokenFile = "wrong", ""
	cfg.CertData, cfg.KeyData, cfg.CertFile, cfg.KeyFile = nil, nil, "", ""
	counts, err := workload.Churn(t.Context(), cfg, workload.New(workload.Options{Pods: 20}), workload.ChurnOptions{Rate: -1})
	if err == nil || counts.Failed == 0 {
		t.Errorf("%+v, %v", counts, err)
	}
}

func BenchmarkFill_Pods(b *testing.B) {
	cluster := devcluster.Shared(b)
	const pods = 1000
	seed := uint64(0)
	for b.Loop() {
		seed++
		g := workload.New(workload.Options{Seed: seed, Pods: pods})
		if err := workload.Fill(b.Context(), cluster.Config(), g, workload.FillOptions{Kinds: []workload.Kind{workload.Pods}}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(pods*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}

func BenchmarkChurn_Pods(b *testing.B) {
	cluster := devcluster.Shared(b)
	g := workload.New(workload.Options{Pods: 500})
	if err := workload.Fill(b.Context(), cluster.Config(), g, workload.FillOptions{Kinds: []workload.Kind{workload.Pods}}); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	counts, err := workload.Churn(b.Context(), cluster.Config(), g, workload.ChurnOptions{Rate: -1, Limit: b.N})
	if err != nil || counts.Failed > 0 {
		b.Fatal(counts, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "modifications/s")
}
