package decode

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	unmarshaler     = reflect.TypeFor[interface{ Unmarshal([]byte) error }]()
	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	typeMeta        = reflect.TypeFor[metav1.TypeMeta]()
)

// compiler makes the plans for a type and those below it.
type compiler struct {
	plans   map[[2]reflect.Type]*plan // by type and original
	matches matches
	err     error // the first mismatch of a slim type
	// noProtobuf is the first reason that there is no protobuf form.
	noProtobuf error
	// renamed is set where a slim type's JSON differs from the original's.
	renamed bool
}

// plan returns the plan to fill a struct type out of its original, which may be the same. path is where it stands.
func (c *compiler) plan(t, of reflect.Type, path string) *plan {
	key := [2]reflect.Type{t, of}
	if p := c.plans[key]; p != nil {
		return p
	}
	p := &plan{typ: t}
	c.plans[key] = p
	if t == of {
		c.whole(p, path)
	} else {
		c.slim(p, of, path)
	}
	return p
}

// whole plans a type that has all fields, or leaves it to its own Unmarshal.
func (c *compiler) whole(p *plan, path string) {
	if p.form = forms[p.typ]; p.form != formFields {
		return
	}
	p.text, p.names = true, p.typ == reflect.TypeFor[metav1.ObjectMeta]()
	if large, ok := p.typ.FieldByName(metadata[p.typ]); ok {
		p.large = number(large)
	}
	before := c.noProtobuf
	for i := range p.typ.NumField() {
		f := p.typ.Field(i)
		n := number(f)
		switch {
		case n > 0:
			c.add(p, n, c.field(f, f.Type, path+"."+f.Name), path)
		case f.Type != typeMeta || !f.Anonymous:
			c.withoutProtobuf("%s.%s: %s has no protobuf tag there", path, f.Name, p.typ)
		}
	}
	if before == nil && c.noProtobuf != nil && unmarshals(p.typ) {
		p.form, p.fields, c.noProtobuf = formOwn, nil, nil
	}
}

// maxNumber bounds the field numbers, as plans are tables; Kubernetes has no number above 50.
const maxNumber = 1000

// number returns the field's number by its protobuf tag; 0 if it has none that can be read here. Only the number counts:
// the rest of such tags does not always tell the form on the wire.
func number(f reflect.StructField) int {
	parts := strings.Split(f.Tag.Get("protobuf"), ",")
	if len(parts) < 2 || parts[0] != "bytes" && parts[0] != "varint" {
		return 0
	}
	n, err := strconv.Atoi(parts[1])
	if err != nil || n < 1 || n > maxNumber || !f.IsExported() {
		return 0
	}
	return n
}

// add puts a field of the struct at path into the plan's table.
func (c *compiler) add(p *plan, number int, f field, path string) {
	if other := p.field(uint64(number) << 3); other.wire != noWire {
		c.mismatch("%s.%s: it stands for the same field as %s", path, f.name, other.name)
		return
	}
	p.set(number, f)
}

// field plans a struct field whose original is of type of.
func (c *compiler) field(sf reflect.StructField, of reflect.Type, path string) field {
	f := field{offset: sf.Offset, fieldType: &fieldType{name: sf.Name, typ: sf.Type}}
	t := sf.Type
	switch {
	case hasOwnForm(t) || hasOwnForm(of):
	case t.Kind() == reflect.Slice && of.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		f.shape, t, of = list, t.Elem(), of.Elem()
	case t.Kind() == reflect.Map && of.Kind() == reflect.Map && t.Key().Kind() == reflect.String && of.Key().Kind() == reflect.String:
		switch t.Elem() {
		case reflect.TypeFor[string]():
			f.shape = textDict
		case reflect.TypeFor[resource.Quantity]():
			f.shape = quantityDict
		default:
			f.shape = otherDict
		}
		t, of = t.Elem(), of.Elem()
	}
	c.value(&f, t, of, path)
	if f.wire = f.kind.wire(); f.shape > list {
		f.wire = wireBytes
	}
	f.way = wayOf(&f)
	return f
}

// unmarshals reports whether a struct type has an Unmarshal of its own, and not perhaps that of a struct it embeds.
func unmarshals(t reflect.Type) bool {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && (f.Type.Implements(unmarshaler) || reflect.PointerTo(f.Type).Implements(unmarshaler)) {
			return false
		}
	}
	return reflect.PointerTo(t).Implements(unmarshaler)
}

// hasOwnForm reports whether t, or what it points to, is a list or a map with an Unmarshal of its own.
func hasOwnForm(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && reflect.PointerTo(t).Implements(unmarshaler)
}

// value plans a field's values, which are of type t, and of type of in the original.
func (c *compiler) value(f *field, t, of reflect.Type, path string) {
	if f.size = t.Size(); t.Kind() == reflect.Pointer {
		f.pointer, t = true, t.Elem()
	}
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	f.target = t
	if t != of && !alike(t, of) {
		c.mismatch("%s: %s where the original has %s", path, t, of)
		return
	}
	switch k := t.Kind(); {
	case hasOwnForm(t):
		f.kind, f.plan = kindMessage, &plan{typ: t, form: formOwn, fresh: f.shape != single || f.pointer}
	case k == reflect.Struct:
		f.kind, f.plan = kindMessage, c.plan(t, of, path)
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		f.kind = kindBytes
	default:
		known := false
		if f.kind, known = kinds[k]; !known {
			c.withoutProtobuf("%s: there is no protobuf form for %s", path, t)
		}
	}
}

// alike reports whether a slim type may have t where the original has of.
func alike(t, of reflect.Type) bool {
	switch {
	case reflect.PointerTo(of).Implements(jsonUnmarshaler) || hasOwnForm(of):
		return false
	case t.Kind() == reflect.Slice && of.Kind() == reflect.Slice:
		return t.Elem() == of.Elem()
	}
	k := t.Kind()
	return k == of.Kind() && (k <= reflect.Float64 || k == reflect.String || k == reflect.Struct)
}

// kinds are those that the Kubernetes API uses.
var kinds = map[reflect.Kind]kind{
	reflect.Bool: kindBool, reflect.String: kindString,
	reflect.Int32: kindInt32, reflect.Uint32: kindInt32, reflect.Int64: kindInt64, reflect.Uint64: kindInt64,
}

func (c *compiler) withoutProtobuf(format string, args ...any) {
	if c.noProtobuf == nil {
		c.noProtobuf = fmt.Errorf(format, args...)
	}
}

func (c *compiler) mismatch(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}
