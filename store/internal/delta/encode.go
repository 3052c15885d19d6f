package delta

import (
	"encoding/binary"
	"math/bits"

	"github.com/klauspost/compress/huff0"
)

// Encoder makes records. It is used by one goroutine at a time; the zero value is ready and has an empty base.
type Encoder struct {
	base  []byte
	known window // of base
	self  window

	ops, lits  []byte
	opsHuff    huff0.Scratch
	litsHuff   huff0.Scratch
	coding     *Coding // whose tables the two have
	lastDict   int
	nextInBase int
}

// SetBase sets the base of the records that follow, which must not change as long as it is. To index it costs about as
// much as a record, so it is worth while to encode siblings in a row.
func (e *Encoder) SetBase(base []byte) {
	e.base = base
	e.known.reset()
	e.known.addAll(base)
}

// Append appends the record of src, of at most [MaxSize] bytes, to dst.
func (e *Encoder) Append(dst []byte, c *Coding, src []byte) []byte {
	e.parse(c, src)
	h := header{size: len(src), ops: len(e.ops), lits: len(e.lits)}
	e.use(c)
	ops, coded := squeeze(&e.opsHuff, c.ops, e.ops)
	if coded {
		h.flags |= opsCoded
	}
	lits, coded := squeeze(&e.litsHuff, c.lits, e.lits)
	if coded {
		h.flags |= litsCoded
	}
	h.end = len(ops)
	dst = h.append(dst)
	dst = append(dst, ops...)
	return append(dst, lits...)
}

// use gives the encoder the tables of c.
func (e *Encoder) use(c *Coding) {
	if e.coding == c {
		return
	}
	e.coding = c
	if c.ops != nil {
		e.opsHuff.TransferCTable(&c.ops.encode)
		e.litsHuff.TransferCTable(&c.lits.encode)
	}
}

// squeeze Huffman codes in where that makes it shorter.
func squeeze(s *huff0.Scratch, t *table, in []byte) (out []byte, coded bool) {
	if t == nil || len(in) < 16 {
		return in, false
	}
	s.Reuse = huff0.ReusePolicyMust
	out, _, err := huff0.Compress1X(in, s)
	if err != nil { // longer, or too long for one block
		return in, false
	}
	return out, true
}

// parse finds the ops and the literals of src.
func (e *Encoder) parse(c *Coding, src []byte) {
	e.self.reset()
	e.ops, e.lits = e.ops[:0], e.lits[:0]
	e.lastDict, e.nextInBase = 0, 0
	lit := 0 // where the literals begin that are not written yet
	for i := 0; i+minMatch <= len(src); {
		origin, at, ok := e.find(c, src, i, lit)
		if !ok {
			e.self.add(src, i)
			i += stride(i - lit)
			continue
		}
		from := c.dict
		switch origin {
		case fromBase:
			from = e.base
		case fromSelf:
			from = src
		}
		start, length := i, matchLen(from[at:], src[i:])
		for start > lit && at > 0 && from[at-1] == src[start-1] {
			start, at, length = start-1, at-1, length+1
		}
		e.op(origin, start-lit, at, start, length)
		e.lits = append(e.lits, src[lit:start]...)
		e.self.add(src, i)
		lit = start + length
		i = lit
	}
	e.lits = append(e.lits, src[lit:]...)
}

// find looks for what follows at src[i:]: first where the base would go on, as if the literals so far were a change of
// equal length.
func (e *Encoder) find(c *Coding, src []byte, i, lit int) (origin, at int, ok bool) {
	word := binary.LittleEndian.Uint64(src[i:])
	if at := e.nextInBase + i - lit; at+minMatch <= len(e.base) && binary.LittleEndian.Uint64(e.base[at:]) == word {
		return fromBase, at, true
	}
	h := hash(word)
	if at, ok := e.known.find(e.base, word, h); ok {
		return fromBase, at, true
	}
	if at, ok := e.self.find(src, word, h); ok && at < i {
		return fromSelf, at, true
	}
	if at, ok := c.index.find(c.dict, word, h); ok {
		return fromDict, at, true
	}
	return 0, 0, false
}

// op writes an op: a copy of length bytes from at, to start, after a number of literals.
func (e *Encoder) op(origin, literals, at, start, length int) {
	if literals < maxShort {
		e.ops = append(e.ops, byte(literals<<originBits|origin))
	} else {
		e.ops = append(e.ops, byte(maxShort<<originBits|origin))
		e.ops = binary.AppendUvarint(e.ops, uint64(literals-maxShort))
	}
	e.ops = binary.AppendUvarint(e.ops, uint64(length-minMatch))
	switch origin {
	case fromBase:
		e.ops = binary.AppendVarint(e.ops, int64(at-e.nextInBase-literals))
		e.nextInBase = at + length
	case fromDict:
		e.ops = binary.AppendVarint(e.ops, int64(at-e.lastDict))
		e.lastDict = at + length
	case fromSelf:
		e.ops = binary.AppendUvarint(e.ops, uint64(start-at))
	}
}

// stride returns how far to go on after n bytes that were not found. What is long and new, such as ids and keys, is passed
// over ever faster. It is odd, because only every fourth place is known, and so sooner or later one of them is met.
func stride(n int) int {
	if n < 12 {
		return 1
	}
	return 3 + n>>6&^1
}

// matchLen returns how many bytes a and b have in common from the start.
func matchLen(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for ; i+8 <= n; i += 8 {
		if x := binary.LittleEndian.Uint64(a[i:]) ^ binary.LittleEndian.Uint64(b[i:]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
	}
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}
