package delta

import "github.com/tarn-dev/tarn/store/internal/huffman"

// Decoder reads records. It is used by one goroutine at a time; the zero value is ready.
type Decoder struct {
	ops           []byte // the parts behind each other
	text, lits    []byte
	opsIn, textIn huffman.Reader
}

// Append appends what rec, made with the same coding, base and head, decodes to. On an error dst is returned as it was.
func (d *Decoder) Append(dst []byte, c *Coding, base, head, rec []byte) ([]byte, error) {
	h, body, err := readHeader(rec)
	if err != nil {
		return dst, err
	}
	var o ops
	var lits []byte
	if h.coded {
		if o, lits, err = d.expand(c, h, body); err != nil {
			return dst, err
		}
	} else {
		o = h.opsOf(body)
		lits = body[o.size():]
	}
	start := len(dst)
	if cap(dst)-start < h.size {
		grown := make([]byte, start, start+h.size)
		copy(grown, dst)
		dst = grown
	}
	if !replay(dst[start:start+h.size], c.dict, base, head, o, lits) {
		return dst[:start], ErrCorrupt
	}
	return dst[:start+h.size], nil
}

// expand returns the ops and the literals of a coded record. They are good until the next call.
func (d *Decoder) expand(c *Coding, h header, body []byte) (o ops, lits []byte, err error) {
	t := c.tables
	if t == nil {
		return o, nil, ErrCorrupt
	}
	d.ops, d.text = sized(d.ops, h.heads+h.lens+h.places), sized(d.text, h.text)
	o = h.opsOf(d.ops)
	// No literals are longer than all of it.
	d.lits = sized(d.lits, min(h.size, h.text+4*h.hex))
	hex, code := body[:h.hex], body[h.hex:]
	d.opsIn.Reset(code[:h.code])
	d.textIn.Reset(code[h.code:])
	opsParts := [...]huffman.Part{{Table: &t.heads, Dst: o.heads}, {Table: &t.lens, Dst: o.lens}, {Table: &t.places, Dst: o.places}}
	textParts := [...]huffman.Part{{Table: &t.text, Dst: d.text}}
	if !huffman.ReadBoth(&d.opsIn, opsParts[:], &d.textIn, textParts[:]) || !d.opsIn.Done() || !d.textIn.Done() {
		return o, nil, ErrCorrupt
	}
	lits, ok := join(d.lits[:0:len(d.lits)], d.text, hex)
	if !ok {
		return o, nil, ErrCorrupt
	}
	return o, lits, nil
}

// sized returns n bytes, in buf if there are so many.
func sized(buf []byte, n int) []byte {
	if cap(buf) < n {
		return make([]byte, n, n+n/4)
	}
	return buf[:n]
}

// short is how much is copied at once, whether there is that much or not, where there is room: nearly all copies and
// literals are shorter, and a call of memmove costs more than the copy.
const short = 32

// number reads a varint from b[i:]; next is -1 where there is none.
func number(b []byte, i int) (n uint64, next int) {
	for shift := 0; i < len(b) && shift < 28; shift += 7 { // four bytes, for what is at most 4*MaxSize
		c := b[i]
		i++
		n |= uint64(c&0x7F) << shift
		if c < 0x80 {
			return n, i
		}
	}
	return 0, -1
}

// replay follows the ops and reports whether they fill dst exactly.
func replay(dst, dict, base, head []byte, o ops, lits []byte) bool {
	out, shift, lastDict := 0, 0, 0
	lensAt, placesAt := 0, 0
	for _, op := range o.heads {
		origin, literals := int(op)&(1<<originBits-1), int(op)>>originBits
		if literals == maxShort {
			more, next := number(o.lens, lensAt)
			if next < 0 {
				return false
			}
			literals, lensAt = literals+int(more), next
		}
		length, next := number(o.lens, lensAt)
		if next < 0 {
			return false
		}
		lensAt = next
		size := int(length) + minMatch
		if literals > len(lits) || literals+size > len(dst)-out {
			return false
		}
		if literals <= short && len(lits) >= short && len(dst)-out >= short {
			*(*[short]byte)(dst[out:]) = *(*[short]byte)(lits)
		} else {
			copy(dst[out:], lits[:literals])
		}
		lits, out = lits[literals:], out+literals

		place := uint64(0)
		if origin != fromNext {
			if place, placesAt = number(o.places, placesAt); placesAt < 0 {
				return false
			}
		}
		from, at := base, out-shift
		switch origin {
		case fromBase:
			at += signed(place)
		case fromDict:
			from, at = dict, lastDict+signed(place)
		case fromSelf:
			switch before := int(place) - out; {
			case place == 0 || before > len(head) || before > 0 && size > before:
				return false
			case before > 0:
				copy(dst[out:], head[len(head)-before:][:size])
			default:
				repeat(dst, out, int(place), size)
			}
			out += size
			continue
		}
		if at < 0 || at > len(from) || size > len(from)-at {
			return false
		}
		if size <= short && len(from)-at >= short && len(dst)-out >= short {
			*(*[short]byte)(dst[out:]) = *(*[short]byte)(from[at:])
		} else {
			copy(dst[out:], from[at:at+size])
		}
		if origin == fromDict {
			lastDict = at + size
		} else {
			shift = out - at
		}
		out += size
	}
	if len(lits) != len(dst)-out || lensAt != len(o.lens) || placesAt != len(o.places) {
		return false
	}
	copy(dst[out:], lits)
	return true
}

// signed undoes the zigzag of [binary.AppendVarint].
func signed(u uint64) int { return int(u>>1) ^ -int(u&1) }

// repeat copies size bytes to dst[out:] from distance before it; they may reach into themselves.
func repeat(dst []byte, out, distance, size int) {
	for size > 0 {
		n := min(size, distance)
		copy(dst[out:out+n], dst[out-distance:])
		out, size = out+n, size-n
	}
}
