package decode_test

import (
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
)

// protobufKinds are the built-in kinds that have a protobuf form, in order.
var protobufKinds = sync.OnceValue(func() (kinds []schema.GroupVersionKind) {
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if _, ok := reflect.New(t).Interface().(message); ok {
			kinds = append(kinds, gvk)
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	return kinds
})

// Ensures that every built-in kind, also lists and options, compiles, and that what a server writes decodes to what the
// generated Unmarshal makes of it, nil and empty values told apart.
func TestDecoder_Decode_EqualsUnmarshalForEveryKind(t *testing.T) {
	if n := len(protobufKinds()); n < 500 {
		t.Fatalf("the scheme has only %d kinds", n)
	}
	for _, gvk := range protobufKinds() {
		typ := scheme.Scheme.AllKnownTypes()[gvk]
		d := compile(t, typ, nil)
		if !d.DecodesProtobuf() {
			t.Fatalf("%s: no protobuf", gvk)
		}
		for seed := range int64(5) {
			v := reflect.New(typ)
			if seed < 4 {
				newFiller(seed).Fill(v.Interface())
			}
			raw, err := v.Interface().(message).Marshal()
			if err != nil {
				t.Fatal(gvk, err)
			}
			got, want := reflect.New(typ).Interface(), reflect.New(typ).Interface().(message)
			if err := d.Decode(object.Protobuf, raw, got); err != nil {
				t.Fatal(gvk, err)
			}
			if err := want.Unmarshal(raw); err != nil {
				t.Fatal(gvk, err)
			}
			owned := reflect.New(typ).Interface()
			if err := d.DecodeOwned(object.Protobuf, slices.Clone(raw), owned); err != nil || !reflect.DeepEqual(owned, any(want)) {
				t.Fatalf("%s, seed %d, owned: %v %s", gvk, seed, err, cmp.Diff(want, owned))
			}
			clear(raw) // the result must not need it
			if !reflect.DeepEqual(got, any(want)) {
				t.Fatalf("%s, seed %d: %s", gvk, seed, cmp.Diff(want, got))
			}
		}
	}
}

// Ensures that a decoder that serves many goroutines decodes realistic objects of all kinds as the generated Unmarshal
// does.
func TestDecoder_Decode_EqualsUnmarshalForWorkload(t *testing.T) {
	for _, kind := range workload.Kinds() {
		if kind == workload.CustomObjects {
			continue // they have no protobuf form
		}
		typ, raws := workloadObjects(t, kind, 60)
		d := compile(t, typ, nil)
		var group sync.WaitGroup
		for g := range 4 {
			group.Go(func() {
				for i := g; i < len(raws); i += 2 {
					got, want := reflect.New(typ).Interface(), reflect.New(typ).Interface().(message)
					if err := d.Decode(object.Protobuf, raws[i], got); err != nil {
						t.Error(kind, err)
					}
					if err := want.Unmarshal(raws[i]); err != nil {
						t.Error(kind, err)
					}
					if !reflect.DeepEqual(got, any(want)) {
						t.Errorf("%s %d: %s", kind, i, cmp.Diff(want, got))
					}
				}
			})
		}
		group.Wait()
	}
}

// Ensures, on every run and not only when fuzzing, that objects with a few bytes changed decode as the generated
// Unmarshal has it, or are refused.
func TestDecoder_Decode_MutatedAgreesWithUnmarshal(t *testing.T) {
	rnd := rand.New(rand.NewSource(5))
	for i, gvk := range protobufKinds() {
		v := reflect.New(scheme.Scheme.AllKnownTypes()[gvk])
		newFiller(int64(i)).Fill(v.Interface())
		raw, err := v.Interface().(message).Marshal()
		if err != nil {
			t.Fatal(gvk, err)
		}
		for range 40 {
			checkKind(t, i, shuffled(rnd, raw))
		}
	}
}
