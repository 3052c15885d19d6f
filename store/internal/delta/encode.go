package delta

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/tarn-dev/tarn/store/internal/huffman"
)

// Encoder makes records. It is used by one goroutine at a time; the zero value is ready and has an empty base.
type Encoder struct {
	base []byte
	// seen is of base, and while an object is parsed of what of that has been. covered is what that has covered of base.
	seen    window
	covered []cover

	ops       ops
	lits      []byte
	text, hex []byte // which lits are split in
	bits      huffman.Writer
	code      []byte // of ops
	shift     int    // of the last copy of the base: how far behind its place there it stands here
	lastDict  int
}

// SetBase sets the base of the records that follow, which must not change as long as it is. To index it costs about as
// much as a record, so it is worth while to encode siblings in a row.
func (e *Encoder) SetBase(base []byte) {
	e.base = base
	e.seen = window{}
	for i := 0; i+minMatch <= len(base); i += step {
		e.seen.set(hash(binary.LittleEndian.Uint64(base[i:])), i)
	}
}

// cover is a slot of a window that another has taken the place of.
type cover struct {
	at uint32
	slot
}

// note makes known where a word of the object stands.
func (e *Encoder) note(h uint32, place int) {
	at := h >> (32 - windowBits)
	e.covered = append(e.covered, cover{at, e.seen[at]})
	e.seen.set(h, place)
}

// forget undoes all notes.
func (e *Encoder) forget() {
	for _, c := range slices.Backward(e.covered) {
		e.seen[c.at] = c.slot
	}
	e.covered = e.covered[:0]
}

// Append appends the record of src, of at most [MaxSize] bytes, to dst. What is in head, which is short, costs little where
// it occurs in src too; whoever reads the record has to know it.
func (e *Encoder) Append(dst []byte, c *Coding, head, src []byte) []byte {
	e.parse(c, head, src)
	o := &e.ops
	h := header{size: len(src), heads: len(o.heads), lens: len(o.lens), places: len(o.places)}
	if t := c.tables; t != nil && gains(&t.text, e.lits) {
		h.coded = true
		e.text, e.hex = split(e.text[:0], e.hex[:0], e.lits)
		h.text, h.hex = len(e.text), len(e.hex)
		e.bits.Reset(e.code[:0])
		e.bits.Write(&t.heads, o.heads)
		e.bits.Write(&t.lens, o.lens)
		e.bits.Write(&t.places, o.places)
		e.code = e.bits.Bytes()
		h.code = len(e.code)
		start := len(dst)
		dst = append(append(h.append(dst), e.hex...), e.code...)
		e.bits.Reset(dst)
		e.bits.Write(&t.text, e.text)
		if dst = e.bits.Bytes(); len(dst)-start <= o.size()+len(e.lits) {
			return dst
		}
		dst, h.coded = dst[:start], false
	}
	dst = append(append(append(h.append(dst), o.heads...), o.lens...), o.places...)
	return append(dst, e.lits...)
}

// minDict is the length from which on a copy of the dictionary is worth its place there, which takes three bytes mostly.
const minDict = 10

// parse finds the ops and the literals of src.
func (e *Encoder) parse(c *Coding, head, src []byte) {
	defer e.forget()
	e.ops, e.lits = ops{e.ops.heads[:0], e.ops.lens[:0], e.ops.places[:0]}, e.lits[:0]
	e.shift, e.lastDict = 0, 0
	headAt := (len(e.base) + step - 1) &^ (step - 1) // where head stands in the window, and then src
	own := headAt + (len(head)+step-1)&^(step-1)
	for i := 0; i+minMatch <= len(head); i += step {
		e.note(hash(binary.LittleEndian.Uint64(head[i:])), headAt+i)
	}
	lit := 0 // where the literals begin that are not written yet
	for i := 0; i+minMatch <= len(src); {
		word := binary.LittleEndian.Uint64(src[i:])
		origin, from, at := fromNext, e.base, i-e.shift
		if at < 0 || at+minMatch > len(e.base) || binary.LittleEndian.Uint64(e.base[at:]) != word {
			h := hash(word)
			place := e.seen.find(h)
			switch {
			case place < headAt:
				origin, from, at = fromBase, e.base, place
			case place < own:
				origin, from, at = fromHead, head, place-headAt
			default:
				origin, from, at = fromSelf, src, place-own
			}
			if place < 0 || binary.LittleEndian.Uint64(from[at:]) != word {
				if at = c.index.find(h); at < 0 || binary.LittleEndian.Uint64(c.dict[at:]) != word {
					if i%step == 0 {
						e.note(h, own+i)
					}
					i += stride(i - lit)
					continue
				}
				origin, from = fromDict, c.dict
			}
		}
		start, length := i, minMatch+matchLen(from[at+minMatch:], src[i+minMatch:])
		for start > lit && at > 0 && from[at-1] == src[start-1] {
			start, at, length = start-1, at-1, length+1
		}
		if origin == fromDict && length < minDict {
			i += stride(i - lit)
			continue
		}
		if origin == fromHead { // as if it stood before src
			origin, at = fromSelf, at-len(head)
		}
		e.op(origin, start-lit, at, start, length)
		e.lits = append(e.lits, src[lit:start]...)
		lit = start + length
		i = lit
	}
	e.lits = append(e.lits, src[lit:]...)
}

// op writes an op: a copy of length bytes from at, to start, after a number of literals.
func (e *Encoder) op(origin, literals, at, start, length int) {
	offset := at - (start - e.shift)
	if origin <= fromBase {
		origin = fromBase
		if offset == 0 {
			origin = fromNext
		}
		e.shift = start - at
	}
	o := &e.ops
	if literals < maxShort {
		o.heads = append(o.heads, byte(literals<<originBits|origin))
	} else {
		o.heads = append(o.heads, byte(maxShort<<originBits|origin))
		o.lens = binary.AppendUvarint(o.lens, uint64(literals-maxShort))
	}
	o.lens = binary.AppendUvarint(o.lens, uint64(length-minMatch))
	switch origin {
	case fromBase:
		o.places = binary.AppendVarint(o.places, int64(offset))
	case fromDict:
		o.places = binary.AppendVarint(o.places, int64(at-e.lastDict))
		e.lastDict = at + length
	case fromSelf:
		o.places = binary.AppendUvarint(o.places, uint64(start-at))
	}
}

// stride returns how far to go on after n bytes that were not found. What is long and new, such as ids and keys, is passed
// over ever faster. It is odd, because only every fourth place is known, and so sooner or later one of them is met.
func stride(n int) int {
	if n < 6 {
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
