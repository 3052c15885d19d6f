package huffman_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/store/internal/huffman"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read reads one text.
func read(r *huffman.Reader, t *huffman.Table, dst []byte) bool {
	return huffman.ReadBoth(r, []huffman.Part{{Table: t, Dst: dst}}, &huffman.Reader{}, nil)
}

// skewed returns n bytes of which some are much more frequent than others, and how often each occurs.
func skewed(n int, skew float64) (text []byte, counts [256]uint32) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	for range n {
		b := byte(min(255, r.ExpFloat64()*skew))
		text = append(text, b)
		counts[b]++
	}
	return text, counts
}

func BenchmarkReader_Read(b *testing.B) {
	text, counts := skewed(400, 12)
	table := huffman.New(&counts)
	t := &table
	var w huffman.Writer
	w.Reset(nil)
	w.Write(t, text)
	in := w.Bytes()
	dst := make([]byte, len(text))
	b.SetBytes(int64(len(text)))
	b.ReportMetric(8*float64(len(in))/float64(len(text)), "bits/B")
	for b.Loop() {
		var r huffman.Reader
		r.Reset(in)
		if !read(&r, t, dst) {
			b.Fatal("does not read")
		}
	}
}

func BenchmarkNew(b *testing.B) {
	_, counts := skewed(4000, 12)
	for b.Loop() {
		huffman.New(&counts)
	}
}

func BenchmarkWriter_Write(b *testing.B) {
	text, counts := skewed(400, 12)
	table := huffman.New(&counts)
	t := &table
	var w huffman.Writer
	var out []byte
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		w.Reset(out[:0])
		w.Write(t, text)
		out = w.Bytes()
	}
}

// entropy returns the bits per byte that no code goes below.
func entropy(counts *[256]uint32) (bits float64) {
	all := 0.0
	for _, n := range counts {
		all += float64(n)
	}
	for _, n := range counts {
		if n > 0 {
			bits -= float64(n) / all * math.Log2(float64(n)/all)
		}
	}
	return bits
}

// parts makes parts of a text, as many as it has for.
func parts(t *huffman.Table, dst []byte) (all []huffman.Part) {
	for size := 1; len(dst) > 0; size *= 5 {
		n := min(size, len(dst))
		all = append(all, huffman.Part{Table: t, Dst: dst[:n]})
		dst = dst[n:]
	}
	return all
}

// Ensures that what is written is read again, in parts with tables of their own, and takes hardly more than the entropy.
func TestWriter_Reader_RoundTrip(t *testing.T) {
	for _, skew := range []float64{0.1, 1, 12, 1000} {
		for _, n := range []int{0, 1, 2, 9, 10, 11, 100, 5000} {
			a, countsA := skewed(n, skew)
			b, countsB := skewed(n+3, 300)
			a1, b1 := huffman.New(&countsA), huffman.New(&countsB)
			tableA, tableB := &a1, &b1
			var w huffman.Writer
			w.Reset([]byte("before"))
			w.Write(tableA, a)
			out := w.Bytes()
			if !bytes.HasPrefix(out, []byte("before")) {
				t.Fatalf("what was there is gone: %q", out)
			}
			w.Reset(nil)
			w.Write(tableB, b)
			var r, s huffman.Reader
			r.Reset(out[len("before"):])
			gotA, gotB := make([]byte, len(a)), make([]byte, len(b))
			if !read(&r, tableA, gotA) || !r.Done() || !bytes.Equal(gotA, a) {
				t.Fatalf("%d bytes, skew %g: cannot be read, or something is left", n, skew)
			}
			clear(gotA)
			r.Reset(out[len("before"):])
			s.Reset(w.Bytes())
			if !huffman.ReadBoth(&r, parts(tableA, gotA), &s, parts(tableB, gotB)) || !r.Done() || !s.Done() {
				t.Fatalf("%d bytes, skew %g: cannot be read together, or something is left", n, skew)
			}
			if !bytes.Equal(gotA, a) || !bytes.Equal(gotB, b) {
				t.Fatalf("%d bytes, skew %g: others are read", n, skew)
			}
			if read(&r, tableA, make([]byte, 9)) {
				t.Fatalf("%d bytes, skew %g: reads more than was written", n, skew)
			}
		}
	}
	text, counts := skewed(100_000, 12)
	var w huffman.Writer
	w.Reset(nil)
	table := huffman.New(&counts)
	w.Write(&table, text)
	if got, least := 8*float64(len(w.Bytes()))/float64(len(text)), entropy(&counts); got > least*1.04 {
		t.Errorf("%.3f bits a byte, of %.3f at least", got, least)
	}
}

// Ensures that every byte has a code, however rare it is, and that none is too long: a Fibonacci sequence makes the longest.
func TestNew_AllBytes(t *testing.T) {
	var counts [256]uint32
	for i, a, b := 0, uint32(1), uint32(1); i < 40; i++ {
		counts[i] = a
		a, b = b, a+b
	}
	table := huffman.New(&counts)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	var w huffman.Writer
	w.Reset(nil)
	w.Write(&table, all)
	var r huffman.Reader
	r.Reset(w.Bytes())
	got := make([]byte, len(all))
	if !read(&r, &table, got) || !bytes.Equal(got, all) {
		t.Fatalf("read %v", got)
	}
}

// Ensures that bytes that nobody wrote do no harm.
func FuzzReader(f *testing.F) {
	text, counts := skewed(400, 12)
	table := huffman.New(&counts)
	var w huffman.Writer
	w.Reset(nil)
	w.Write(&table, text)
	f.Add(w.Bytes(), 400)
	f.Add([]byte{}, 1)
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, 30)
	f.Fuzz(func(t *testing.T, in []byte, n int) {
		if n < 0 || n > 1<<16 {
			return
		}
		var r huffman.Reader
		r.Reset(in)
		dst := make([]byte, n)
		if !read(&r, &table, dst) {
			return
		}
		var w huffman.Writer
		w.Reset(nil)
		w.Write(&table, dst)
		if out := w.Bytes(); r.Done() != bytes.Equal(out, in) {
			t.Fatalf("%d bytes are written as %x, not %x, though all is read: %t", n, out, in, r.Done())
		}
	})
}
