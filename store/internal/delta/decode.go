package delta

import "encoding/binary"

// Decoder reads records. It is used by one goroutine at a time; the zero value is ready.
type Decoder struct {
	lits, ops []byte
}

// Append appends what rec, made with the same coding, base and head, decodes to. On an error dst is returned as it was.
func (d *Decoder) Append(dst []byte, c *Coding, base, head, rec []byte) ([]byte, error) {
	h, body, err := readHeader(rec)
	if err != nil {
		return dst, err
	}
	ops, err := expand(&d.ops, c.ops, body[:h.kept], h.ops, h.opsCoded)
	if err != nil {
		return dst, err
	}
	lits, err := expand(&d.lits, c.lits, body[h.kept:], h.lits, h.litsCoded)
	if err != nil {
		return dst, err
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

// expand returns the n bytes that stored stands for, in buf if they are coded.
func expand(buf *[]byte, t *table, stored []byte, n int, coded bool) ([]byte, error) {
	if !coded {
		if len(stored) != n {
			return nil, ErrCorrupt
		}
		return stored, nil
	}
	// A code is at least one bit long.
	if t == nil || n > 8*len(stored) {
		return nil, ErrCorrupt
	}
	if cap(*buf) < n {
		*buf = make([]byte, n+n/4)
	}
	out, err := t.decode.Decompress4X((*buf)[:0:n], stored)
	if err != nil || len(out) != n {
		return nil, ErrCorrupt
	}
	return out, nil
}

// short is how much is copied at once, whether there is that much or not, where there is room: nearly all copies and
// literals are shorter, and a call of memmove costs more than the copy.
const short = 32

// number reads a varint from ops[i:]; next is -1 where there is none.
func number(ops []byte, i int) (n uint64, next int) {
	if i < len(ops) && ops[i] < 0x80 {
		return uint64(ops[i]), i + 1
	}
	n, k := binary.Uvarint(ops[min(i, len(ops)):])
	if k <= 0 || n > 4*MaxSize {
		return 0, -1
	}
	return n, i + k
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
