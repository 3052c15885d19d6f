package workload_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
)

// Ensures that pods have the size they have in clusters, and that custom objects are 5 to 10 KB of JSON, whatever the seed.
func TestGenerator_Object_Size(t *testing.T) {
	for seed := range uint64(2) {
		g := workload.New(workload.Options{Seed: seed, Pods: 2000})
		for _, c := range []struct {
			kind     workload.Kind
			encoding object.Encoding
			min, max int // of the mean
			each     [2]int
		}{
			{workload.Pods, object.Protobuf, 6500, 7500, [2]int{4000, 16000}},
			{workload.CustomObjects, object.JSON, 6500, 9500, [2]int{5000, 10240}},
			{workload.Deployments, object.Protobuf, 4000, 8000, [2]int{3000, 12000}},
			{workload.ReplicaSets, object.Protobuf, 4000, 8000, [2]int{3000, 12000}},
			{workload.Nodes, object.Protobuf, 4000, 8000, [2]int{3000, 12000}},
			{workload.ConfigMaps, object.Protobuf, 2000, 6000, [2]int{1000, 8000}},
			{workload.Secrets, object.Protobuf, 2000, 6000, [2]int{1000, 8000}},
			{workload.Namespaces, object.Protobuf, 200, 800, [2]int{200, 800}},
		} {
			var sizes []int
			for obj := range g.All(c.kind) {
				encoding, raw, err := workload.Encode(obj)
				if err != nil || encoding != c.encoding {
					t.Fatalf("seed %d: %s: encoded as %s, %v", seed, c.kind, encoding, err)
				}
				if len(raw) < c.each[0] || len(raw) > c.each[1] {
					t.Errorf("seed %d: %s %s: %d bytes, want %v", seed, c.kind, obj.GetName(), len(raw), c.each)
				}
				sizes = append(sizes, len(raw))
			}
			if len(sizes) != g.Count(c.kind) {
				t.Errorf("seed %d: %d %s, want %d", seed, len(sizes), c.kind, g.Count(c.kind))
			}
			if m := mean(sizes); m < c.min || m > c.max {
				t.Errorf("seed %d: %s: mean %d bytes, want %d to %d", seed, c.kind, m, c.min, c.max)
			}
			t.Logf("seed %d: %s: %s", seed, c.kind, quantiles(sizes))
		}
	}
}

// Ensures that the same options make the same objects, in any order, and another seed others.
func TestGenerator_Object_Repeatable(t *testing.T) {
	a, b := workload.New(workload.Options{Seed: 7, Pods: 900}), workload.New(workload.Options{Seed: 7, Pods: 900})
	other := workload.New(workload.Options{Seed: 8, Pods: 900})
	for _, kind := range workload.Kinds() {
		same := true
		for i := a.Count(kind) - 1; i >= 0; i-- {
			raw := encoded(t, a.Object(kind, i))
			if !bytes.Equal(raw, encoded(t, b.Object(kind, i))) {
				t.Fatalf("%s %d differs between two generators of one seed", kind, i)
			}
			same = same && bytes.Equal(raw, encoded(t, other.Object(kind, i)))
		}
		if same && kind != workload.Namespaces {
			t.Errorf("%s are the same with another seed", kind)
		}
	}
}

// Ensures that a server can hold all objects at once: no key, uid or version of a kind comes twice, and none is empty.
func TestGenerator_Object_Unique(t *testing.T) {
	g := workload.New(workload.Options{Pods: 5000})
	for _, kind := range workload.Kinds() {
		keys, uids, versions := map[string]bool{}, map[string]bool{}, map[string]bool{}
		for obj := range g.All(kind) {
			keys[obj.GetNamespace()+"/"+obj.GetName()] = true
			uids[string(obj.GetUID())] = true
			versions[obj.GetResourceVersion()] = true
			if obj.GetCreationTimestamp().Unix() < 0 || len(obj.GetManagedFields()) == 0 {
				t.Fatalf("%s %s lacks what a server sets", kind, obj.GetName())
			}
			if got := obj.GetObjectKind().GroupVersionKind(); got != kind.GVK() {
				t.Fatalf("%s %s is a %s", kind, obj.GetName(), got)
			}
		}
		if n := g.Count(kind); len(keys) != n || len(uids) != n || len(versions) != n || keys["/"] || uids[""] || versions[""] {
			t.Errorf("%s: %d keys, %d uids, %d versions of %d objects", kind, len(keys), len(uids), len(versions), n)
		}
	}
}

// Ensures that the form for creating lacks what the server sets, and that making it leaves the original alone.
func TestForCreate_Any_Stripped(t *testing.T) {
	g := workload.New(workload.Options{Pods: 400})
	for _, kind := range workload.Kinds() {
		obj := g.Object(kind, 0)
		before := encoded(t, obj)
		c, err := meta.Accessor(workload.ForCreate(obj))
		if err != nil {
			t.Fatal(err)
		}
		if c.GetUID() != "" || c.GetResourceVersion() != "" || c.GetCreationTimestamp().Unix() > 0 || c.GetManagedFields() != nil || c.GetGeneration() != 0 {
			t.Errorf("%s: not stripped", kind)
		}
		if c.GetName() != obj.GetName() || !bytes.Equal(before, encoded(t, obj)) {
			t.Errorf("%s: the original changed", kind)
		}
	}
}

// Ensures that counts are taken as given, that negative ones are none, and that the default is 2,000 pods.
func TestNew_Options_Counts(t *testing.T) {
	g := workload.New(workload.Options{})
	if g.Count(workload.Pods) != 2000 || g.Count(workload.ReplicaSets) != 4*g.Count(workload.Deployments) {
		t.Errorf("default: %d pods, %d replica sets of %d deployments", g.Count(workload.Pods), g.Count(workload.ReplicaSets), g.Count(workload.Deployments))
	}
	g = workload.New(workload.Options{Pods: -1, Nodes: 5, ConfigMaps: 6, Secrets: -1, CustomObjects: 7, Namespaces: -1})
	for kind, want := range map[workload.Kind]int{
		workload.Pods: 0, workload.Deployments: 0, workload.Nodes: 5, workload.ConfigMaps: 6, workload.Secrets: 0,
		workload.CustomObjects: 7, workload.Namespaces: 1,
	} {
		if got := g.Count(kind); got != want {
			t.Errorf("%s: %d, want %d", kind, got, want)
		}
	}
}

// Ensures that pods point at what exists: a node, a namespace, and a replica set of the deployment's that counts them.
func TestGenerator_Object_References(t *testing.T) {
	g := workload.New(workload.Options{Pods: 1100})
	nodes, spaces, sets := map[string]bool{}, map[string]bool{}, map[string]int{}
	for n := range g.All(workload.Nodes) {
		nodes[n.GetName()] = true
	}
	for n := range g.All(workload.Namespaces) {
		spaces[n.GetName()] = true
	}
	for o := range g.All(workload.Pods) {
		p := o.(*corev1.Pod)
		if !nodes[p.Spec.NodeName] || !spaces[p.Namespace] {
			t.Fatalf("pod %s: node %q, namespace %q", p.Name, p.Spec.NodeName, p.Namespace)
		}
		if uid := owner(p); uid != "" {
			sets[uid]++
		}
	}
	total := 0
	for o := range g.All(workload.ReplicaSets) {
		if got, want := replicas(o), sets[string(o.GetUID())]; got != want {
			t.Errorf("replica set %s: %d replicas, %d pods", o.GetName(), got, want)
		}
		total += sets[string(o.GetUID())]
		delete(sets, string(o.GetUID()))
	}
	if len(sets) != 0 || total == 0 {
		t.Errorf("%d replica sets of pods do not exist", len(sets))
	}
}

// Encodes a million different pods, over and over: what a benchmark that serves them does first.
func BenchmarkGenerator_Pods(b *testing.B) {
	g := workload.New(workload.Options{Pods: 1_000_000})
	b.ReportAllocs()
	var next atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			i := int(next.Add(1) % 1_000_000)
			if _, _, err := workload.Encode(g.Object(workload.Pods, i)); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
