package delta_test

import (
	"testing"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/store/internal/delta"
)

// family is a base and an object that is to be encoded against it.
type family struct{ base, object, record, baseRecord []byte }

// families returns pods, each with the first pod of its owner as its base, and a coding that was made for them.
func families(b *testing.B, n int) ([]family, *delta.Coding) {
	b.Helper()
	g := workload.New(workload.Options{Pods: n})
	bases := map[string][]byte{}
	var all []family
	var dict []byte
	var samples []delta.Sample
	for o := range g.All(workload.Pods) {
		_, raw, err := workload.Encode(o)
		if err != nil {
			b.Fatal(err)
		}
		owners := o.GetOwnerReferences()
		if len(owners) == 0 {
			continue
		}
		base, ok := bases[string(owners[0].UID)]
		if !ok {
			bases[string(owners[0].UID)] = raw
			if len(bases)%10 == 0 && len(dict) < 64<<10 {
				dict = append(dict, raw...)
			}
			continue
		}
		all = append(all, family{base: base, object: raw})
		if len(all)%(n/32) == 0 {
			samples = append(samples, delta.Sample{Base: base, Object: raw})
		}
	}
	c := delta.NewCoding(dict).Trained(samples)
	var e delta.Encoder
	for i := range all {
		f := &all[i]
		e.SetBase(nil)
		f.baseRecord = e.Append(nil, c, nil, f.base)
		e.SetBase(f.base)
		f.record = e.Append(nil, c, nil, f.object)
	}
	return all, c
}

// A pod against its base, which is indexed already: siblings in a row, as a list has them.
func BenchmarkEncoder_Append(b *testing.B) {
	all, c := families(b, 3000)
	var e delta.Encoder
	var last, rec []byte
	size := 0
	b.SetBytes(int64(len(all[0].object)))
	for i := 0; b.Loop(); i++ {
		f := &all[i%len(all)]
		if len(last) == 0 || &last[0] != &f.base[0] {
			e.SetBase(f.base)
			last = f.base
		}
		rec = e.Append(rec[:0], c, nil, f.object)
		size += len(rec)
	}
	b.ReportMetric(float64(size)/float64(b.N), "record-B")
}

// A pod that has no sibling, against the dictionary alone.
func BenchmarkEncoder_Append_Alone(b *testing.B) {
	all, c := families(b, 3000)
	var e delta.Encoder
	e.SetBase(nil)
	var rec []byte
	size := 0
	b.SetBytes(int64(len(all[0].object)))
	for i := 0; b.Loop(); i++ {
		rec = e.Append(rec[:0], c, nil, all[i%len(all)].object)
		size += len(rec)
	}
	b.ReportMetric(float64(size)/float64(b.N), "record-B")
}

// A base is indexed anew, as for each event of a watch.
func BenchmarkEncoder_SetBase(b *testing.B) {
	all, _ := families(b, 1000)
	var e delta.Encoder
	for i := 0; b.Loop(); i++ {
		e.SetBase(all[i%len(all)].base)
	}
}

func BenchmarkDecoder_Append(b *testing.B) {
	all, c := families(b, 3000)
	for name, of := range map[string]func(*family) (base, rec []byte){
		"sibling": func(f *family) ([]byte, []byte) { return f.base, f.record },
		"alone":   func(f *family) ([]byte, []byte) { return nil, f.baseRecord },
	} {
		b.Run(name, func(b *testing.B) {
			var d delta.Decoder
			var out []byte
			b.SetBytes(int64(len(all[0].object)))
			for i := 0; b.Loop(); i++ {
				base, rec := of(&all[i%len(all)])
				var err error
				if out, err = d.Append(out[:0], c, base, nil, rec); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
