package wire_test

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// pipeline reads what the pipeline reads of every pod.
func pipeline(tb testing.TB, enc object.Encoding, raw []byte, node, phase *wire.Path) {
	if _, err := wire.Meta(enc, raw); err != nil {
		tb.Fatal(err)
	}
	for _, p := range []*wire.Path{node, phase} {
		if _, found, err := p.Read(enc, raw); !found || err != nil {
			tb.Fatal(p, found, err)
		}
	}
}

func BenchmarkPod(b *testing.B) {
	pod := newPod(1)
	node, phase, managed := compile(b, pod, "spec.nodeName"), compile(b, pod, "status.phase"), compile(b, pod, "metadata.managedFields")
	for _, enc := range encodings {
		raw := encode(b, enc, pod)
		run := func(name string, f func(b *testing.B)) {
			b.Run(enc.String()+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(len(raw)))
				for b.Loop() {
					f(b)
				}
			})
		}
		run("meta", func(b *testing.B) {
			if _, err := wire.Meta(enc, raw); err != nil {
				b.Fatal(err)
			}
		})
		run("pipeline", func(b *testing.B) { pipeline(b, enc, raw, node, phase) })
		run("cut", func(b *testing.B) {
			if _, err := wire.Cut(enc, raw, managed); err != nil {
				b.Fatal(err)
			}
		})
		run("decode", func(b *testing.B) {
			if err := tryDecode(enc, raw, new(corev1.Pod)); err != nil {
				b.Fatal(err)
			}
		})
		if enc == object.JSON {
			run("decode-untyped", func(b *testing.B) {
				var v map[string]any
				if err := kjson.Unmarshal(raw, &v); err != nil {
					b.Fatal(err)
				}
			})
			run("valid", func(b *testing.B) { json.Valid(raw) })
		}
	}
}
