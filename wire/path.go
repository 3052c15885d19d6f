package wire

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/tarn-dev/tarn/object"
)

// Path names a field of the objects of one collection, compiled once and read often. It is made by [CompilePath] or
// [CompileJSONPath], never changes, and may be used concurrently.
//
// A path is a chain of JSON field names with selections in brackets:
//
//	spec.nodeName
//	metadata.labels[app.kubernetes.io/name]   a key of a map; quote it ('...' or "...") where it holds a bracket
//	status.conditions[0].type                 an element of a list
//	spec.containers[*].image                  every element: several values
//
// Values are texts: what the JSON encoding of the object has there, strings without their quotes. A value is found if
// every pointer, list element and map key on the way exists, and the field itself does as well: a field that is no
// pointer always exists, unless its type marks it omitempty or omitzero and it is empty. So the phase of a pod without
// one is not found, and the ready replicas of a deployment without any are "0". A time that is not set is not found.
type Path struct {
	text   string
	typ    reflect.Type // nil where it is not known
	steps  []step
	leaf   leaf
	binary bool // the path has a protobuf form
}

// step leads from a value to a field of it, and on to a selected part of that field.
type step struct {
	name  string           // JSON member; "" stays at the value (an inlined struct, a list in a list)
	num   protowire.Number // protobuf field; 0 where there is none
	index int              // field of the Go struct; -1 stays at the value
	sel   selection
	at    int    // for selectAt
	key   string // for selectKey
	zero  bool   // where the member is missing, the value is the leaf's zero
}

type selection uint8

const (
	selectWhole selection = iota
	selectAt
	selectEvery
	selectKey
)

// String returns the path as it was given.
func (p *Path) String() string { return p.text }

// Scalar reports whether the path leads to a value that has a text. Only such a path can be read; any can be cut. What
// a path without a type leads to is only known from the object.
func (p *Path) Scalar() bool { return p.leaf.kind != leafNone }

// Read returns the value, of several the first, and whether there is one.
func (p *Path) Read(enc object.Encoding, raw []byte) (value string, found bool, err error) {
	b, found, err := p.Append(nil, enc, raw)
	if !found || err != nil {
		return "", false, err
	}
	// The bytes are new and nobody else's: no need to copy them once more.
	return unsafe.String(unsafe.SliceData(b), len(b)), true, nil
}

// Append is [Path.Read] into a buffer: it appends the value's text to dst. Of the kinds of value, only quantities,
// durations and JSON strings with escapes allocate.
func (p *Path) Append(dst []byte, enc object.Encoding, raw []byte) (_ []byte, found bool, err error) {
	out, err := p.read(enc, raw, values{buf: dst, single: true})
	if err != nil || out.n == 0 {
		return dst, false, err
	}
	return out.buf, true, nil
}

// Strings returns all values, in the object's order; nil where there are none.
func (p *Path) Strings(enc object.Encoding, raw []byte) ([]string, error) {
	out, err := p.read(enc, raw, values{})
	if err != nil {
		return nil, err
	}
	return out.strings(), nil
}

func (p *Path) read(enc object.Encoding, raw []byte, out values) (values, error) {
	err := p.readable()
	switch {
	case err != nil:
	case enc == object.Protobuf && !p.binary:
		err = fmt.Errorf("%w: not a field of the protobuf message", ErrEncoding)
	case enc == object.Protobuf:
		out, err = p.readProtobuf(raw, 0, out)
	case enc == object.JSON:
		s := scanner{b: raw}
		out = p.readJSON(&s, 0, out)
		s.end()
		err = s.err
	default:
		err = unsupported(enc)
	}
	return out, p.wrap(err)
}

func (p *Path) readable() error {
	if !p.Scalar() {
		return fmt.Errorf("%w: a %s", ErrNotScalar, p.leaf.name)
	}
	return nil
}

func (p *Path) wrap(err error) error {
	if err == nil {
		return nil
	}
	if p.typ != nil {
		return fmt.Errorf("%s of %s: %w", p.text, p.typ, err)
	}
	return fmt.Errorf("%s: %w", p.text, err)
}

// values collects texts in one buffer: all of them, or only the first.
type values struct {
	buf    []byte
	single bool
	n      int   // how many there were
	ends   []int // of the texts in buf, unless single
}

// add closes the text that was appended to buf from start on, or drops it where it counts as missing.
func (v values) add(l *leaf, start int, found bool) values {
	if !found || l.omit && string(v.buf[start:]) == l.zero() {
		v.buf = v.buf[:start]
		return v
	}
	return v.close(start)
}

func (v values) addZero(l *leaf) values {
	start := len(v.buf)
	v.buf = append(v.buf, l.zero()...)
	return v.close(start)
}

func (v values) close(start int) values {
	switch v.n++; {
	case !v.single:
		v.ends = append(v.ends, len(v.buf))
	case v.n > 1:
		v.buf = v.buf[:start]
	}
	return v
}

func (v values) strings() []string {
	if v.n == 0 {
		return nil
	}
	all, start := string(v.buf), 0
	list := make([]string, len(v.ends))
	for i, end := range v.ends {
		list[i], start = all[start:end], end
	}
	return list
}

// segment is one part of a path's text: a name with the selections behind it.
type segment struct {
	name string
	sels []selector
}

type selector struct {
	text   string
	quoted bool
}

// every reports whether the selector is the star.
func (s selector) every() bool { return !s.quoted && s.text == "*" }

// position returns the selector as a place in a list.
func (s selector) position() (int, bool) {
	n, err := strconv.ParseUint(s.text, 10, 31)
	return int(n), err == nil && !s.quoted
}

// parsePath splits the text of a path.
func parsePath(path string) ([]segment, error) {
	var segs []segment
	for rest := path; ; {
		n := strings.IndexAny(rest, ".[]")
		if n < 0 {
			n = len(rest)
		}
		if n == 0 {
			return nil, fmt.Errorf("path %q: a name is missing at position %d", path, len(path)-len(rest))
		}
		seg := segment{name: rest[:n]}
		rest = rest[n:]
		for strings.HasPrefix(rest, "[") {
			sel, behind, err := parseSelector(rest[1:])
			if err != nil {
				return nil, fmt.Errorf("path %q: %w", path, err)
			}
			seg.sels, rest = append(seg.sels, sel), behind
		}
		segs = append(segs, seg)
		if rest == "" {
			return slices.Clip(segs), nil
		}
		if rest[0] != '.' {
			return nil, fmt.Errorf("path %q: %q at position %d", path, rest[0], len(path)-len(rest))
		}
		rest = rest[1:]
	}
}

// parseSelector reads what stands behind an opening bracket, the closing one included.
func parseSelector(s string) (sel selector, rest string, err error) {
	if s != "" && (s[0] == '\'' || s[0] == '"') {
		key, behind, ok := strings.Cut(s[1:], s[:1]+"]")
		if !ok {
			return sel, "", fmt.Errorf("no %s] at the end of [%s", s[:1], s)
		}
		return selector{key, true}, behind, nil
	}
	key, behind, ok := strings.Cut(s, "]")
	if !ok || key == "" {
		return sel, "", fmt.Errorf("no key and closing bracket in [%s", s)
	}
	return selector{key, false}, behind, nil
}

// CompileJSONPath compiles a path for objects whose Go type is not known: it reads JSON and unstructured values. A
// number in brackets, or a star, selects from a list; anything else, and what is quoted, is a key.
func CompileJSONPath(path string) (*Path, error) {
	segs, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	p := &Path{text: path, leaf: leaf{kind: leafAny}}
	p.addUntyped(segs)
	return p, nil
}

func (p *Path) addUntyped(segs []segment) {
	for _, seg := range segs {
		p.steps = append(p.steps, step{name: seg.name, index: -1})
		p.addUntypedSelectors(seg.sels)
	}
}

func (p *Path) addUntypedSelectors(sels []selector) {
	for _, sel := range sels {
		st := step{index: -1}
		switch at, isPosition := sel.position(); {
		case sel.every():
			st.sel = selectEvery
		case isPosition:
			st.sel, st.at = selectAt, at
		default:
			st.sel, st.key = selectKey, sel.text
		}
		p.steps = append(p.steps, st)
	}
}
