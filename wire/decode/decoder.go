package decode

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/util/json"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// Decoder decodes the objects of one type into structs of one Go type. It is immutable: all its methods may be called
// concurrently.
type Decoder struct {
	typ      reflect.Type
	message  *plan        // nil where there is no protobuf form
	original reflect.Type // of which a JSON object is decoded first; nil where typ itself will do
	matches  matches
}

// Compile returns the decoder of objects of the type of into structs of type t. Both are struct types; of may be nil,
// or t itself, if t has all the fields. Else every field of t that is exported and not tagged json:"-" must be one of the
// original's: the error for one that is not names it, as a path of Go fields, and says what is wrong with it.
//
// A field of a slim type has the type of the original's field; or one of the same kind; or, where that is a struct, or
// a list or map of structs, a slim type for it. A pointer may stand for a value, and a value for a pointer.
//
// Without an original, a type whose fields lack protobuf tags decodes from JSON only; see [Decoder.DecodesProtobuf].
// Compiling takes milliseconds for a type like Pod: keep the decoder.
func Compile(t, of reflect.Type) (*Decoder, error) {
	if of == nil {
		of = t
	}
	if t == nil || t.Kind() != reflect.Struct || of.Kind() != reflect.Struct {
		return nil, fmt.Errorf("decode: %v out of %v: not structs", t, of)
	}
	c := compiler{plans: map[[2]reflect.Type]*plan{}, matches: matches{}}
	p := c.plan(t, of, t.String())
	if c.err == nil && c.noProtobuf != nil && of != t {
		if original, err := Compile(of, nil); err == nil && original.DecodesProtobuf() {
			c.err = c.noProtobuf
		}
	}
	if c.err != nil {
		return nil, fmt.Errorf("decode: %w", c.err)
	}
	d := &Decoder{typ: t, matches: c.matches}
	if c.noProtobuf == nil {
		d.message = p
	}
	if c.renamed {
		d.original = of
	}
	return d, nil
}

// DecodesProtobuf reports whether the type has a protobuf form; all have a JSON form.
func (d *Decoder) DecodesProtobuf() bool { return d.message != nil }

// Decode fills *into, which must be a zero struct of the decoder's type, from an encoded object. A protobuf object has
// no envelope; it carries no apiVersion and kind, so those stay empty. JSON is read with case-sensitive keys; what is
// unknown is ignored in both encodings.
//
// The caller owns the result; it does not share memory with raw. After an error it is of no use. The error wraps
// [wire.ErrMalformed]; or [wire.ErrUnusual] for what no Kubernetes server writes, and only the type's own Unmarshal can
// judge; or [wire.ErrEncoding]; or it is the one of the JSON decoder or of a field's own Unmarshal. Memory is allocated
// only for what is there: as much as the type's own Unmarshal allocates, and a copy of raw.
func (d *Decoder) Decode(enc object.Encoding, raw []byte, into any) error {
	return d.decode(enc, raw, into, false)
}

// DecodeOwned is Decode for who has no other use for raw: the result may keep it as its memory, so nobody may read or
// change it any more, also after an error. That saves a copy.
func (d *Decoder) DecodeOwned(enc object.Encoding, raw []byte, into any) error {
	return d.decode(enc, raw, into, true)
}

func (d *Decoder) decode(enc object.Encoding, raw []byte, into any, owned bool) error {
	v := reflect.ValueOf(into)
	if !v.IsValid() || v.Kind() != reflect.Pointer || v.Type().Elem() != d.typ || v.IsNil() {
		return fmt.Errorf("decode: into %T where *%s is expected", into, d.typ)
	}
	switch {
	case enc == object.Protobuf && d.message != nil:
		return (&state{b: raw, owned: owned}).message(d.message, v.UnsafePointer(), 0, len(raw))
	case enc != object.JSON:
		return fmt.Errorf("decode: %s: %w: %s", d.typ, wire.ErrEncoding, enc)
	case d.original == nil:
		return json.Unmarshal(raw, into)
	}
	whole := reflect.New(d.original)
	if err := json.Unmarshal(raw, whole.Interface()); err != nil {
		return err
	}
	d.matches.copy(v.Elem(), whole.Elem())
	return nil
}
