package decode_test

import (
	"reflect"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/wire/decode"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what the generated types of the Kubernetes API can do.
type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

type podLite struct {
	metav1.ObjectMeta
	Spec struct{ NodeName string }
}

// compile returns the decoder of a type.
func compile(tb testing.TB, t, of reflect.Type) *decode.Decoder {
	tb.Helper()
	d, err := decode.Compile(t, of)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// workloadObjects returns the encoded form of n objects as servers hold them, and their type.
func workloadObjects(tb testing.TB, kind workload.Kind, n int) (t reflect.Type, raws [][]byte) {
	tb.Helper()
	g := workload.New(workload.Options{})
	for i := range n {
		v := g.Object(kind, i*7)
		_, raw, err := workload.Encode(v)
		if err != nil {
			tb.Fatal(err)
		}
		t, raws = reflect.TypeOf(v).Elem(), append(raws, raw)
	}
	return t, raws
}
