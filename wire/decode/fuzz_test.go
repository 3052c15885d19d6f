package decode_test

import (
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
	"github.com/tarn-dev/tarn/wire/decode"
)

var compiled sync.Map // decoders by type

// checkKind checks the decoder of one of the kinds against the generated one.
func checkKind(t *testing.T, kind int, raw []byte) {
	t.Helper()
	gvk := protobufKinds()[kind%len(protobufKinds())]
	typ := scheme.Scheme.AllKnownTypes()[gvk]
	d, ok := compiled.Load(typ)
	if !ok {
		d, _ = compiled.LoadOrStore(typ, compile(t, typ, nil))
	}
	got, owned, want := reflect.New(typ).Interface(), reflect.New(typ).Interface(), reflect.New(typ).Interface().(message)
	err, wantErr := d.(*decode.Decoder).Decode(object.Protobuf, raw, got), want.Unmarshal(raw)
	ownedErr := d.(*decode.Decoder).DecodeOwned(object.Protobuf, slices.Clone(raw), owned)
	switch {
	case err == nil && wantErr != nil:
		t.Fatalf("%s: no error, Unmarshal says %v\n%x", gvk, wantErr, raw)
	case err != nil && wantErr == nil && !errors.Is(err, wire.ErrUnusual):
		t.Fatalf("%s: %v, but Unmarshal accepts it\n%x", gvk, err, raw)
	case err == nil && !reflect.DeepEqual(got, any(want)):
		t.Fatalf("%s: %s\n%x", gvk, cmp.Diff(want, got), raw)
	case (ownedErr == nil) != (err == nil) || err == nil && !reflect.DeepEqual(owned, got):
		t.Fatalf("%s: owned: %v, %s\n%x", gvk, ownedErr, cmp.Diff(got, owned), raw)
	}
}

func FuzzDecoder_Decode(f *testing.F) {
	for i, gvk := range protobufKinds() {
		switch gvk.Kind {
		case "Pod", "Deployment", "Event", "ResourceSlice", "NetworkPolicy", "TokenReview":
			v := reflect.New(scheme.Scheme.AllKnownTypes()[gvk])
			newFiller(3).Fill(v.Interface())
			raw, err := v.Interface().(message).Marshal()
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint16(i), raw)
		}
	}
	_, raws := workloadObjects(f, workload.Pods, 1)
	f.Add(uint16(0), raws[0])
	f.Fuzz(func(t *testing.T, kind uint16, raw []byte) { checkKind(t, int(kind), raw) })
}
