package wire_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// message is what the generated types of the Kubernetes API can do.
type message interface {
	metav1.Object
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// must returns v, or fails the test.
func must[T any](tb testing.TB) func(v T, err error) T {
	return func(v T, err error) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// encode returns v in the encoding.
func encode(tb testing.TB, enc object.Encoding, v message) []byte {
	tb.Helper()
	if enc == object.Protobuf {
		return must[[]byte](tb)(v.Marshal())
	}
	return must[[]byte](tb)(json.Marshal(v))
}

// compile compiles a path for the type of v.
func compile(tb testing.TB, v any, path string) *wire.Path {
	tb.Helper()
	return must[*wire.Path](tb)(wire.CompilePath(reflect.TypeOf(v), path))
}

// wantErr fails the test unless err is the wanted one.
func wantErr(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("error = %v, want %v", err, want)
	}
}
