package serve

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tarn-dev/tarn/internal/workload"
)

// set keeps raw, in which the version stands at the end of mark.
func (p *payload) set(enc int, raw []byte, mark string) error {
	at := bytes.Index(raw, []byte(mark))
	if at < 0 {
		return fmt.Errorf("no version in %.80q", raw)
	}
	p.raw[enc], p.at[enc] = slices.Clip(raw), int32(at+len(mark)-digits)
	return nil
}

// collection is what a server can send: the objects as they are at first, and their modifications.
type collection struct {
	spec    Spec
	initial []payload   // in the order of their keys, as a server lists them
	made    []int       // of each of those, as which it was created
	order   []int       // in which the objects are modified
	rounds  [][]payload // rounds[n][k] is order[k] after n+1 modifications; without bytes if it has been deleted by then
}

// load makes the collection, on all cores.
func load(ctx context.Context, s Spec) (*collection, error) {
	m := newMaker(s)
	c := &collection{spec: s, initial: make([]payload, s.Objects), made: make([]int, s.Objects)}
	c.order = rand.New(rand.NewPCG(s.Seed, uint64(s.Objects))).Perm(s.Objects)
	for n := 0; n == 0 || n*s.Objects < s.Burst; n++ {
		size := min(s.Objects, max(s.Burst-n*s.Objects, changedBy(s.Objects)))
		c.rounds = append(c.rounds, make([]payload, size))
	}
	keys, created := make([]string, s.Objects), make([]payload, s.Objects)
	err := parallel(ctx, s.Objects, func(i int) (err error) {
		o := m.object(i, 0)
		keys[i] = o.GetNamespace() + "/" + o.GetName()
		created[i], err = m.encode(o)
		c.made[i] = i
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(c.made, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	for i, made := range c.made {
		c.initial[i] = created[made]
	}
	err = parallel(ctx, s.Objects, func(k int) error {
		for n, round := range c.rounds {
			if k >= len(round) {
				return nil
			}
			o := m.object(c.made[c.order[k]], n+1)
			if o == nil {
				return nil
			}
			var err error
			if round[k], err = m.encode(o); err != nil {
				return err
			}
		}
		return nil
	})
	return c, err
}

// changedBy is how many of so many objects change while nobody watches: one in a hundred.
func changedBy(objects int) int { return (objects + 99) / 100 }

// sentinel returns the n-th object that is added behind a burst, to be seen last.
func (c *collection) sentinel(n int) (payload, string, error) {
	m := newMaker(c.spec)
	o := m.object(0, 0)
	o.SetNamespace("bench")
	o.SetName(fmt.Sprintf("sentinel-%d", n))
	o.SetOwnerReferences(nil)
	o.SetLabels(map[string]string{"bench": "sentinel"})
	p, err := m.encode(o)
	return p, o.GetNamespace() + "/" + o.GetName(), err
}

// parallel calls f for 0 to n-1, on all cores, until one returns an error or ctx ends.
func parallel(ctx context.Context, n int, f func(int) error) error {
	const chunk = 64
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		failed error
		once   sync.Once
	)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fail := func(err error) { once.Do(func() { failed = err; cancel() }) }
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for ctx.Err() == nil {
				from := int(next.Add(chunk)) - chunk
				if from >= n {
					return
				}
				for i := from; i < min(from+chunk, n); i++ {
					if err := f(i); err != nil {
						fail(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return failed
}

// bookmark returns an object that says nothing but a version.
func (c *collection) bookmark(initialEnd bool) (payload, error) {
	var o workload.Object
	switch c.spec.Kind {
	case workload.Pods:
		o = &corev1.Pod{}
	case workload.Secrets:
		o = &corev1.Secret{}
	case workload.ConfigMaps:
		o = &corev1.ConfigMap{}
	default:
		o = &unstructured.Unstructured{Object: map[string]any{}}
	}
	if initialEnd {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return newMaker(Spec{Kind: c.spec.Kind, Protobuf: c.spec.Protobuf, JSON: c.spec.JSON, Objects: 1}).encode(o)
}
