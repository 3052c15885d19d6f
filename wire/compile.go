package wire

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// CompilePath compiles a path for the objects of one Go type: a struct (or a pointer to one) with the json tags, and
// for protobuf the protobuf tags, of the Kubernetes API. The path must exist in the type; the error for one that does
// not names the type, the part that is wrong, and what may have been meant. A type whose values are maps
// (unstructured.Unstructured) is handed on to [CompileJSONPath].
//
// The apiVersion and kind of a type are fields only of the JSON encoding, not of the protobuf message.
func CompilePath(t reflect.Type, path string) (*Path, error) {
	t = deref(t)
	if reflect.PointerTo(t).Implements(reflect.TypeFor[unstructuredContent]()) {
		return CompileJSONPath(path)
	}
	segs, err := parsePath(path)
	if err != nil {
		return nil, err
	}
	p := &Path{text: path, typ: t, binary: true}
	if err := p.compile(t, segs); err != nil {
		return nil, fmt.Errorf("path %q of %s: %w", path, t, err)
	}
	return p, nil
}

// unstructuredContent is what the values of a collection without a Go type implement.
type unstructuredContent interface{ UnstructuredContent() map[string]any }

func (p *Path) compile(t reflect.Type, segs []segment) error {
	pointers := []bool{} // per step: its field is a pointer
	for i, seg := range segs {
		t = deref(t)
		if t.Kind() == reflect.Interface {
			p.addUntyped(segs[i:])
			p.close(t, nil, false)
			return nil
		}
		if err := noMember(t, seg.name); err != nil {
			return err
		}
		chain, ok := findField(t, seg.name)
		if !ok {
			return unknownField(t, seg.name)
		}
		omit := false
		for _, f := range chain {
			name, options := jsonTag(f)
			st := step{num: protobufNumber(f), index: f.Index[0], name: name}
			if inlined(f) {
				st.name = ""
			}
			p.steps = append(p.steps, st)
			pointers = append(pointers, f.Type.Kind() == reflect.Pointer)
			omit = slices.Contains(options, "omitzero") || slices.Contains(options, "omitempty") && canBeEmpty(f.Type)
			t = f.Type
		}
		merge := true // the first selection belongs to the field's own step
		for _, sel := range seg.sels {
			if t = deref(t); t.Kind() == reflect.Interface {
				p.addUntypedSelectors([]selector{sel})
				continue
			}
			part, elem, err := selectFrom(t, seg.name, sel)
			if err != nil {
				return err
			}
			switch {
			case merge && !wrapped(t):
				last := &p.steps[len(p.steps)-1]
				last.sel, last.at, last.key = part.sel, part.at, part.key
			default:
				if wrapped(t) {
					part.num = 1
				}
				p.steps = append(p.steps, part)
				pointers = append(pointers, false)
			}
			merge, omit, t = false, false, elem
		}
		if i == len(segs)-1 {
			p.close(t, pointers, omit)
		}
	}
	return nil
}

// close fills in what depends on where the path ends.
func (p *Path) close(t reflect.Type, pointers []bool, omit bool) {
	p.leaf = leafOf(t)
	p.leaf.omit = omit
	for _, st := range p.steps {
		p.binary = p.binary && st.num != 0
	}
	zero := p.leaf.hasZero() && !omit
	for i := len(pointers) - 1; i >= 0 && len(pointers) == len(p.steps); i-- {
		zero = zero && !pointers[i] && p.steps[i].sel == selectWhole
		p.steps[i].zero = zero
	}
}

// selectFrom returns the step for a selection from a list or a map, and the type of what is selected.
func selectFrom(t reflect.Type, name string, sel selector) (st step, elem reflect.Type, err error) {
	st.index = -1
	switch {
	case t.Kind() == reflect.Map && t.Key().Kind() == reflect.String:
		if sel.every() {
			return st, nil, fmt.Errorf("%s is a map (%s): name one key, not [*]", name, t)
		}
		st.sel, st.key = selectKey, sel.text
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		at, isPosition := sel.position()
		switch {
		case sel.every():
			st.sel = selectEvery
		case isPosition:
			st.sel, st.at = selectAt, at
		default:
			return st, nil, fmt.Errorf("%s is a list (%s): a number or * belongs in the brackets, not %q", name, t, sel.text)
		}
	default:
		return st, nil, fmt.Errorf("%s is a %s, not a list or a map: nothing can be selected with [%s]", name, t, sel.text)
	}
	return st, t.Elem(), nil
}

// noMember explains why t cannot have fields; nil if it can.
func noMember(t reflect.Type, name string) error {
	switch {
	case t.Kind() == reflect.Map:
		return fmt.Errorf("%s is a map: select a key in brackets: [%s]", t, name)
	case t.Kind() == reflect.Slice:
		return fmt.Errorf("%s is a list: select from it with [0] or [*] before %q", t, name)
	case t.Kind() != reflect.Struct || leafOf(t).kind != leafNone || marshals(t):
		return fmt.Errorf("%s has no fields: %q cannot follow it", t, name)
	}
	return nil
}

// findField returns the field with a JSON name, preceded by the inlined structs that it lies in.
func findField(t reflect.Type, name string) ([]reflect.StructField, bool) {
	for i := range t.NumField() {
		f := t.Field(i)
		if n, _ := jsonTag(f); n == name && f.IsExported() && !inlined(f) {
			return []reflect.StructField{f}, true
		}
	}
	for i := range t.NumField() {
		if f := t.Field(i); inlined(f) {
			if chain, ok := findField(deref(f.Type), name); ok {
				return append([]reflect.StructField{f}, chain...), true
			}
		}
	}
	return nil, false
}

// jsonTag returns the name and the options that the JSON encoding goes by; "-" for a field that it leaves out.
func jsonTag(f reflect.StructField) (name string, options []string) {
	parts := strings.Split(f.Tag.Get("json"), ",")
	if name = parts[0]; name == "" {
		name = f.Name
	}
	return name, parts[1:]
}

// inlined reports whether the fields of f stand in the JSON of the struct around it.
func inlined(f reflect.StructField) bool {
	return f.Anonymous && strings.Split(f.Tag.Get("json"), ",")[0] == "" && deref(f.Type).Kind() == reflect.Struct
}

// protobufNumber returns the field's number in the protobuf message, 0 if it has none that can be read here.
func protobufNumber(f reflect.StructField) protowire.Number {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 || parts[0] != "bytes" && parts[0] != "varint" {
		return 0
	}
	n, err := strconv.ParseInt(parts[1], 10, 32)
	if err != nil {
		return 0
	}
	return protowire.Number(n)
}

// wrapped reports whether t is a list that the protobuf encoding puts into a message of its own, as field 1
// (authentication.ExtraValue).
func wrapped(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]())
}

// marshals reports whether values of t write their own JSON, of which nothing is known here.
func marshals(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// canBeEmpty reports whether omitempty leaves out some values of the type that are not nil.
func canBeEmpty(t reflect.Type) bool {
	return t.Kind() != reflect.Struct && t.Kind() != reflect.Pointer
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// unknownField explains that t has no such field, and which it has that may have been meant.
func unknownField(t reflect.Type, name string) error {
	var all []string
	for _, f := range reflect.VisibleFields(t) {
		if n, _ := jsonTag(f); f.IsExported() && !inlined(f) && n != "-" {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	var near []string // those with the fewest letters changed
	for best, i := 1+len(name)/4, 0; i < len(all); i++ {
		switch d := distance(strings.ToLower(all[i]), strings.ToLower(name)); {
		case d < best:
			best, near = d, []string{strconv.Quote(all[i])}
		case d == best:
			near = append(near, strconv.Quote(all[i]))
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("%s has no field %q; did you mean %s?", t, name, strings.Join(near, " or "))
	}
	return fmt.Errorf("%s has no field %q; it has %s", t, name, strings.Join(all, ", "))
}

// distance returns how many letters have to be put in, left out or changed to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
