package workload_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
)

func TestTmp(t *testing.T) {
	g := workload.New(workload.Options{Pods: 2000})
	for _, k := range workload.Kinds() {
		var sizes []int
		for o := range g.All(k) {
			sizes = append(sizes, len(encoded(t, o)))
		}
		t.Log(k, quantiles(sizes))
	}
	for _, d := range []float64{1} {
		g := workload.New(workload.Options{Pods: 2000, Drift: new(d)})
		var own, alone, against, mf, ann, status, spec, s []int
		last := map[string]*corev1.Pod{}
		for o := range g.All(workload.Pods) {
			p := o.(*corev1.Pod)
			raw := encoded(t, p)
			s = append(s, len(raw))
			alone = append(alone, deflated(t, raw, nil))
			n := 0
			for i := range p.ManagedFields {
				n += p.ManagedFields[i].Size()
			}
			mf = append(mf, n)
			status = append(status, p.Status.Size())
			spec = append(spec, p.Spec.Size())
			n = 0
			for k, v := range p.Annotations {
				n += len(k) + len(v) + 6
			}
			ann = append(ann, n)
			if w := owner(p); w != "" {
				if q := last[w]; q != nil {
					against = append(against, deflated(t, raw, encoded(t, q)))
					if len(own) < 800 {
						own = append(own, ownBytes(t, p, q))
					}
				}
				last[w] = p
			}
		}
		t.Log(d, "size", quantiles(s))
		t.Log(d, "own", quantiles(own))
		t.Log("alone", quantiles(alone))
		t.Log("against sibling", quantiles(against))
		t.Log("mf", quantiles(mf), "ann", quantiles(ann), "status", quantiles(status), "spec", quantiles(spec))
	}
}

func BenchmarkPods(b *testing.B) {
	g := workload.New(workload.Options{Pods: 1_000_000})
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, _, err := workload.Encode(g.Object(workload.Pods, i%1_000_000)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pods/s")
}
