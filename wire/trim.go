package wire

import (
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tarn-dev/tarn/object"
)

// Trim says what to leave of the objects of one collection: all but some fields, or some fields only. It is compiled once,
// by [NewTrim], never changes, and may be used concurrently.
type Trim struct {
	drop         []*Path
	json, binary *shape // what to keep; nil for all
	noBinary     *Path  // one to be kept that has no protobuf form
}

// NewTrim returns a trim that keeps the fields that the paths of keep lead to, or all where there are none, and of those
// drops what the paths of drop lead to. The apiVersion and kind of a JSON object are kept always. To keep one element of a
// list by its place is an error.
func NewTrim(keep, drop []*Path) (*Trim, error) {
	t := &Trim{drop: drop}
	for _, p := range keep {
		for _, st := range p.steps {
			if st.sel == selectAt {
				return nil, fmt.Errorf("keep %s: a single element of a list cannot be kept: keep all of them with [*]", p)
			}
		}
		if t.json == nil {
			t.json, t.binary = &shape{}, &shape{}
			t.json.member("apiVersion").all, t.json.member("kind").all = true, true
		}
		t.json.addJSON(p)
		if !p.binary {
			t.noBinary = p
		}
		t.binary.addBinary(p)
	}
	return t, nil
}

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// Append appends the encoded object, trimmed, to dst. It decodes to what the object decodes to, with the other fields zero;
// a message or JSON object of which only a part is kept stays, even if nothing is left in it. For the rest it is like [Cut].
// Nothing but dst is allocated in the long run. After an error dst is returned as it was.
func (t *Trim) Append(dst []byte, enc object.Encoding, raw []byte) ([]byte, error) {
	if t.json == nil && len(t.drop) == 0 {
		return append(dst, raw...), nil
	}
	buf, spare := scratch.Get().(*[]byte), scratch.Get().(*[]byte)
	defer scratch.Put(buf)
	defer scratch.Put(spare)
	var err error
	if t.json != nil {
		if *buf, err = t.keep((*buf)[:0], enc, raw); err != nil {
			return dst, err
		}
		raw = *buf
	}
	for _, p := range t.drop {
		if *spare, err = p.appendCut((*spare)[:0], enc, raw); err != nil {
			return dst, p.wrap(err)
		}
		buf, spare = spare, buf
		raw = *buf
	}
	return append(dst, raw...), nil
}

func (t *Trim) keep(dst []byte, enc object.Encoding, raw []byte) ([]byte, error) {
	switch enc {
	case object.Protobuf:
		if t.noBinary != nil {
			return dst, t.noBinary.wrap(fmt.Errorf("%w: not a field of the protobuf message", ErrEncoding))
		}
		return t.binary.appendBinary(dst, raw)
	case object.JSON:
		c := cutter{scanner: scanner{b: raw}, out: dst}
		c.shape(t.json)
		c.end()
		return c.out, c.err
	}
	return dst, unsupported(enc)
}

// shape is a tree of fields to keep. Where it is all, everything below stays. JSON and protobuf have trees of their own,
// because the one embeds where the other nests.
type shape struct {
	all     bool
	members map[string]*shape           // of a JSON object, or keys of a map
	fields  map[protowire.Number]*shape // of a protobuf message
	keys    map[string]bool             // of a protobuf map: nil for all
	every   *shape                      // of a JSON list
}

func (s *shape) addJSON(p *Path) {
	for _, st := range p.steps {
		if st.name != "" {
			s = s.member(st.name)
		}
		switch st.sel {
		case selectKey:
			s = s.member(st.key)
		case selectEvery:
			if s.every == nil {
				s.every = &shape{}
			}
			s = s.every
		}
	}
	s.all = true
}

func (s *shape) member(name string) *shape {
	if s.members == nil {
		s.members = map[string]*shape{}
	}
	if s.members[name] == nil {
		s.members[name] = &shape{}
	}
	return s.members[name]
}

// addBinary adds a path. Of an entry of a map all is kept.
func (s *shape) addBinary(p *Path) {
	for _, st := range p.steps {
		if s.fields == nil {
			s.fields = map[protowire.Number]*shape{}
		}
		next := s.fields[st.num]
		if next == nil {
			next = &shape{}
			s.fields[st.num] = next
		}
		if s = next; st.sel == selectKey {
			if s.keys == nil {
				s.keys = map[string]bool{}
			}
			s.keys[st.key] = true
			return
		}
	}
	s.all = true
}

func (s *shape) appendBinary(dst, msg []byte) ([]byte, error) {
	f := fields{b: msg}
	for f.next() {
		kept := s.fields[f.num]
		switch {
		case kept == nil:
			continue
		case kept.all:
			dst = append(dst, f.raw()...)
			continue
		case kept.keys != nil:
			key, _, _, err := entry(f.bytes())
			if err != nil {
				return dst, err
			}
			if kept.keys[string(key)] {
				dst = append(dst, f.raw()...)
			}
			continue
		}
		var err error
		if dst, err = nested(dst, f.num, f.bytes(), kept.appendBinary); err != nil {
			return dst, err
		}
	}
	return dst, f.err
}

// shape copies what is to be kept of the next value.
func (c *cutter) shape(s *shape) {
	switch {
	case c.err != nil:
	case s.all || c.peek() == 'n':
		c.keep()
	case s.every != nil && (c.peek() == '[' || s.members == nil):
		c.out = append(c.out, '[')
		start := len(c.out)
		for c.begin('['); c.more(']'); {
			c.comma(start)
			c.shape(s.every)
		}
		c.out = append(c.out, ']')
	default:
		c.out = append(c.out, '{')
		start := len(c.out)
		for c.begin('{'); c.more('}'); {
			c.peek()
			from := c.i
			kept := s.members[string(c.bytes(c.key()))]
			if kept == nil {
				c.skip()
				continue
			}
			c.comma(start)
			if c.err == nil {
				c.out = append(c.out, c.b[from:c.i]...)
			}
			c.shape(kept)
		}
		c.out = append(c.out, '}')
	}
}

// Covers reports whether what q leads to is, or is within, what p leads to. Both must have been compiled alike.
func (p *Path) Covers(q *Path) bool { return p.along(q, false) && p.size() <= q.size() }

// Meets reports whether p and q lead to something in common: the one is within the other, or they select from one list.
func (p *Path) Meets(q *Path) bool { return p.along(q, true) }

// along reports whether the two agree as far as both go. If either may be the larger selection, meets is set.
func (p *Path) along(q *Path, meets bool) bool {
	a, b := p.parts(), q.parts()
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && !(a[i] == every && b[i].index) && !(meets && b[i] == every && a[i].index) {
			return false
		}
	}
	return true
}

func (p *Path) size() int { return len(p.parts()) }

// part is a name, a key, or an element of a list.
type part struct {
	text  string
	index bool
}

var every = part{"*", true}

// parts returns the path as the text has it, however it was compiled.
func (p *Path) parts() (all []part) {
	segs, _ := parsePath(p.text) // which was compiled, so it can be parsed
	for _, seg := range segs {
		all = append(all, part{text: seg.name})
		for _, sel := range seg.sels {
			_, number := sel.position()
			all = append(all, part{sel.text, number || sel.every()})
		}
	}
	return all
}
