// Package delta encodes bytes as what they differ in from bytes that are known already: a base, such as the object of a
// sibling, and a dictionary of text that all objects of a collection share.
//
// A record is a list of copies (from the base, the dictionary, or the record's own beginning) and the literal bytes
// between them, in the manner of Ziv and Lempel (LZ77, 1977) and of VCDIFF (RFC 3284); copies and literals are then
// Huffman coded with tables that the whole collection shares, because a table of its own costs a short record more than
// it gains.
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
	fromBase = iota // at an offset from where the last copy of the base would go on
	fromDict        // at an offset from the end of the last copy of the dictionary
	fromSelf        // at a distance back
)

// An op is: a byte with the origin in the low two bits and the number of literals before it in the others, which if all
// are set is followed by the rest of the number; the length of the copy less minMatch; its place. Numbers are varints.
const (
	originBits = 2
	maxShort   = 1<<(8-originBits) - 1
	minMatch   = 8
)

// A record begins with the length of the decoded bytes, a byte with the flags that follow, and the lengths of the ops, of
// the literals, and of the ops as stored.
const (
	opsCoded = 1 << iota
	litsCoded
)

// header is the beginning of a record.
type header struct {
	flags                byte
	size, ops, lits, end int
}

func (h header) append(dst []byte) []byte {
	dst = append(dst, h.flags)
	for _, n := range [...]int{h.size, h.ops, h.lits, h.end} {
		dst = binary.AppendUvarint(dst, uint64(n))
	}
	return dst
}

func readHeader(rec []byte) (h header, rest []byte, err error) {
	if len(rec) == 0 {
		return h, nil, ErrCorrupt
	}
	h.flags, rest = rec[0], rec[1:]
	for _, n := range [...]*int{&h.size, &h.ops, &h.lits, &h.end} {
		v, k := binary.Uvarint(rest)
		if k <= 0 || v > MaxSize {
			return h, nil, ErrCorrupt
		}
		*n, rest = int(v), rest[k:]
	}
	if h.end > len(rest) {
		return h, nil, ErrCorrupt
	}
	return h, rest, nil
}

// MaxSize is the most bytes that a record can stand for; an object that etcd takes is much smaller.
const MaxSize = 16 << 20

// Size returns the length of what rec decodes to.
func Size(rec []byte) (int, error) {
	h, _, err := readHeader(rec)
	return h.size, err
}
