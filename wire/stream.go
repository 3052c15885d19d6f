package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

const (
	// bufferSize is how much a reader takes from its stream at once.
	bufferSize = 64 << 10
	// DefaultMaxSize is the size above which a reader refuses an object, unless its options say otherwise. An API
	// server takes objects of up to 3 MiB; what aggregated servers send can be larger.
	DefaultMaxSize = 64 << 20
	// growStep is how much memory is taken at once on the word of a length that the stream announced.
	growStep = 1 << 20
)

func tooLarge(what string, size uint64, limit int) error {
	return fmt.Errorf("%w: %s of %d bytes, limit %d", ErrTooLarge, what, size, limit)
}

// broken returns io.ErrUnexpectedEOF for an io.EOF, in the middle of something.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readN returns the next n bytes: in buf, if that is large enough, else as a slice of exactly that size.
func readN(r *bufio.Reader, n int, buf []byte) ([]byte, error) {
	if n <= cap(buf) {
		_, err := io.ReadFull(r, buf[:n])
		return buf[:n], broken(err)
	}
	b := make([]byte, min(n, growStep))
	for from := 0; ; {
		if _, err := io.ReadFull(r, b[from:]); err != nil {
			return nil, broken(err)
		}
		if from = len(b); from == n {
			return b, nil
		}
		// Twice what has really come, and the last time exactly what is needed.
		grown := make([]byte, min(n, 2*from))
		copy(grown, b)
		b = grown
	}
}

// document finds the end of one JSON value that arrives in pieces. It looks at brackets and quotes only.
type document struct {
	depth   int
	quoted  bool // inside a string
	escaped bool // behind a backslash

	before int // how long the pieces so far were
	// from and to say where the last list or object in the value's first level is.
	from, to int
}

// scan takes the next piece and returns how much of it belongs to the value, and whether the value ends there. The
// value's first byte must not be white space. Of a number at the top level the end shows only in the byte behind it.
func (d *document) scan(b []byte) (n int, done bool) {
	n, done = d.piece(b)
	d.before += n
	return n, done
}

func (d *document) piece(b []byte) (n int, done bool) {
	for n < len(b) {
		if d.quoted {
			n += d.quote(b[n:])
			if !d.quoted && d.depth == 0 {
				return n, true
			}
			continue
		}
		switch signs[b[n]] {
		case signQuote:
			d.quoted = true
		case signOpen:
			if d.depth++; d.depth == 2 {
				d.from = d.before + n
			}
		case signClose:
			switch d.depth--; d.depth {
			case -1:
				return n, true
			case 0:
				return n + 1, true
			case 1:
				d.to = d.before + n + 1
			}
		case signBetween:
			if d.depth == 0 {
				return n, true
			}
		}
		n++
	}
	return n, false
}

// quote returns how much of b belongs to the string that it starts in.
func (d *document) quote(b []byte) (n int) {
	for ; n < len(b); n++ {
		// Eight bytes at a time, up to a quote or a backslash.
		for !d.escaped && n+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[n:])
			if hits := zeroByte(w^quotes) | zeroByte(w^backslashes); hits != 0 {
				n += bits.TrailingZeros64(hits) / 8
				break
			}
			n += 8
		}
		if n == len(b) {
			break
		}
		c := b[n]
		switch {
		case d.escaped:
			d.escaped = false
		case plain[c]:
		case c == '\\':
			d.escaped = true
		case c == '"':
			d.quoted = false
			return n + 1
		}
	}
	return n
}

const (
	ones        = 0x0101010101010101
	quotes      = ones * '"'
	backslashes = ones * '\\'
)

// zeroByte returns 0 if none of the eight bytes of w is zero; else the lowest bit set belongs to the first that is.
func zeroByte(w uint64) uint64 { return (w - ones) &^ w & (ones * 0x80) }

const (
	signQuote = 1 + iota
	signOpen
	signClose
	signBetween
)

// signs says what a byte outside of strings does.
var signs = [256]uint8{
	'"': signQuote, '{': signOpen, '[': signOpen, '}': signClose, ']': signClose,
	',': signBetween, ':': signBetween, ' ': signBetween, '\t': signBetween, '\n': signBetween, '\r': signBetween,
}

// jsonStream reads JSON from a stream, value by value.
type jsonStream struct {
	r     *bufio.Reader
	limit int
	buf   []byte   // the value last read
	last  document // of that
	next  document // of the value behind it, if that is known to be in r's buffer as a whole, with the size ahead
	ahead int
}

// complete reports whether the next value has been received completely. It is false for one that r's buffer cannot hold.
func (s *jsonStream) complete() bool {
	if s.ahead > 0 {
		return true
	}
	b, _ := s.r.Peek(s.r.Buffered())
	space := scanner{b: b}
	space.peek()
	_, _ = s.r.Discard(space.i)
	d := document{}
	n, done := d.scan(b[space.i:])
	if done {
		s.next, s.ahead = d, n
	}
	return done
}

// peek skips white space and returns the next byte without taking it.
func (s *jsonStream) peek() (byte, error) {
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c, s.r.UnreadByte()
		}
	}
}

// take consumes the next byte that is not white space, which must be one of set.
func (s *jsonStream) take(set string) (byte, error) {
	c, err := s.peek()
	if err != nil {
		return 0, broken(err)
	}
	for i := range len(set) {
		if set[i] == c {
			_, err := s.r.ReadByte()
			return c, err
		}
	}
	return 0, malformed("json: %q where one of %q is expected", c, set)
}

// value reads the next value into buf, or past it. The result is good until the next call.
func (s *jsonStream) value(what string, keep bool) ([]byte, error) {
	s.buf = s.buf[:0]
	if _, err := s.peek(); err != nil {
		return nil, err
	}
	size := 0
	s.last = document{}
	for {
		if s.r.Buffered() == 0 {
			if _, err := s.r.Peek(1); err != nil {
				return nil, broken(err)
			}
		}
		piece, _ := s.r.Peek(s.r.Buffered())
		var n int
		var done bool
		if s.ahead > 0 {
			s.last, n, done = s.next, s.ahead, true
			s.ahead = 0
		} else {
			n, done = s.last.scan(piece)
		}
		if size += n; keep {
			if size > s.limit {
				return nil, tooLarge(what, uint64(size), s.limit)
			}
			s.buf = append(s.buf, piece[:n]...)
		}
		if _, err := s.r.Discard(n); err != nil {
			return nil, err
		}
		switch {
		case done && size == 0:
			return nil, malformed("json: no value for %s", what)
		case done:
			return s.buf, nil
		}
	}
}

// object reads the next value, which must be an object: into buf, if that is large enough, else into new memory.
func (s *jsonStream) object(what string, buf []byte) ([]byte, error) {
	c, err := s.peek()
	if err != nil {
		return nil, err
	}
	if c != '{' {
		return nil, malformed("json: %q where %s is expected", c, what)
	}
	b, err := s.value(what, true)
	if err != nil {
		return nil, err
	}
	if b[len(b)-1] != '}' {
		return nil, malformed("json: brackets of %s do not match", what)
	}
	if len(b) > cap(buf) {
		buf = make([]byte, 0, len(b))
	}
	return append(buf[:0], b...), nil
}
