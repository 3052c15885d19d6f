package delta

import "github.com/tarn-dev/tarn/store/internal/huffman"

// Decoder reads records. It is used by one goroutine at a time; the zero value is ready.
type Decoder struct {
	ops, text, lits []byte
	opsIn, textIn   huffman.Reader
}

// Append appends what rec, made with the same coding, base and head, decodes to. On an error dst is returned as it was.
func (d *Decoder) Append(dst []byte, c *Coding, base, head, rec []byte) ([]byte, error) {
	h, body, err := readHeader(rec)
	if err != nil {
		return dst, err
	}
	ops, lits := body[:min(h.ops, len(body))], body[min(h.ops, len(body)):]
	if h.coded {
		if ops, lits, err = d.expand(c, h, body); err != nil {
			return dst, err
		}
	}
	start := len(dst)
	if cap(dst)-start < h.size {
		grown := make([]byte, start, start+h.size)
		copy(grown, dst)
		dst = grown
	}
	if !replay(dst[start:start+h.size], c.dict, base, head, ops, lits) {
		return dst[:start], ErrCorrupt
	}
	return dst[:start+h.size], nil
}

// expand returns the ops and the literals of a coded record. They are good until the next call.
func (d *Decoder) expand(c *Coding, h header, body []byte) (ops, lits []byte, err error) {
	if c.ops == nil {
		return nil, nil, ErrCorrupt
	}
	d.ops, d.text = sized(d.ops, h.ops), sized(d.text, h.text)
	// No literals are longer than all of it.
	d.lits = sized(d.lits, min(h.size, h.text+4*h.hex))
	hex, code := body[:h.hex], body[h.hex:]
	d.opsIn.Reset(code[:h.code])
	d.textIn.Reset(code[h.code:])
	if !huffman.ReadBoth(&d.opsIn, c.ops, d.ops, &d.textIn, c.text, d.text) || !d.opsIn.Done() || !d.textIn.Done() {
		return nil, nil, ErrCorrupt
	}
	lits, ok := join(d.lits[:0:len(d.lits)], d.text, hex)
	if !ok {
		return nil, nil, ErrCorrupt
	}
	return d.ops, lits, nil
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

// number reads a varint from ops[i:]; next is -1 where there is none.
func number(ops []byte, i int) (n uint64, next int) {
	for shift := 0; i < len(ops) && shift < 28; shift += 7 { // four bytes, for what is at most 2*MaxSize
		b := ops[i]
		i++
		n |= uint64(b&0x7F) << shift
		if b < 0x80 {
			return n, i
		}
	}
	return 0, -1
}

// replay follows the ops and reports whether they fill dst exactly.
func replay(dst, dict, base, head, ops, lits []byte) bool {
	out, shift, lastDict := 0, 0, 0
	for i := 0; i < len(ops); {
		origin, literals := int(ops[i])&(1<<originBits-1), int(ops[i])>>originBits
		i++
		if literals == maxShort {
			more, next := number(ops, i)
			if next < 0 {
				return false
			}
			literals, i = literals+int(more), next
		}
		length, next := number(ops, i)
		if next < 0 {
			return false
		}
		i = next
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
			if place, next = number(ops, i); next < 0 {
				return false
			}
			i = next
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
	if len(lits) != len(dst)-out {
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
