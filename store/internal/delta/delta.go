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

// ops is what is copied. An op is: in heads, a byte with the origin in the low two bits and the number of literals before it
// in the others; in lens, if all those are set, the rest of that number, and the length of the copy less minMatch; in places,
// but for fromNext, its place. All but the heads are varints. They are apart because each kind has a Huffman table of its own.
type ops struct{ heads, lens, places []byte }

func (o *ops) size() int { return len(o.heads) + len(o.lens) + len(o.places) }

const (
	originBits = 2
	maxShort   = 1<<(8-originBits) - 1
	minMatch   = 8
)

// header is the beginning of a record: the lengths of the decoded bytes and of the parts of the ops, and if they are coded, of
// the ops' code and of the text and the digits of the literals. In a coded record the digits follow, and then the code of the
// ops and that of the text; else the ops and the literals.
type header struct {
	coded               bool
	size                int
	heads, lens, places int
	code, text, hex     int
}

const (
	plainFields = 4
	codedFields = 7
)

func (h header) append(dst []byte) []byte {
	fields := [codedFields]int{h.size << 1, h.heads, h.lens, h.places, h.code, h.text, h.hex}
	n := plainFields
	if h.coded {
		fields[0], n = fields[0]|1, codedFields
	}
	for _, v := range fields[:n] {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	return dst
}

func readHeader(rec []byte) (h header, rest []byte, err error) {
	var n [codedFields]int
	fields := plainFields
	for i := 0; i < fields; i++ {
		v, k := binary.Uvarint(rec)
		if k <= 0 || v > 4*MaxSize+1 {
			return h, nil, ErrCorrupt
		}
		n[i], rec = int(v), rec[k:]
		if n[0]&1 != 0 {
			fields = codedFields
		}
	}
	h = header{n[0]&1 != 0, n[0] >> 1, n[1], n[2], n[3], n[4], n[5], n[6]}
	ops := h.heads + h.lens + h.places
	switch {
	case h.size > MaxSize:
		return h, nil, ErrCorrupt
	case !h.coded:
		if ops > len(rec) {
			return h, nil, ErrCorrupt
		}
	case h.hex+h.code > len(rec) || ops > 8*h.code || h.text > 8*(len(rec)-h.hex-h.code): // a code is at least one bit long
		return h, nil, ErrCorrupt
	}
	return h, rec, nil
}

// opsOf takes ops apart whose parts are behind each other.
func (h header) opsOf(b []byte) ops {
	return ops{b[:h.heads], b[h.heads:][:h.lens], b[h.heads+h.lens:][:h.places]}
}

// MaxSize is the most bytes that a record can stand for; an object that etcd takes is much smaller.
const MaxSize = 16 << 20

// Size returns the length of what rec decodes to.
func Size(rec []byte) (int, error) {
	h, _, err := readHeader(rec)
	return h.size, err
}
