// Package delta encodes bytes as what they differ in from bytes that are known already: a base, such as the object of a
// sibling, and a dictionary of text that all objects of a collection share.
//
// A record is a list of copies (from the base, the dictionary, or the record's own beginning) and the literal bytes
// between them, in the manner of Ziv and Lempel (LZ77, 1977) and of VCDIFF (RFC 3284). Both are then Huffman coded, each with
// a table that the whole collection shares, because a table of its own costs a short record more than it gains; but runs of
// hexadecimal digits, which are most of what is new in an object, take half a byte each.
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

// header is the beginning of a record: the lengths of the decoded bytes and of the ops, and if they are coded, of the ops' code and of
// the text and the digits of the literals. In a coded record the digits follow, and then the code of the ops and that of the
// text; else the ops and the literals.
type header struct {
	coded                      bool
	size, ops, code, text, hex int
}

func (h header) append(dst []byte) []byte {
	if !h.coded {
		return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(h.size)<<1), uint64(h.ops))
	}
	dst = binary.AppendUvarint(dst, uint64(h.size)<<1|1)
	dst = binary.AppendUvarint(dst, uint64(h.ops))
	dst = binary.AppendUvarint(dst, uint64(h.code))
	dst = binary.AppendUvarint(dst, uint64(h.text))
	return binary.AppendUvarint(dst, uint64(h.hex))
}

func readHeader(rec []byte) (h header, rest []byte, err error) {
	var n [5]uint64
	fields := 2
	for i := 0; i < fields; i++ {
		v, k := binary.Uvarint(rec)
		if k <= 0 || v > 4*MaxSize+1 {
			return h, nil, ErrCorrupt
		}
		n[i], rec = v, rec[k:]
		if n[0]&1 != 0 {
			fields = len(n)
		}
	}
	h = header{coded: n[0]&1 != 0, size: int(n[0] >> 1), ops: int(n[1]), code: int(n[2]), text: int(n[3]), hex: int(n[4])}
	switch {
	case !h.coded:
		if h.ops > len(rec) {
			return h, nil, ErrCorrupt
		}
	case h.hex+h.code > len(rec) || h.ops > 8*h.code || h.text > 8*(len(rec)-h.hex-h.code): // a code is at least one bit long
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
