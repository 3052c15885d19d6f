package delta

import (
	"bytes"

	"github.com/tarn-dev/tarn/store/internal/huffman"
)

// Literals are mostly digests, ids and what is left of them: hexadecimal digits, of which a Huffman table that has all
// other bytes to think of too makes five bits or more. So the digits of longer runs are kept by themselves, two in a byte,
// and only the rest, the text, is coded. Where a run was, the text has a mark, how many pairs of digits it is, and if there
// are dashes between them, as in a UUID, their groups. A mark with 0 stands for the byte itself.
const (
	mark      = 0xFF
	hasGroups = 1 << 7 // together with the number of pairs
	maxPairs  = hasGroups - 1
	minRun    = 10 // characters from which on a run is worth its mark
)

// groups says where the dashes of a run are: the first after so many pairs of digits, and one after every four digits more.
type groups struct{ first, dashes int }

const (
	groupDigits = 4
	dashBits    = 3
	maxDashes   = 1<<dashBits - 1
	maxFirst    = 1<<(8-dashBits) - 1
)

func (g groups) byte() byte { return byte(g.first<<dashBits | g.dashes) }

func groupsOf(b byte) groups { return groups{int(b) >> dashBits, int(b) & maxDashes} }

// digitOf has the value of each hexadecimal digit in lower case, and above that for other bytes.
var digitOf = func() (values [256]byte) {
	for i := range values {
		values[i] = 0xFF
	}
	for i, c := range []byte(digits) {
		values[c] = byte(i)
	}
	return values
}()

const digits = "0123456789abcdef"

// pairOf has the two digits of each byte.
var pairOf = func() (pairs [256][2]byte) {
	for i := range pairs {
		pairs[i] = [2]byte{digits[i>>4], digits[i&15]}
	}
	return pairs
}()

// run appends to hex the run of digits that s begins with, two in a byte. It returns where the dashes between them are,
// and how long the run is with those. It ends at an odd digit.
func run(hex, s []byte) (newHex []byte, g groups, length int) {
	hex, length = pairs(hex, s, maxPairs)
	if length > 2*maxFirst {
		return hex, g, length
	}
	g.first = length / 2
	for got, most := groupDigits, maxPairs-g.first; got == groupDigits && g.dashes < maxDashes && length < len(s) && s[length] == '-'; most -= got / 2 {
		if hex, got = pairs(hex, s[length+1:], most); got == 0 {
			break
		}
		g.dashes++
		length += 1 + got
	}
	return hex, g, length
}

// pairs appends to hex the pairs of digits that s begins with, and returns how long they are.
func pairs(hex, s []byte, most int) (newHex []byte, length int) {
	s = s[:min(len(s), 2*most)]
	for ; length+2 <= len(s); length += 2 {
		high, low := digitOf[s[length]], digitOf[s[length+1]]
		if high|low > 15 {
			break
		}
		hex = append(hex, high<<4|low)
	}
	return hex, length
}

// split appends to text and hex what lits are made of.
func split(text, hex, lits []byte) (newText, newHex []byte) {
	for len(lits) > 0 {
		c := lits[0]
		if digitOf[c] > 15 {
			text = append(text, c)
			if c == mark {
				text = append(text, 0)
			}
			lits = lits[1:]
			continue
		}
		start := len(hex)
		var g groups
		var length int
		hex, g, length = run(hex, lits)
		switch n := byte(len(hex) - start); {
		case length < minRun:
			hex, length = hex[:start], max(length, 1)
			text = append(text, lits[:length]...)
		case g.dashes == 0:
			text = append(text, mark, n)
		default:
			text = append(text, mark, n|hasGroups, g.byte())
		}
		lits = lits[length:]
	}
	return text, hex
}

// gains guesses whether literals take less when they are split and coded. What is random or compressed already does not, and
// to find that out by trying would take more time than all the rest.
func gains(t *huffman.Table, lits []byte) bool {
	const (
		few    = 512 // are always tried
		looked = 128 // of more, so many are looked at
	)
	if len(lits) <= few {
		return true
	}
	bits := 0
	for i := range looked {
		s := lits[i*len(lits)/looked:]
		if len(s) > 1 && digitOf[s[0]]|digitOf[s[1]] < 16 { // one alone is chance
			bits += 4
		} else {
			bits += t.Bits(s[0])
		}
	}
	return bits < looked*31/4 // of 8
}

// join appends to dst, up to its capacity, what text and hex were split from. It reports whether they could have been.
func join(dst, text, hex []byte) ([]byte, bool) {
	for {
		n := bytes.IndexByte(text, mark)
		plain := text[:max(n, 0)]
		if n < 0 {
			plain = text
		}
		if len(plain) >= cap(dst)-len(dst) {
			return append(dst, plain...), n < 0 && len(hex) == 0 && len(plain) == cap(dst)-len(dst)
		}
		dst = append(dst, plain...)
		if n < 0 {
			return dst, len(hex) == 0
		}
		if text = text[n+1:]; len(text) == 0 {
			return dst, false
		}
		pairs := int(text[0] & maxPairs)
		g := groups{first: pairs}
		if text[0]&hasGroups != 0 {
			if text = text[1:]; len(text) == 0 {
				return dst, false
			}
			if g = groupsOf(text[0]); g.dashes == 0 {
				return dst, false
			}
		}
		text = text[1:]
		if pairs == 0 {
			dst = append(dst, mark) // there is room: see above
			continue
		}
		last := pairs - g.first - (g.dashes-1)*groupDigits/2 // pairs after the last dash
		if pairs > len(hex) || 2*pairs+g.dashes > cap(dst)-len(dst) || g.dashes > 0 && last < 0 {
			return dst, false
		}
		dst, hex = unpack(dst, hex, g.first)
		for ; g.dashes > 0; g.dashes-- {
			n := groupDigits / 2
			if g.dashes == 1 {
				n = last
			}
			dst, hex = unpack(append(dst, '-'), hex, n)
		}
	}
}

// unpack appends the digits of n bytes of hex to dst, and returns the rest of hex.
func unpack(dst, hex []byte, n int) (newDst, rest []byte) {
	for _, b := range hex[:n] {
		dst = append(dst, pairOf[b][0], pairOf[b][1])
	}
	return dst, hex[n:]
}
