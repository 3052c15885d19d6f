package wire

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks over one JSON text. It reports trouble in err, once; from then on every call does nothing.
//
//	for s.begin('{'); s.more('}'); {
//		switch key := s.key(); {
//		case s.is(key, "name"): ...
//		default: s.skip()
//		}
//	}
type scanner struct {
	b     []byte
	i     int
	first bool // no element of the container just entered has been read
	empty bool // the container just entered is a null
	err   error
}

// text is the inside of a JSON string as it stands there.
type text struct {
	b       []byte
	escaped bool
}

func (s *scanner) fail(what string) {
	if s.err == nil {
		if s.i >= len(s.b) {
			what = "cut off"
		}
		s.err = malformed("json at byte %d: %s", s.i, what)
	}
}

func (s *scanner) unusual(what string) {
	if s.err == nil {
		s.err = unusual("json at byte %d: %s", s.i, what)
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// begin enters an object or a list. A null is read as an empty one.
func (s *scanner) begin(bracket byte) {
	if s.null() {
		s.empty = true
		return
	}
	if s.err == nil && s.peek() != bracket {
		if bracket == '{' {
			s.fail("no object where one is expected")
		} else {
			s.fail("no list where one is expected")
		}
	}
	if s.err == nil {
		s.i++
		s.first = true
	}
}

// more reports whether another element follows before the closing bracket, which it consumes. Elements must be read
// completely between two calls.
func (s *scanner) more(bracket byte) bool {
	if s.err != nil {
		return false
	}
	if s.empty {
		s.empty = false
		return false
	}
	if s.first {
		s.first = false
		if s.peek() == bracket {
			s.i++
			return false
		}
		return true
	}
	switch s.peek() {
	case bracket:
		s.i++
		return false
	case ',':
		s.i++
		if s.peek() == bracket {
			s.fail("comma before the closing bracket")
			return false
		}
		return true
	}
	s.fail("no comma between elements")
	return false
}

// key reads a member's name and the colon.
func (s *scanner) key() text {
	if s.err == nil && s.peek() != '"' {
		s.fail("no member name")
	}
	t := s.str()
	if s.err == nil {
		if s.peek() != ':' {
			s.fail("no colon behind a member name")
		}
		s.i++
	}
	return t
}

// null consumes a null if there is one.
func (s *scanner) null() bool {
	if s.err != nil || s.peek() != 'n' {
		return false
	}
	s.literal("null")
	return s.err == nil
}

func (s *scanner) literal(word string) {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail("unknown word")
		return
	}
	s.i += len(word)
}

// plain marks the bytes that stand for themselves inside a string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// str reads a string.
func (s *scanner) str() text {
	if s.err != nil {
		return text{}
	}
	if s.peek() != '"' {
		s.fail("no string where one is expected")
		return text{}
	}
	b, start, escaped := s.b, s.i+1, false
	for i := start; i < len(b); i++ {
		c := b[i]
		if plain[c] {
			continue
		}
		switch c {
		case '"':
			s.i = i + 1
			return text{b[start:i], escaped}
		case '\\':
			escaped = true
			n := escapeLen(b[i:])
			if n == 0 {
				s.i = i
				s.fail("bad escape in a string")
				return text{}
			}
			i += n - 1
		default:
			s.i = i
			s.fail("control character in a string")
			return text{}
		}
	}
	s.i = len(b)
	s.fail("")
	return text{}
}

// escapeLen returns the length of the escape that b starts with, 0 if it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// hex4 returns the code unit of the \uXXXX that b starts with.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

// bytes returns what a string stands for: the bytes as they are, or new ones where they had escapes.
func (s *scanner) bytes(t text) []byte {
	if s.err != nil {
		return nil
	}
	b := t.b
	if t.escaped {
		b = s.unescape(t.b)
	}
	// The decoder puts a replacement character for what is no UTF-8.
	if s.err == nil && !utf8.Valid(b) {
		s.unusual("a string that is not UTF-8")
	}
	return b
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *scanner) unescape(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		if b[i] != '\\' {
			out = append(out, b[i])
			i++
			continue
		}
		r, ok := hex4(b[i:])
		if !ok {
			out = append(out, escapes[b[i+1]])
			i += 2
			continue
		}
		i += 6
		if utf16.IsSurrogate(r) {
			low, _ := hex4(b[i:])
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				s.unusual("half a surrogate pair")
				return nil
			}
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// is reports whether t stands for name.
func (s *scanner) is(t text, name string) bool {
	if !t.escaped {
		return string(t.b) == name
	}
	return s.err == nil && string(s.unescape(t.b)) == name
}

// number reads a number as it stands there.
func (s *scanner) number() []byte {
	if s.err != nil {
		return nil
	}
	s.peek()
	start := s.i
	digits := func() bool {
		from := s.i
		for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
			s.i++
		}
		return s.i > from
	}
	at := func(set string) bool {
		for k := 0; s.i < len(s.b) && k < len(set); k++ {
			if s.b[s.i] == set[k] {
				s.i++
				return true
			}
		}
		return false
	}
	at("-")
	ok := at("0") || digits()
	if ok && at(".") {
		ok = digits()
	}
	if ok && at("eE") {
		at("+-")
		ok = digits()
	}
	if !ok {
		s.fail("no value")
		return nil
	}
	return s.b[start:s.i]
}

// integer reads a whole number; null is 0.
func (s *scanner) integer() int64 {
	if s.null() {
		return 0
	}
	b := s.number()
	if s.err != nil {
		return 0
	}
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		s.fail("no whole number of 64 bits")
	}
	return n
}

// strOrNull reads a string; null is the empty one.
func (s *scanner) strOrNull() []byte {
	if s.null() {
		return nil
	}
	return s.bytes(s.str())
}

// skip reads past one value of any kind. Inside lists and objects it looks at brackets and quotes only.
func (s *scanner) skip() {
	if s.err != nil {
		return
	}
	switch s.peek() {
	case '"':
		s.str()
	case '{', '[':
		var d document
		n, done := d.scan(s.b[s.i:])
		if s.i += n; !done {
			s.fail("")
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		s.number()
	}
}

// end checks that nothing follows.
func (s *scanner) end() {
	if s.peek(); s.err == nil && s.i < len(s.b) {
		s.fail("more behind the object")
	}
}
