package wire_test

import (
	"math/rand/v2"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var (
	words = []string{"", "a", "web-1", "x.y/z", `quo"te\`, "grüße <&> \u2028 🐟", "line\nbreak\t\x01", "true", "0"}
	// keys are those of every map that is filled.
	keys = []string{"k1", "app.kubernetes.io/name", "it's"}
)

// filler fills values of any API type with what such a value can hold, the same for the same seed.
type filler struct {
	*rand.Rand
	full bool // leave nothing out
}

func newFiller(seed uint64) filler { return filler{rand.New(rand.NewPCG(seed, 7)), seed == 0} }

func (f filler) some() bool { return f.full || f.IntN(4) > 0 }

func (f filler) fill(v reflect.Value, depth int) {
	switch x := v.Addr().Interface().(type) {
	case *metav1.TypeMeta:
		return
	case *metav1.Time:
		*x = metav1.NewTime(time.Unix(f.Int64N(4e9)-1e9, 0))
		return
	case *metav1.MicroTime:
		*x = metav1.NewMicroTime(time.Unix(f.Int64N(4e9)-1e9, f.Int64N(1e6)*1000))
		return
	case *metav1.Duration:
		x.Duration = time.Duration(f.Int64N(1e15) - 5e14)
		return
	case *resource.Quantity:
		*x = resource.MustParse([]string{"0", "1", "250m", "1Gi", "1.5", "-3", "12e6", "123456789012345678901234567890"}[f.IntN(8)])
		return
	case *intstr.IntOrString:
		*x = []intstr.IntOrString{intstr.FromInt32(0), intstr.FromInt32(-8080), intstr.FromString("http"), intstr.FromString("")}[f.IntN(4)]
		return
	case *runtime.RawExtension:
		x.Raw = []byte(`{"kind":"Any","n":1}`)
		return
	case *metav1.FieldsV1:
		x.SetRawString(`{"f:a":{}}`)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 && f.some() {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth-1)
			}
		}
	case reflect.Slice:
		if depth <= 0 || !f.some() {
			return
		}
		n := 1 + f.IntN(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			f.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		if depth <= 0 || !f.some() {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for _, k := range keys {
			elem := reflect.New(v.Type().Elem()).Elem()
			filler{f.Rand, true}.fill(elem, depth-1) // a nil in a map is not the same in the two encodings
			v.SetMapIndex(reflect.ValueOf(k).Convert(v.Type().Key()), elem)
		}
	case reflect.String:
		v.SetString(words[f.IntN(len(words))])
	case reflect.Bool:
		v.SetBool(f.IntN(2) > 0)
	case reflect.Int32, reflect.Int64:
		v.SetInt([]int64{0, 1, -1, 8080, 1 << 30}[f.IntN(5)])
	case reflect.Uint8:
		v.SetUint(uint64(f.IntN(256)))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.IntN(1000)))
	case reflect.Interface:
	default:
		panic("filler: " + v.Type().String())
	}
}
