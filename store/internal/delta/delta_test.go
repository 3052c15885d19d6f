package delta_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/store/internal/delta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// random returns bytes that do not repeat.
func random(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// text returns readable text of a seed; the same seed gives the same text.
func text(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < n {
		fmt.Fprintf(&b, "field-%x: value %d\n", r.IntN(50), r.IntN(1000))
	}
	return b.Bytes()[:n]
}

// trained returns a coding with a dictionary and tables.
func trained(dict []byte) *delta.Coding {
	var samples []delta.Sample
	for i := range uint64(8) {
		samples = append(samples, delta.Sample{Base: text(i, 500), Object: append(text(i, 400), text(i+100, 90)...)})
	}
	return delta.NewCoding(dict).Trained(samples)
}

// encode returns the record of src, without a head.
func encode(c *delta.Coding, base, src []byte) []byte { return encodeAfter(c, base, nil, src) }

func encodeAfter(c *delta.Coding, base, head, src []byte) []byte {
	var e delta.Encoder
	e.SetBase(base)
	return e.Append(nil, c, head, src)
}

// Ensures that what is read back is what was encoded, whatever the base, the dictionary and the sizes, and that a record
// of what is known is short.
func TestEncoder_Append_RoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	base, dict := text(1, 7000), text(2, 20_000)
	changed := bytes.Clone(base)
	copy(changed[3000:], "something of its own")
	longer := append(append(bytes.Clone(base[:100]), text(3, 300)...), base[100:]...)
	for name, tc := range map[string]struct {
		base, src []byte
		most      int // how long the record may be; 0: not checked
	}{
		"nothing":                {nil, nil, 5},
		"nothing, with a base":   {base, nil, 5},
		"shorter than a match":   {base, []byte("abc"), 8},
		"the base itself":        {base, base, 20},
		"a change in the middle": {base, changed, 60},
		"an insertion":           {base, longer, 300},
		"a deletion":             {base, append(bytes.Clone(base[:2000]), base[2500:]...), 30},
		"parts in another order": {base, append(bytes.Clone(base[4000:]), base[:4000]...), 40},
		"from the dictionary":    {nil, dict[5000:9000], 200},
		"one byte repeated":      {nil, bytes.Repeat([]byte{7}, 5000), 30},
		"a phrase repeated":      {nil, bytes.Repeat([]byte("a phrase, again; "), 300), 60},
		"random":                 {base, random(r, 5000), 5000 + 20},
		"longer than one block":  {base, random(r, 600_000), 600_000 + 20},
		"text of a long base":    {text(9, 400_000), text(9, 390_000), 0},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, c := range map[string]*delta.Coding{"plain": delta.NewCoding(dict), "trained": trained(dict)} {
				rec := encode(c, tc.base, tc.src)
				if tc.most != 0 && len(rec) > tc.most {
					t.Errorf("%s: %d bytes became %d, want at most %d", kind, len(tc.src), len(rec), tc.most)
				}
				if n, err := delta.Size(rec); n != len(tc.src) || err != nil {
					t.Errorf("%s: Size = %d, %v, want %d", kind, n, err, len(tc.src))
				}
				var d delta.Decoder
				got, err := d.Append([]byte("before "), c, tc.base, nil, rec)
				if err != nil || !bytes.Equal(got, append([]byte("before "), tc.src...)) {
					t.Errorf("%s: decoded to something else, or %v", kind, err)
				}
			}
		})
	}
}

// Ensures that an encoder and a decoder that are used again, for other bases and codings, give what new ones do.
func TestEncoder_Append_Reused(t *testing.T) {
	var e delta.Encoder
	var d delta.Decoder
	codings := []*delta.Coding{delta.NewCoding(nil), delta.NewCoding(text(5, 9000)), trained(nil), trained(text(5, 9000))}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 400 {
		c, base := codings[r.IntN(len(codings))], text(uint64(r.IntN(5)), r.IntN(4000))
		src := append(bytes.Clone(base[:len(base)/2]), text(uint64(i), r.IntN(900))...)
		e.SetBase(base)
		for range 1 + r.IntN(3) {
			head := src[len(src)/2:]
			head = head[:r.IntN(min(len(head), 60)+1)]
			rec := e.Append(nil, c, head, src)
			if want := encodeAfter(c, base, head, src); !bytes.Equal(rec, want) {
				t.Fatalf("%d: a used encoder gives another record", i)
			}
			got, err := d.Append(nil, c, base, head, rec)
			if err != nil || !bytes.Equal(got, src) {
				t.Fatalf("%d: decoded to something else, or %v", i, err)
			}
		}
	}
}

// Ensures that what the head has is not repeated, wherever it is, and that a record is not read without it.
func TestEncoder_Append_Head(t *testing.T) {
	c, head := delta.NewCoding(nil), random(rand.New(rand.NewPCG(5, 6)), 36)
	for _, src := range [][]byte{
		head, head[1:33], append(text(1, 500), head...), append(append(text(1, 501), head...), text(2, 300)...),
		append(append(bytes.Clone(head), text(2, 3)...), head...),
	} {
		rec := encodeAfter(c, text(1, 700), head, src)
		if len(rec) > len(src)-20 {
			t.Errorf("%d bytes became %d", len(src), len(rec))
		}
		var d delta.Decoder
		if got, err := d.Append(nil, c, text(1, 700), head, rec); err != nil || !bytes.Equal(got, src) {
			t.Errorf("%q became %q, %v", src, got, err)
		}
		for n := range len(head) - 8 {
			if got, err := d.Append(nil, c, text(1, 700), head[:n], rec); err == nil && bytes.Equal(got, src) {
				t.Errorf("read with %d bytes of the head", n)
			}
		}
	}
}

// Ensures that tables make records shorter, and that a dictionary does.
func TestCoding_Trained_Gains(t *testing.T) {
	var objects [][]byte
	var samples []delta.Sample
	for i := range uint64(40) {
		o := append(text(i, 1500), strings.Repeat("common to all ", 10)...)
		objects, samples = append(objects, o), append(samples, delta.Sample{Object: o})
	}
	size := func(c *delta.Coding) (n int) {
		for _, o := range objects {
			n += len(encode(c, nil, o))
		}
		return n
	}
	plain, tables := size(delta.NewCoding(nil)), size(delta.NewCoding(nil).Trained(samples))
	dict := size(delta.NewCoding(bytes.Join(objects[:10], nil)).Trained(samples))
	if tables > plain*85/100 || dict > tables*90/100 {
		t.Errorf("plain %d, with tables %d, with a dictionary as well %d bytes", plain, tables, dict)
	}
}

// Ensures that no base, a wrong one and a damaged record are an error or give other bytes, but nothing worse.
func TestDecoder_Append_Damaged(t *testing.T) {
	base := text(1, 3000)
	src := append(bytes.Clone(base[500:2500]), text(2, 500)...)
	c := trained(text(2, 3000))
	rec := encode(c, base, src)
	var d delta.Decoder
	if _, err := d.Append(nil, c, nil, nil, rec); !errors.Is(err, delta.ErrCorrupt) {
		t.Errorf("without the base: %v", err)
	}
	if _, err := d.Append(nil, delta.NewCoding(nil), base, nil, rec); !errors.Is(err, delta.ErrCorrupt) {
		t.Errorf("without the coding: %v", err)
	}
	for i := range rec {
		if got, err := d.Append([]byte("x"), c, base, nil, rec[:i]); !errors.Is(err, delta.ErrCorrupt) || string(got) != "x" {
			t.Fatalf("cut to %d bytes: %q, %v", i, got, err)
		}
	}
}

// Ensures that whatever is encoded is read back, and that reading any bytes as a record ends without a panic and without
// much more memory than they can stand for.
func FuzzDecoder_Append(f *testing.F) {
	base := text(1, 2000)
	c := trained(text(2, 2000))
	f.Add(encode(c, base, append(bytes.Clone(base[100:900]), "and something new"...)))
	f.Add(encode(c, base, nil))
	f.Add([]byte("\x00\xff\xff\xff\x07\x05\x05\x05"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var d delta.Decoder
		head := in[len(in)/2:]
		head = head[:min(len(head), 36)]
		if out, err := d.Append(nil, c, base, head, in); err == nil {
			if n, err := delta.Size(in); n != len(out) || err != nil {
				t.Errorf("%d bytes, but Size = %d, %v", len(out), n, err)
			}
		}
		if got, err := d.Append(nil, c, base, head, encodeAfter(c, base, head, in)); err != nil || !bytes.Equal(got, in) {
			t.Errorf("%q became %q, %v", in, got, err)
		}
	})
}
