// Package huffman codes bytes with a table that is agreed beforehand, as RFC 1951 does with its fixed one: what is coded
// is so short that a table of its own would cost more than it gains.
package huffman

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// maxLength is the most bits that a code has. A table for reading has 1<<maxLength entries.
const maxLength = 11

// Table has a code for every byte. It is immutable and may be used concurrently. Make one with [New].
type Table struct {
	codes  [256]code
	lookup [1 << maxLength]entry // by the next bits, the first of them the lowest
}

// code is the bits of a symbol, and how many there are.
type code struct{ bits, length uint16 }

// entry is what bits begin with: one symbol, or two if there is room for the codes of both. From the lowest bit on it has the
// first symbol and the second in eight bits each, in as many after those the length of all codes, and then four with how many
// symbols there are and four with the length of the first code.
type entry uint32

func (e entry) pair() uint16  { return uint16(e) }
func (e entry) bits() uint    { return uint(e>>16) & 15 }
func (e entry) symbols() int  { return int(e >> 24 & 3) }
func (e entry) single() uint8 { return uint8(e) }
func (e entry) first() uint   { return uint(e >> 28) }

// New returns the table that is best for bytes that occur as often as counts says. What does not occur gets a code too.
func New(counts *[256]uint32) (t Table) {
	lengths := lengthsOf(counts)
	next, last := 0, uint8(0) // codes are given out in order of their lengths
	order := symbols()
	slices.SortStableFunc(order, func(a, b uint8) int { return cmp.Compare(lengths[a], lengths[b]) })
	for _, s := range order {
		n := lengths[s]
		next <<= n - last
		last = n
		t.codes[s] = code{reverse(next, n), uint16(n)}
		next++
	}
	t.fill()
	return t
}

// fill makes lookup of codes.
func (t *Table) fill() {
	var first [1 << maxLength]uint8
	for s, c := range t.codes {
		for i := int(c.bits); i < len(first); i += 1 << c.length {
			first[i] = uint8(s)
		}
	}
	for i := range t.lookup {
		a := first[i]
		n := t.codes[a].length
		e := entry(a) | entry(n)<<16 | 1<<24 | entry(n)<<28
		b := first[i>>n]
		if both := n + t.codes[b].length; both <= maxLength {
			e = entry(a) | entry(b)<<8 | entry(both)<<16 | 2<<24 | entry(n)<<28
		}
		t.lookup[i] = e
	}
}

func reverse(bits int, n uint8) (r uint16) {
	for range n {
		r, bits = r<<1|uint16(bits&1), bits>>1
	}
	return r
}

func symbols() []uint8 {
	all := make([]uint8, 256)
	for i := range all {
		all[i] = uint8(i)
	}
	return all
}

// lengthsOf returns the lengths of the best codes that are no longer than maxLength, by package-merge (Larmore and
// Hirschberg, 1990).
func lengthsOf(counts *[256]uint32) (lengths [256]uint8) {
	type item struct {
		weight uint64
		leaf   bool
	}
	order := symbols()
	weight := func(s uint8) uint64 { return max(uint64(counts[s]), 1) }
	slices.SortStableFunc(order, func(a, b uint8) int { return cmp.Compare(weight(a), weight(b)) })
	var levels [maxLength][]item
	var below []item
	for n := range levels { // the symbols, and pairs of what the level below has
		level := make([]item, 0, 2*len(order))
		for leaf, pair := 0, 0; leaf < len(order) || pair+1 < len(below); {
			both := uint64(math.MaxUint64)
			if pair+1 < len(below) {
				both = below[pair].weight + below[pair+1].weight
			}
			if leaf < len(order) && weight(order[leaf]) <= both {
				level = append(level, item{weight(order[leaf]), true})
				leaf++
			} else {
				level = append(level, item{both, false})
				pair += 2
			}
		}
		levels[n], below = level, level
	}
	for n, take := maxLength-1, 2*len(order)-2; n >= 0; n-- {
		leaves := 0
		for _, it := range levels[n][:take] {
			if it.leaf {
				lengths[order[leaves]]++
				leaves++
			}
		}
		take = 2 * (take - leaves)
	}
	return lengths
}

// Bits returns how long the code of b is.
func (t *Table) Bits(b byte) int { return int(t.codes[b].length) }

// Writer puts codes behind each other. The zero value is ready; it is used by one goroutine.
type Writer struct {
	out  []byte
	bits uint64
	n    uint // how many of bits are not in out yet: less than 32
}

// Reset starts a text that is appended to dst.
func (w *Writer) Reset(dst []byte) { *w = Writer{out: dst} }

// Write codes text.
func (w *Writer) Write(t *Table, text []byte) {
	w.out = slices.Grow(w.out, len(text)*maxLength/8+16)
	out, bits, n := w.out, w.bits, w.n
	for _, b := range text {
		c := t.codes[b]
		bits |= uint64(c.bits) << (n & 63)
		n += uint(c.length)
		if n >= 32 {
			out = binary.LittleEndian.AppendUint32(out, uint32(bits))
			bits, n = bits>>32, n-32
		}
	}
	w.out, w.bits, w.n = out, bits, n
}

// Bytes ends the text and returns what it was appended to.
func (w *Writer) Bytes() []byte {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.out = append(w.out, byte(w.bits))
		w.bits >>= 8
	}
	return w.out
}

// Reader reads a text that a [Writer] wrote. It is used by one goroutine.
type Reader struct {
	in   []byte
	bits uint64
	n    uint // how many of bits are good
}

// Reset starts reading in.
func (r *Reader) Reset(in []byte) { *r = Reader{in: in} }

// fill takes as much as there is room for, if there is more than that, and says whether that is enough for some codes.
func (r *Reader) fill() bool {
	if len(r.in) < 8 {
		return false
	}
	r.bits |= binary.LittleEndian.Uint64(r.in) << (r.n & 63)
	took := (63 - r.n) >> 3
	r.in, r.n = r.in[took:], r.n+took*8
	return true
}

// some is how many codes are read at once. They are no longer than what fill leaves, and no more than 2*some bytes.
const some = (64 - 8) / maxLength

// Part is a part of a text, and the table that it was written with.
type Part struct {
	Table *Table
	Dst   []byte
}

// ReadBoth reads the parts of two texts, which takes less time than one after the other: a code's place is only known when
// the one before it has been read. It reports whether all were there.
func ReadBoth(r *Reader, rparts []Part, s *Reader, sparts []Part) bool {
	i, j := 0, 0 // how far the first parts have been read
	for len(rparts) > 0 && len(sparts) > 0 {
		a, b := rparts[0], sparts[0]
		i, j = readBoth(r, a, i, s, b, j)
		if len(a.Dst)-i <= len(b.Dst)-j {
			if !r.finish(a.Table, a.Dst, i) {
				return false
			}
			rparts, i = rparts[1:], 0
		} else {
			if !s.finish(b.Table, b.Dst, j) {
				return false
			}
			sparts, j = sparts[1:], 0
		}
	}
	return r.rest(rparts, i) && s.rest(sparts, j)
}

// rest reads parts, of which the first has been read as far as i.
func (r *Reader) rest(parts []Part, i int) bool {
	for _, p := range parts {
		if !r.finish(p.Table, p.Dst, i) {
			return false
		}
		i = 0
	}
	return true
}

// readBoth reads two parts from i and j on, as long as there is much of both, and returns how far it came.
func readBoth(r *Reader, a Part, i int, s *Reader, b Part, j int) (newI, newJ int) {
	for len(a.Dst)-i >= 2*some && len(b.Dst)-j >= 2*some && r.fill() && s.fill() {
		rbits, rn, sbits, sn := r.bits, r.n, s.bits, s.n
		for range some {
			e, f := a.Table.lookup[rbits&(1<<maxLength-1)], b.Table.lookup[sbits&(1<<maxLength-1)]
			binary.LittleEndian.PutUint16(a.Dst[i:], e.pair())
			binary.LittleEndian.PutUint16(b.Dst[j:], f.pair())
			i, rbits, rn = i+e.symbols(), rbits>>e.bits(), rn-e.bits()
			j, sbits, sn = j+f.symbols(), sbits>>f.bits(), sn-f.bits()
		}
		r.bits, r.n, s.bits, s.n = rbits, rn, sbits, sn
	}
	return i, j
}

// finish reads dst from i on.
func (r *Reader) finish(t *Table, dst []byte, i int) bool {
	for len(dst)-i >= 2*some && r.fill() {
		bits, n := r.bits, r.n
		for range some {
			e := t.lookup[bits&(1<<maxLength-1)]
			binary.LittleEndian.PutUint16(dst[i:], e.pair())
			i, bits, n = i+e.symbols(), bits>>e.bits(), n-e.bits()
		}
		r.bits, r.n = bits, n
	}
	for ; i < len(dst); i++ {
		for r.n < maxLength && len(r.in) > 0 {
			r.bits |= uint64(r.in[0]) << (r.n & 63)
			r.in, r.n = r.in[1:], r.n+8
		}
		e := t.lookup[r.bits&(1<<maxLength-1)]
		if e.first() > r.n {
			return false
		}
		dst[i] = e.single()
		r.bits, r.n = r.bits>>e.first(), r.n-e.first()
	}
	return true
}

// Done reports whether nothing is left, but the bits that fill the last byte.
func (r *Reader) Done() bool { return len(r.in) == 0 && r.n < 8 && r.bits == 0 }
