package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
	"github.com/tarn-dev/tarn/wire/decode"
)

// SlimCodec returns the codec of values of slim's type, a pointer to a struct that has some of the fields of original's
// type: by protobuf tag, JSON tag or name, as [decode.Compile] finds them. Only those are decoded. The error names a
// field that the original does not have, or has otherwise.
//
// Such values cannot be encoded: most of the object would be lost.
func SlimCodec(slim, original any) (object.Codec, error) {
	t, of := reflect.TypeOf(slim), reflect.TypeOf(original)
	for _, t := range []reflect.Type{t, of} {
		if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
			return nil, fmt.Errorf("kube: codec for %T as %T: not pointers to structs", original, slim)
		}
	}
	d, err := decode.Compile(t.Elem(), of.Elem())
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return &slimCodec{typ: t.Elem(), decoder: d, original: newGoCodec(of.Elem())}, nil
}

type slimCodec struct {
	typ      reflect.Type
	decoder  *decode.Decoder
	original *goCodec
}

// DecodesProtobuf implements [ProtobufDecoder].
func (c *slimCodec) DecodesProtobuf() bool { return c.decoder.DecodesProtobuf() }

// Decode implements object.Codec.
func (c *slimCodec) Decode(enc object.Encoding, raw []byte) (any, error) {
	v := reflect.New(c.typ).Interface()
	err := c.decoder.Decode(enc, raw, v)
	if errors.Is(err, wire.ErrUnusual) { // only the original's own decoder knows: by way of JSON, as it comes so rarely
		var whole any
		if whole, err = c.original.Decode(enc, raw); err == nil {
			if raw, err = json.Marshal(whole); err == nil {
				v = reflect.New(c.typ).Interface()
				err = c.decoder.Decode(object.JSON, raw, v)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("into %s: %w", c.typ, err)
	}
	return v, nil
}

// Encode implements object.Codec. It fails.
func (c *slimCodec) Encode(any) (object.Encoding, []byte, error) {
	return object.None, nil, fmt.Errorf("kube: *%s has only some of the fields of %s, so it cannot be encoded: %w", c.typ, c.original.typ, errors.ErrUnsupported)
}

// Copy implements object.Codec.
func (c *slimCodec) Copy(value any) any { return deepCopy(reflect.ValueOf(value)).Interface() }

// Meta implements object.Codec, for a type that embeds metav1.ObjectMeta.
func (c *slimCodec) Meta(value any) (object.Meta, error) {
	if o, ok := value.(metav1.Object); ok && reflect.TypeOf(value) == reflect.PointerTo(c.typ) {
		return object.MetaOf(o), nil
	}
	return object.Meta{}, fmt.Errorf("kube: %T has no metadata", value)
}

// deepCopy copies a value of any type that decodes: those that copy themselves do it, the others are structs, lists, maps
// and pointers with nothing hidden.
func deepCopy(v reflect.Value) reflect.Value {
	t := v.Type()
	if m := v.MethodByName("DeepCopy"); m.IsValid() && (t.Kind() != reflect.Pointer || !v.IsNil()) && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		if out := m.Type().Out(0); out == t {
			return m.Call(nil)[0]
		}
	}
	dst := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			dst.Set(reflect.New(t.Elem()))
			dst.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			dst.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
			for i := range v.Len() {
				dst.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	case reflect.Map:
		if !v.IsNil() {
			dst.Set(reflect.MakeMapWithSize(t, v.Len()))
			for key, elem := range v.Seq2() {
				dst.SetMapIndex(key, deepCopy(elem))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			dst.Set(deepCopy(v.Elem()))
		}
	case reflect.Struct:
		if copied, ok := copyByPointer(v); ok {
			return copied
		}
		dst.Set(v)
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				dst.Field(i).Set(deepCopy(v.Field(i)))
			}
		}
	default:
		dst.Set(v)
	}
	return dst
}

// copyByPointer copies a struct whose pointer has the generated DeepCopy, or whose value has it (resource.Quantity).
func copyByPointer(v reflect.Value) (reflect.Value, bool) {
	p := reflect.New(v.Type())
	p.Elem().Set(v)
	m := p.MethodByName("DeepCopy")
	if !m.IsValid() || m.Type().NumIn() != 0 || m.Type().NumOut() != 1 {
		return v, false
	}
	switch m.Type().Out(0) {
	case p.Type():
		return m.Call(nil)[0].Elem(), true
	case v.Type():
		return m.Call(nil)[0], true
	}
	return v, false
}
