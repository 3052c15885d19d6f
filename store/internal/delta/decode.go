package delta

import "encoding/binary"

// Decoder reads records. It is used by one goroutine at a time; the zero value is ready.
type Decoder struct {
	ops, lits []byte
}

// Append appends what rec, made with the same coding and base, decodes to. On an error dst is returned as it was.
func (d *Decoder) Append(dst []byte, c *Coding, base, rec []byte) ([]byte, error) {
	h, body, err := readHeader(rec)
	if err != nil {
		return dst, err
	}
	ops, err := expand(&d.ops, c.ops, body[:h.end], h.ops, h.flags&opsCoded != 0)
	if err != nil {
		return dst, err
	}
	lits, err := expand(&d.lits, c.lits, body[h.end:], h.lits, h.flags&litsCoded != 0)
	if err != nil {
		return dst, err
	}
	if h.lits > h.size {
		return dst, ErrCorrupt
	}
	start := len(dst)
	if cap(dst)-start < h.size {
		grown := make([]byte, start, start+h.size)
		copy(grown, dst)
		dst = grown
	}
	out, ok := replay(dst[start:start:start+h.size], c.dict, base, ops, lits)
	if !ok {
		return dst[:start], ErrCorrupt
	}
	return dst[:start+len(out)], nil
}

// expand returns the n bytes that stored stands for. They are good until the next call with the same buffer.
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
	out, err := t.decode.Decompress1X((*buf)[:0:n], stored)
	if err != nil || len(out) != n {
		return nil, ErrCorrupt
	}
	return out, nil
}

// replay follows the ops. dst is empty and has the capacity for exactly what comes out.
func replay(dst, dict, base, ops, lits []byte) (out []byte, ok bool) {
	nextInBase, lastDict := 0, 0
	for len(ops) > 0 {
		origin, literals := int(ops[0])&(1<<originBits-1), int(ops[0])>>originBits
		ops = ops[1:]
		if literals == maxShort {
			more, n := binary.Uvarint(ops)
			if n <= 0 || more > MaxSize {
				return nil, false
			}
			literals, ops = literals+int(more), ops[n:]
		}
		length, n := binary.Uvarint(ops)
		if n <= 0 || length > MaxSize || literals > len(lits) {
			return nil, false
		}
		ops = ops[n:]
		size := int(length) + minMatch
		if literals+size > cap(dst)-len(dst) {
			return nil, false
		}
		dst, lits = append(dst, lits[:literals]...), lits[literals:]
		if origin == fromSelf {
			distance, n := binary.Uvarint(ops)
			if n <= 0 || distance == 0 || distance > uint64(len(dst)) {
				return nil, false
			}
			ops = ops[n:]
			dst = repeat(dst, int(distance), size)
			continue
		}
		offset, n := binary.Varint(ops)
		if n <= 0 || offset > MaxSize || offset < -MaxSize {
			return nil, false
		}
		ops = ops[n:]
		from, at := dict, lastDict+int(offset)
		switch origin {
		case fromBase:
			from, at = base, nextInBase+literals+int(offset)
		case fromDict:
		default:
			return nil, false
		}
		if at < 0 || at > len(from) || size > len(from)-at {
			return nil, false
		}
		dst = append(dst, from[at:at+size]...)
		if origin == fromBase {
			nextInBase = at + size
		} else {
			lastDict = at + size
		}
	}
	if len(lits) != cap(dst)-len(dst) {
		return nil, false
	}
	return append(dst, lits...), true
}

// repeat appends size bytes that begin distance before the end; they may reach into themselves.
func repeat(dst []byte, distance, size int) []byte {
	for size > 0 {
		n := min(size, distance)
		at := len(dst) - distance
		dst = append(dst, dst[at:at+n]...)
		size -= n
	}
	return dst
}
