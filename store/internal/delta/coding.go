package delta

import (
	"encoding/binary"

	"github.com/klauspost/compress/huff0"
)

// Coding is what the records of a collection have in common: a dictionary, and how often each byte occurs in them. It is
// immutable and may be used concurrently. A record is only good together with the coding that it was made with.
type Coding struct {
	dict      []byte
	index     dictIndex
	ops, lits *table // nil: not coded
}

// table is a Huffman table for both directions.
type table struct {
	encode huff0.Scratch // never used itself: encoders take the table from it
	decode *huff0.Decoder
}

// NewCoding returns a coding with a dictionary, which the caller must not change any more, and which may be empty. Of
// longer ones than [MaxDict] the end is not used. Records made with it are not Huffman coded: see [Coding.Trained].
func NewCoding(dict []byte) *Coding {
	dict = dict[:min(len(dict), MaxDict):min(len(dict), MaxDict)]
	return &Coding{dict: dict, index: newDictIndex(dict)}
}

// MaxDict is how long a dictionary can be, in bytes.
const MaxDict = 1 << 18

// Sample is an object that is typical, and the base it is typically encoded against.
type Sample struct{ Base, Object []byte }

// Trained returns a coding with the same dictionary and with Huffman tables that fit the samples.
func (c *Coding) Trained(samples []Sample) *Coding {
	var e Encoder
	var ops, lits [256]uint32
	for i := range ops {
		ops[i], lits[i] = 1, 1 // whatever comes, there is a code for it
	}
	plain := &Coding{dict: c.dict, index: c.index}
	for _, s := range samples {
		e.SetBase(s.Base)
		e.parse(plain, s.Object)
		count(&ops, e.ops)
		count(&lits, e.lits)
	}
	t, err := newTable(&ops)
	if err != nil {
		return plain
	}
	u, err := newTable(&lits)
	if err != nil {
		return plain
	}
	plain.ops, plain.lits = t, u
	return plain
}

func count(histogram *[256]uint32, text []byte) {
	for _, b := range text {
		histogram[b] += 16 // so that the one that is there for all weighs little
	}
}

func newTable(histogram *[256]uint32) (*table, error) {
	t := &table{}
	if err := t.encode.BuildCTable(histogram); err != nil {
		return nil, err
	}
	text, err := t.encode.AppendTable(nil)
	if err != nil {
		return nil, err
	}
	s, _, err := huff0.ReadTable(text, nil)
	if err != nil {
		return nil, err
	}
	t.decode = s.Decoder()
	return t, nil
}

// dictIndex finds eight bytes again in a dictionary, as window does.
type dictIndex struct {
	places []uint16
	shift  uint8
}

func newDictIndex(dict []byte) dictIndex {
	bits := uint8(4)
	for 1<<bits < len(dict)/step*2 {
		bits++
	}
	x := dictIndex{places: make([]uint16, 1<<bits), shift: 32 - bits}
	for i := 0; i+minMatch <= len(dict); i += step {
		if place := i/step + 1; place <= 1<<16-1 {
			x.places[hash(binary.LittleEndian.Uint64(dict[i:]))>>x.shift] = uint16(place)
		}
	}
	return x
}

func (x *dictIndex) find(dict []byte, word uint64, h uint32) (at int, ok bool) {
	if len(x.places) == 0 {
		return 0, false
	}
	place := x.places[h>>x.shift]
	if place == 0 {
		return 0, false
	}
	at = int(place-1) * step
	return at, binary.LittleEndian.Uint64(dict[at:]) == word
}
