package delta_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tarn-dev/tarn/store/internal/delta"
)

// digitsOf returns n random hexadecimal digits.
func digitsOf(r *rand.Rand, n int) string { return hex.EncodeToString(random(r, n/2+1))[:n] }

func uuidOf(r *rand.Rand) string {
	s := digitsOf(r, 32)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// Ensures that digits of digests and ids take half a byte each, and hardly more for where they are.
func TestEncoder_Append_Digits(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	c := trained(nil)
	for name, tc := range map[string]struct {
		src  string
		most int
	}{
		"a digest":               {digitsOf(r, 64), 32 + 10},
		"an odd one":             {digitsOf(r, 63), 32 + 12},
		"a UUID":                 {uuidOf(r), 16 + 12},
		"a part of one":          {uuidOf(r)[11:], 11 + 14},
		"a digest of a megabyte": {digitsOf(r, 1<<20), 1<<19 + 1<<19/32},
	} {
		if rec := encode(c, nil, []byte(tc.src)); len(rec) > tc.most {
			t.Errorf("%s: %d characters take %d bytes, want at most %d", name, len(tc.src), len(rec), tc.most)
		}
	}
}

// Ensures that digits, dashes and the marks for them are read back wherever they are, and that what is cut off is not.
func TestEncoder_Append_Digits_RoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	c := trained(nil)
	var d delta.Decoder
	for range 3000 {
		var src bytes.Buffer
		for range r.IntN(30) {
			switch r.IntN(8) {
			case 0:
				src.WriteString(digitsOf(r, r.IntN(70)))
			case 1:
				src.WriteString(uuidOf(r)[r.IntN(36):])
			case 2:
				fmt.Fprintf(&src, "%s-%s", digitsOf(r, 1+r.IntN(70)), digitsOf(r, 1+r.IntN(5)))
			case 3:
				src.WriteByte("\xFD\xFE\xFF-0"[r.IntN(5)])
			case 4:
				src.WriteString(digitsOf(r, 4) + "-")
			case 5:
				src.Write(random(r, r.IntN(9)))
			case 6:
				src.WriteString(digitsOf(r, 500+r.IntN(30)))
			case 7: // more groups than a run can have
				for range 5 + r.IntN(9) {
					src.WriteString(digitsOf(r, 4) + "-")
				}
			}
		}
		rec := encode(c, nil, src.Bytes())
		got, err := d.Append(nil, c, nil, nil, rec)
		if err != nil || !bytes.Equal(got, src.Bytes()) {
			t.Fatalf("%q is read back as %q, %v", src.Bytes(), got, err)
		}
		for n := range rec { // perhaps it is still a record, but not of this
			if got, err := d.Append(nil, c, nil, nil, rec[:n]); err == nil && bytes.Equal(got, src.Bytes()) {
				t.Fatalf("%d bytes of a record of %d are enough", n, len(rec))
			}
		}
	}
}
