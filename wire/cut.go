package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tarn-dev/tarn/object"
)

// Cut returns the encoded object without the fields that the paths lead to, as new bytes. It decodes to what the
// object decodes to, with those fields zero; a selected element of a list is taken out of the list, and a map that
// loses its last key may come back nil. What a path does not find is no error, but the object must have the form that
// the path expects of it. A path need not lead to a scalar.
func Cut(enc object.Encoding, raw []byte, paths ...*Path) ([]byte, error) {
	out := append([]byte(nil), raw...)
	for _, p := range paths {
		var err error
		if out, err = p.appendCut(make([]byte, 0, len(out)), enc, out); err != nil {
			return nil, p.wrap(err)
		}
	}
	return out, nil
}

// appendCut appends the object without what the path leads to.
func (p *Path) appendCut(dst []byte, enc object.Encoding, raw []byte) ([]byte, error) {
	switch {
	case enc == object.Protobuf && !p.binary:
		return dst, fmt.Errorf("%w: not a field of the protobuf message", ErrEncoding)
	case enc == object.Protobuf:
		return p.cutProtobuf(dst, raw, 0)
	case enc == object.JSON:
		c := cutter{scanner: scanner{b: raw}, out: dst}
		c.cut(p, 0)
		c.end()
		return c.out, c.err
	}
	return dst, unsupported(enc)
}

// cutProtobuf appends msg to dst, without what the steps from i on lead to.
func (p *Path) cutProtobuf(dst, msg []byte, i int) ([]byte, error) {
	st, f, n := &p.steps[i], fields{b: msg}, 0
	last := i == len(p.steps)-1
	for f.next() {
		if f.num != st.num {
			dst = append(dst, f.raw()...)
			continue
		}
		hit := true
		switch st.sel {
		case selectAt:
			hit = n == st.at
			n++
		case selectKey:
			key, _, _, err := entry(f.bytes())
			if err != nil {
				return nil, err
			}
			hit = string(key) == st.key
		}
		switch {
		case !hit:
			dst = append(dst, f.raw()...)
			continue
		case last && st.sel == selectAt && p.leaf.number() && f.typ == protowire.BytesType: // a packed list
			return nil, unusual("protobuf wire type %d in field %d", f.typ, f.num)
		case last:
			continue
		}
		var err error
		if st.sel == selectKey {
			dst, err = nested(dst, f.num, f.val(), func(dst, msg []byte) ([]byte, error) {
				return p.cutEntry(dst, msg, i+1)
			})
		} else {
			dst, err = nested(dst, f.num, f.bytes(), func(dst, msg []byte) ([]byte, error) {
				return p.cutProtobuf(dst, msg, i+1)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return dst, f.err
}

// cutEntry is cutProtobuf for a map entry, whose value the steps from i on are taken from.
func (p *Path) cutEntry(dst, msg []byte, i int) (_ []byte, err error) {
	f := fields{b: msg}
	for f.next() {
		if f.num != 2 {
			dst = append(dst, f.raw()...)
			continue
		}
		dst, err = nested(dst, f.num, f.bytes(), func(dst, msg []byte) ([]byte, error) {
			return p.cutProtobuf(dst, msg, i)
		})
		if err != nil {
			return nil, err
		}
	}
	return dst, f.err
}

// nested appends the length-delimited field num, whose value fill appends.
func nested(dst []byte, num protowire.Number, msg []byte, fill func(dst, msg []byte) ([]byte, error)) ([]byte, error) {
	dst = protowire.AppendTag(dst, num, protowire.BytesType)
	start := len(dst)
	dst, err := fill(dst, msg)
	if err != nil {
		return nil, err
	}
	// The length stands before what it counts: make room for it.
	n := len(dst) - start
	dst = protowire.AppendVarint(dst, uint64(n))
	prefix := len(dst) - start - n
	var room [10]byte
	copy(room[:prefix], dst[start+n:])
	copy(dst[start+prefix:], dst[start:start+n])
	copy(dst[start:], room[:prefix])
	return dst, nil
}

// cutter copies a JSON text without some of it.
type cutter struct {
	scanner
	out []byte
}

// keep copies the next value.
func (c *cutter) keep() {
	c.peek()
	start := c.i
	c.skip()
	if c.err == nil {
		c.out = append(c.out, c.b[start:c.i]...)
	}
}

// cut copies the next value, without what the steps of p from i on lead to.
func (c *cutter) cut(p *Path, i int) {
	st := &p.steps[i]
	switch {
	case c.err != nil:
	case c.peek() == 'n':
		c.keep()
	case st.name == "":
		c.cutPart(p, i)
	default:
		drop := i == len(p.steps)-1 && st.sel == selectWhole
		c.members(st.name, drop, func() { c.cutPart(p, i) })
	}
}

// cutPart copies the next value, without what is selected by step i and led to by the steps behind it.
func (c *cutter) cutPart(p *Path, i int) {
	st, last := &p.steps[i], i == len(p.steps)-1
	switch {
	case c.err != nil:
	case c.peek() == 'n':
		c.keep()
	case st.sel == selectWhole:
		c.cut(p, i+1)
	case st.sel == selectKey:
		c.members(st.key, last, func() { c.cut(p, i+1) })
	default:
		c.out = append(c.out, '[')
		start, n := len(c.out), 0
		for c.begin('['); c.more(']'); n++ {
			hit := st.sel == selectEvery || n == st.at
			if hit && last {
				c.skip()
				continue
			}
			c.comma(start)
			if hit {
				c.cut(p, i+1)
			} else {
				c.keep()
			}
		}
		c.out = append(c.out, ']')
	}
}

// members copies an object. Of the member called name it leaves out all, or copies what inside does.
func (c *cutter) members(name string, drop bool, inside func()) {
	c.out = append(c.out, '{')
	start := len(c.out)
	for c.begin('{'); c.more('}'); {
		c.peek()
		from := c.i
		hit := c.is(c.key(), name)
		if hit && drop {
			c.skip()
			continue
		}
		c.comma(start)
		if c.err == nil {
			c.out = append(c.out, c.b[from:c.i]...)
		}
		if hit {
			inside()
		} else {
			c.keep()
		}
	}
	c.out = append(c.out, '}')
}

// comma separates an element from the one before, in a container whose inside begins at start.
func (c *cutter) comma(start int) {
	if len(c.out) > start {
		c.out = append(c.out, ',')
	}
}
