// Package delta encodes bytes as what they differ in from bytes that are known already: a base, such as the object of a
// sibling, and a dictionary of text that all objects of a collection share.
//
// A record is a list of copies (from the base, the dictionary, or the record's own beginning) and the literal bytes
// between them, in the manner of Ziv and Lempel (LZ77, 1977) and of VCDIFF (RFC 3284). Both are then Huffman coded, each with
// a table that the whole collection shares, because a table of its own costs a short record more than it gains.
//
// Nothing here keeps the bytes it is given, but a [Coding] its dictionary.
package delta

import (
	"encoding/binary"
	"errors"
)

// ErrCorrupt says that a record is not what an [Encoder] made of the same coding and base.
var ErrCorrupt = errors.New("corrupt delta record")

// Where a copy comes from.
const (
	fromNext = iota // the base, as far from its place there as the last copy of it was: what lay between was replaced
	fromBase        // the base, at an offset from that
	fromDict        // the dictionary, at an offset from the end of its last copy
	fromSelf        // at a distance back; what is further than the beginning is the head
	fromHead        // not in records
)

// An op is: a byte with the origin in the low two bits and the number of literals before it in the others, which if all
// are set is followed by the rest of the number; the length of the copy less minMatch; its place, but for fromNext. Numbers
// are varints.
const (
	originBits = 2
	maxShort   = 1<<(8-originBits) - 1
	minMatch   = 8
)

// header is the beginning of a record: whether the literals and the ops are coded, and the lengths of the decoded bytes,
// of the ops and the literals once decoded, and of the ops as they are kept. The ops follow, and then the literals.
type header struct {
	litsCoded, opsCoded   bool
	size, ops, lits, kept int
}

func (h header) append(dst []byte) []byte {
	size := uint64(h.size) << 2
	if h.litsCoded {
		size |= 1
	}
	if h.opsCoded {
		size |= 2
	}
	dst = binary.AppendUvarint(dst, size)
	dst = binary.AppendUvarint(dst, uint64(h.ops))
	dst = binary.AppendUvarint(dst, uint64(h.lits))
	if h.opsCoded {
		dst = binary.AppendUvarint(dst, uint64(h.kept))
	}
	return dst
}

func readHeader(rec []byte) (h header, rest []byte, err error) {
	var n [3]uint64
	for i := range n {
		v, k := binary.Uvarint(rec)
		if k <= 0 || v > 4*MaxSize+3 {
			return h, nil, ErrCorrupt
		}
		n[i], rec = v, rec[k:]
	}
	h = header{litsCoded: n[0]&1 != 0, opsCoded: n[0]&2 != 0, size: int(n[0] >> 2), ops: int(n[1]), lits: int(n[2]), kept: int(n[1])}
	if h.opsCoded {
		v, k := binary.Uvarint(rec)
		if k <= 0 || v > uint64(len(rec)) {
			return h, nil, ErrCorrupt
		}
		h.kept, rec = int(v), rec[k:]
	}
	if h.kept > len(rec) || h.lits > h.size {
		return h, nil, ErrCorrupt
	}
	return h, rec, nil
}

// MaxSize is the most bytes that a record can stand for; an object that etcd takes is much smaller.
const MaxSize = 16 << 20

// Size returns the length of what rec decodes to.
func Size(rec []byte) (int, error) {
	h, _, err := readHeader(rec)
	return h.size, err
}
