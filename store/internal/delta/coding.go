package delta

import (
	"encoding/binary"

	"github.com/tarn-dev/tarn/store/internal/huffman"
)

// Coding is what the records of a collection have in common: a dictionary, and how often each byte occurs in them. It is
// immutable and may be used concurrently. A record is only good together with the coding that it was made with.
type Coding struct {
	dict   []byte
	index  dictIndex
	tables *tables // nil: nothing is coded
}

// tables are for the parts of the ops, and the text of the literals.
type tables struct{ heads, lens, places, text huffman.Table }

// NewCoding returns a coding with a dictionary, which the caller must not change any more, and which may be empty. Of
// longer ones than [MaxDict] the end is not used. Records made with it are not Huffman coded: see [Coding.Trained].
func NewCoding(dict []byte) *Coding {
	dict = dict[:min(len(dict), MaxDict):min(len(dict), MaxDict)]
	return &Coding{dict: dict, index: newDictIndex(dict)}
}

// Size returns how many bytes the dictionary and the index over it take.
func (c *Coding) Size() int64 { return int64(len(c.dict)) + 4*int64(len(c.index.slots)) }

// MaxDict is how long a dictionary can be, in bytes.
const MaxDict = 1 << 18

// Sample is an object that is typical, and the base it is typically encoded against.
type Sample struct{ Base, Object []byte }

// Trained returns a coding with the same dictionary and with Huffman tables that fit the samples.
func (c *Coding) Trained(samples []Sample) *Coding {
	var e Encoder
	var heads, lens, places, text counts
	for _, s := range samples {
		e.SetBase(s.Base)
		e.parse(c, nil, s.Object)
		e.text, e.hex = split(e.text[:0], e.hex[:0], e.lits)
		heads.add(e.ops.heads)
		lens.add(e.ops.lens)
		places.add(e.ops.places)
		text.add(e.text)
	}
	t := &tables{heads.table(), lens.table(), places.table(), text.table()}
	return &Coding{dict: c.dict, index: c.index, tables: t}
}

// counts says how often each byte occurs.
type counts [256]uint32

func (c *counts) add(text []byte) {
	for _, b := range text {
		c[b]++
	}
}

// table returns a table for what was counted. Whatever comes has a code, but what has not come so far weighs little.
func (c *counts) table() huffman.Table {
	var weights [256]uint32
	for i, n := range c {
		weights[i] = 16*n + 1
	}
	return huffman.New(&weights)
}

// dictIndex finds eight bytes again in a dictionary, as window does.
type dictIndex struct {
	slots []slot
	shift uint8
}

func newDictIndex(dict []byte) dictIndex {
	bits := uint8(4)
	for 1<<bits < len(dict)/step {
		bits++
	}
	x := dictIndex{slots: make([]slot, 1<<bits), shift: 32 - bits}
	for i := 0; i+minMatch <= len(dict); i += step {
		if i <= maxPlace {
			h := hash(binary.LittleEndian.Uint64(dict[i:]))
			x.slots[h>>x.shift] = slotOf(h, i)
		}
	}
	return x
}

func (x *dictIndex) find(h uint32) int {
	if len(x.slots) == 0 {
		return -1
	}
	return x.slots[h>>x.shift].place(h)
}
