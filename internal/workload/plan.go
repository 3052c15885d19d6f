package workload

import (
	"context"
	"encoding/json"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// plan decides, one after the other and from the seed alone, which object is modified next and how.
type plan struct {
	r       rng
	mix     []ChangeKind
	live    []int
	deleted []int
	end     int // index of the next object that was never made
	states  map[int]state
}

func newPlan(g *Generator, o ChurnOptions) *plan {
	p := &plan{r: rng(mix(g.seed, 0xc4024, uint64(o.Kind), o.Seed)), end: g.Count(o.Kind), states: map[int]state{}}
	m := o.Mix
	if m == (Mix{}) {
		m = Mix{Status: 66, Label: 10, Annotation: 10, Spec: 10, Delete: 2, Create: 2}
	}
	for kind, n := range [numChangeKinds]int{m.Status, m.Label, m.Annotation, m.Spec, m.Delete, m.Create} {
		for range n {
			p.mix = append(p.mix, ChangeKind(kind))
		}
	}
	p.live = make([]int, p.end)
	for i := range p.live {
		p.live[i] = i
	}
	return p
}

func (p *plan) next() task {
	change := pick(&p.r, p.mix)
	if len(p.live) == 0 {
		change = Create
	}
	var i int
	s := state{}
	switch {
	case change != Create:
		at := p.r.n(len(p.live))
		i = p.live[at]
		s = p.states[i]
		s.apply(change)
		if change == Delete {
			p.live[at] = p.live[len(p.live)-1]
			p.live = p.live[:len(p.live)-1]
			p.deleted = append(p.deleted, i)
		}
	case len(p.deleted) > 0:
		at := p.r.n(len(p.deleted))
		i = p.deleted[at]
		p.deleted[at] = p.deleted[len(p.deleted)-1]
		p.deleted = p.deleted[:len(p.deleted)-1]
		s = p.states[i]
		s.apply(Create)
	default:
		i = p.end
		p.end++
		s.apply(Create)
	}
	if change == Create {
		p.live = append(p.live, i)
	}
	p.states[i] = s
	return task{change, i, s}
}

// modify sends one modification.
func (c *client) modify(ctx context.Context, g *Generator, kind Kind, t task) error {
	gvr := kind.GVR()
	obj := g.build(kind, t.index, t.state)
	switch t.change {
	case Create:
		managed := obj.GetManagedFields()
		strip(obj)
		return c.create(ctx, gvr, obj, managed[0].Manager)
	case Delete:
		return c.delete(ctx, gvr, obj)
	case StatusChange:
		if pod, ok := obj.(*corev1.Pod); ok {
			return c.patch(ctx, gvr, obj, types.MergePatchType, mergePatch("status", pod.Status), managerKubelet, "status")
		}
		return c.patch(ctx, gvr, obj, types.MergePatchType, mergePatch("status", obj.(*unstructured.Unstructured).Object["status"]), "pipeline-operator")
	case LabelChange:
		return c.patch(ctx, gvr, obj, types.MergePatchType, mergePatch("metadata", map[string]any{
			"labels": map[string]string{changedLabel: obj.GetLabels()[changedLabel]},
		}), "rollout-controller")
	case AnnotationChange:
		return c.patch(ctx, gvr, obj, types.MergePatchType, mergePatch("metadata", map[string]any{
			"annotations": map[string]string{changedAnnotation: obj.GetAnnotations()[changedAnnotation]},
		}), managerHandover)
	default:
		if pod, ok := obj.(*corev1.Pod); ok {
			container := pod.Spec.Containers[0]
			raw := mergePatch("spec", map[string]any{"containers": []any{map[string]string{"name": container.Name, "image": container.Image}}})
			return c.patch(ctx, gvr, obj, types.StrategicMergePatchType, raw, "rollout-controller")
		}
		spec := obj.(*unstructured.Unstructured).Object["spec"].(map[string]any)
		return c.patch(ctx, gvr, obj, types.MergePatchType, mergePatch("spec", map[string]any{"source": spec["source"]}), "argocd-controller")
	}
}

// mergePatch returns {"<field>": value}.
func mergePatch(field string, value any) []byte {
	raw, err := json.Marshal(value)
	if err != nil {
		// API types and maps of strings only: they always marshal.
		panic(err)
	}
	return append(append(append([]byte("{"), strconv.Quote(field)+":"...), raw...), '}')
}
