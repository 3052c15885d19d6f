package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
)

// Spec says what a collection holds. The same one gives the same bytes.
type Spec struct {
	// Kind is Pods, Secrets, ConfigMaps or CustomObjects.
	Kind workload.Kind
	// Objects is how many there are.
	Objects int
	// Drift is how much the pods of one workload differ: see workload.Options.
	Drift float64
	// Seed selects the cluster.
	Seed uint64
	// Burst is how many modifications are encoded in advance. Longer bursts repeat them, with versions of their own.
	Burst int
	// Protobuf and JSON say in which encodings the collection can be asked for. Custom objects have only JSON.
	Protobuf, JSON bool
}

// secretSize is how much random data a secret has, in bytes.
const secretSize = 4 << 10

// maker makes a collection's objects.
type maker struct {
	spec Spec
	g    *workload.Generator
}

func newMaker(s Spec) *maker {
	o := workload.Options{Seed: s.Seed, Drift: &s.Drift, Pods: s.Objects}
	switch s.Kind {
	case workload.Secrets:
		o.Secrets = s.Objects
	case workload.ConfigMaps:
		o.ConfigMaps = s.Objects
	case workload.CustomObjects:
		o.CustomObjects = s.Objects
	}
	return &maker{s, workload.New(o)}
}

// object returns the i-th object after n modifications, or nil if it has been deleted by then.
func (m *maker) object(i, n int) workload.Object {
	switch m.spec.Kind {
	case workload.Pods, workload.CustomObjects:
		c := m.g.Change(m.spec.Kind, i, n)
		if c.Kind == workload.Delete {
			return nil
		}
		return c.Object
	}
	o := m.g.Object(m.spec.Kind, i)
	if s, ok := o.(*corev1.Secret); ok {
		// The generator's secrets are text, as most are; text compresses, and this is the collection that must not.
		r := rand.New(rand.NewChaCha8([32]byte{byte(i), byte(i >> 8), byte(i >> 16), byte(n), byte(m.spec.Seed)}))
		data := make([]byte, secretSize)
		for at := range data {
			data[at] = byte(r.Uint32())
		}
		s.Data = map[string][]byte{"key": data}
	}
	if n > 0 {
		a := o.GetAnnotations()
		a["bench.example.com/changed"] = strconv.Itoa(n)
		o.SetAnnotations(a)
	}
	return o
}

// payload is one encoded object, with the place where its version is written.
type payload struct {
	raw [encodings][]byte
	at  [encodings]int32
}

// The encodings, as indexes.
const (
	protobuf = iota
	jsonText
	encodings
)

// digits is the length of every version, so that one can take the place of another.
const digits = 10

func versionText(v uint64) string { return fmt.Sprintf("%0*d", digits, v) }

// encode encodes o in the spec's encodings.
func (m *maker) encode(o workload.Object) (payload, error) {
	var p payload
	version := versionText(1)
	o.SetResourceVersion(version)
	if m.spec.Protobuf {
		enc, raw, err := workload.Encode(o)
		if err != nil || enc != object.Protobuf {
			return p, fmt.Errorf("%s have no protobuf: %v", m.spec.Kind, err)
		}
		if err := p.set(protobuf, raw, "\x32\x0a"+version); err != nil {
			return p, err
		}
	}
	if m.spec.JSON {
		o.GetObjectKind().SetGroupVersionKind(m.spec.Kind.GVK())
		raw, err := json.Marshal(o)
		if err != nil {
			return p, err
		}
		if err := p.set(jsonText, raw, `"resourceVersion":"`+version); err != nil {
			return p, err
		}
	}
	return p, nil
}
