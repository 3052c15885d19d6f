// Package workload makes realistic Kubernetes objects for tests, the demo and benchmarks: pods with their deployments
// and replica sets, nodes, namespaces, config maps, secrets, and a custom resource with its definition.
//
// Every object is a pure function of the seed, its kind and its index, so runs repeat, a million pods need no memory,
// and any object can be made again later. [Generator.Change] makes the n-th modification of an object in the same way.
// [Fill] puts the objects on a real server and [Churn] keeps that server changing.
//
// Pods of one workload resemble each other as they do in a cluster, and differ as they do there: in revision, in
// injected sidecars, in annotations of their own, and in the ids, addresses and times that the cluster gave them.
// Options.Drift scales these differences.
package workload

import (
	"fmt"
	"iter"
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Options says what to generate. The zero value is a cluster of 2,000 pods.
type Options struct {
	// Seed selects the cluster; the same options make the same objects.
	Seed uint64
	// Drift scales how much the pods of one workload differ: 0 makes clones that differ only in name, uid and version;
	// 1 is what clusters look like; nil is 1. It is held within 0 to 4. Shares of pods and workloads stop at all of them.
	Drift *float64
	// Pods is the number of pods. 0 is 2,000; negative is none. It decides the number of deployments and replica sets.
	Pods int
	// Namespaces, Nodes, ConfigMaps, Secrets and CustomObjects are counts. 0 derives the count from Pods; negative is
	// none, except for namespaces, of which there is always one.
	Namespaces, Nodes, ConfigMaps, Secrets, CustomObjects int
}

// Object is what the generator makes: a typed API object, or an *unstructured.Unstructured for custom objects.
type Object interface {
	runtime.Object
	metav1.Object
}

// Generator makes the objects of one cluster. It is immutable: its methods may be called concurrently, and every object
// it returns is new and the caller's own.
type Generator struct {
	seed    uint64
	drift   float64
	counts  [numKinds]int
	layouts [numLayouts]layout
}

// New returns the generator for the options.
func New(o Options) *Generator {
	g := &Generator{seed: mix(o.Seed, 0x7461726e), drift: 1}
	if o.Drift != nil {
		g.drift = min(max(*o.Drift, 0), 4)
	}
	count := func(asked, derived int) int {
		if asked != 0 {
			return max(asked, 0)
		}
		return derived
	}
	pods := count(o.Pods, 2000)
	g.counts[Pods] = pods
	g.counts[Namespaces] = max(count(o.Namespaces, min(max(pods/200, 4), 200)), 1)
	g.counts[Nodes] = count(o.Nodes, max(pods/30, 3))
	g.counts[ConfigMaps] = count(o.ConfigMaps, pods/10)
	g.counts[Secrets] = count(o.Secrets, pods/10)
	g.counts[CustomObjects] = count(o.CustomObjects, pods/20)
	for i := range g.layouts {
		g.layouts[i] = newLayout(mix(g.seed, uint64(i)), g.barePerBlock())
	}
	g.counts[Deployments] = g.deploymentCount(pods)
	g.counts[ReplicaSets] = g.counts[Deployments] * replicaSetsPerDeployment
	return g
}

// barePerBlock returns how many pods of a block have no owner: 5% at drift 1.
func (g *Generator) barePerBlock() int { return int(math.Round(0.05 * g.drift * blockSize)) }

// Count returns how many objects of the kind there are.
func (g *Generator) Count(kind Kind) int { return g.counts[kind] }

// Object returns the i-th object of the kind as a server would hold it: with uid, resourceVersion, creationTimestamp,
// managedFields and status. i may be beyond Count: those objects exist in the same cluster, only later. See [ForCreate]
// for the form that a client sends. It panics on a negative i.
func (g *Generator) Object(kind Kind, i int) Object {
	if i < 0 {
		panic(fmt.Sprintf("workload: %s %d: negative index", kind, i))
	}
	return g.build(kind, i, state{})
}

// All returns the objects of the kind one by one, each made when it is asked for.
func (g *Generator) All(kind Kind) iter.Seq[Object] {
	return func(yield func(Object) bool) {
		for i := range g.counts[kind] {
			if !yield(g.Object(kind, i)) {
				return
			}
		}
	}
}

// build makes the i-th object of the kind in the given state of its history.
func (g *Generator) build(kind Kind, i int, s state) Object {
	switch kind {
	case Pods:
		return g.pod(i, s)
	case Namespaces:
		return g.namespace(i)
	case Nodes:
		return g.node(i)
	case ConfigMaps:
		return g.configMap(i)
	case Secrets:
		return g.secret(i)
	case Deployments:
		return g.deployment(i)
	case ReplicaSets:
		return g.replicaSet(i)
	case CustomObjects:
		return g.customObject(i, s)
	}
	panic(fmt.Sprintf("workload: unknown kind %d", kind))
}
