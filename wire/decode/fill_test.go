package decode_test

import (
	"math/rand"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"
)

// newFiller returns what fills values of any API type, the same for the same seed. The higher the seed, the more it
// leaves out.
func newFiller(seed int64) *randfill.Filler {
	return randfill.NewWithSeed(seed).NilChance(float64(seed%4)/4).NumElements(1, 3).MaxDepth(14).Funcs(
		func(x *metav1.TypeMeta, _ randfill.Continue) {},
		func(x *metav1.Time, c randfill.Continue) { *x = metav1.NewTime(time.Unix(c.Int63n(4e9)-1e9, 0)) },
		func(x *metav1.MicroTime, c randfill.Continue) {
			*x = metav1.NewMicroTime(time.Unix(c.Int63n(4e9)-1e9, c.Int63n(1e6)*1000))
		},
		func(x *resource.Quantity, c randfill.Continue) {
			*x = resource.MustParse([]string{"0", "1", "250m", "1Gi", "1.5", "-3", "12e6", "0.1", "123456789012345678901234567890"}[c.Intn(9)])
		},
		func(x *runtime.RawExtension, c randfill.Continue) { x.Raw = []byte(`{"kind":"Any","n":1}`) },
		func(x *metav1.FieldsV1, c randfill.Continue) { x.SetRawString(`{"f:a":{}}`) },
		func(x *string, c randfill.Continue) { *x = words[c.Intn(len(words))] },
		func(x *int64, c randfill.Continue) { *x = numbers[c.Intn(len(numbers))] },
		func(x *int32, c randfill.Continue) { *x = int32(numbers[c.Intn(len(numbers))]) },
	)
}

var (
	words   = []string{"", "a", "web-1", "x.y/z", "grüße <&> \u2028 🐟", "a line longer than a length of one byte can say: " + string(make([]byte, 200))}
	numbers = []int64{0, 1, -1, 127, 128, 8080, 1 << 31, -1 << 31, 1<<63 - 1, -1 << 63}
)

// shuffled returns b with a few changes: bytes changed, doubled, moved or left out.
func shuffled(rnd *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + rnd.Intn(2) {
		i, j := rnd.Intn(len(b)+1), rnd.Intn(len(b)+1)
		i, j = min(i, j), max(i, j)
		switch rnd.Intn(5) {
		case 0:
			b = b[:j]
		case 1:
			b = append(b[:i], b[min(j, i+1+rnd.Intn(8)):]...)
		case 2:
			b = append(b[:i:i], append(append([]byte(nil), b[i:j]...), b[i:]...)...)
		case 3:
			b = append(b[:i:i], append([]byte{byte(rnd.Intn(256))}, b[i:]...)...)
		default:
			if i < len(b) {
				b[i] ^= 1 << rnd.Intn(8)
			}
		}
	}
	return b
}
