package kube

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
	"github.com/tarn-dev/tarn/wire/decode"
)

// ErrEncoding is returned by a codec for an encoding that its type does not have.
var ErrEncoding = errors.New("the type does not have this encoding")

// ProtobufDecoder is an optional interface of a codec. The server is asked for protobuf only where the codec says that
// it decodes it.
type ProtobufDecoder interface {
	DecodesProtobuf() bool
}

// CodecFor returns the codec whose values are of example's type, which must be a pointer to a struct:
//
//   - *unstructured.Unstructured: from JSON only; numbers are int64 or float64. Items of a built-in kind carry no kind
//     of their own inside a list; they get example's.
//   - a type of the Kubernetes API, also *metav1.PartialObjectMetadata: from protobuf if the type has it, and JSON.
//     Their TypeMeta is left empty, as client-go's typed and metadata clients do it. From protobuf, strings outside the
//     metadata share the memory of one text per object (package wire/decode).
//   - any other struct with JSON tags: from JSON. If it has no DeepCopyObject method, Copy goes through JSON.
//
// JSON is read as client-go reads it: keys are case-sensitive, unknown ones are ignored, and so are all but the last of
// several equal ones.
func CodecFor(example any) (object.Codec, error) {
	if u, ok := example.(*unstructured.Unstructured); ok {
		return unstructuredCodec{kind: u.GroupVersionKind()}, nil
	}
	t := reflect.TypeOf(example)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return nil, fmt.Errorf("kube: codec for %T: not a pointer to a struct", example)
	}
	return newGoCodec(t.Elem()), nil
}

// metadataCodec is the codec of *metav1.PartialObjectMetadata.
var metadataCodec = newGoCodec(reflect.TypeFor[metav1.PartialObjectMetadata]())

// protoMessage is what the generated types of the Kubernetes API implement.
type protoMessage interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// isProtoMessage reports whether a struct type has a protobuf form of its own. One that embeds nothing but
// metav1.ObjectMeta has the methods of that, which would take the object for its metadata.
func isProtoMessage(t reflect.Type) bool {
	message := reflect.TypeFor[protoMessage]()
	if !reflect.PointerTo(t).Implements(message) {
		return false
	}
	embedded, tagged := 0, false
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && (f.Type.Implements(message) || reflect.PointerTo(f.Type).Implements(message)) {
			embedded++
		}
		tagged = tagged || f.Tag.Get("protobuf") != ""
	}
	return embedded != 1 || tagged
}

// goCodec is the codec of the values of one struct type.
type goCodec struct {
	typ   reflect.Type
	proto bool

	once    sync.Once       // decoder is compiled when it is first needed: many a source never decodes
	decoder *decode.Decoder // nil where there is none for protobuf
}

// goCodecs has the codec of every type that there is one for, so that those of one type are the same.
var goCodecs sync.Map // of *goCodec by reflect.Type

func newGoCodec(structType reflect.Type) *goCodec {
	c, _ := goCodecs.LoadOrStore(structType, &goCodec{typ: structType, proto: isProtoMessage(structType)})
	return c.(*goCodec)
}

// decodeProtobuf decodes by the compiled decoder, and where that does not know what to make of the bytes, by the
// generated one. What is owned may become part of the value.
func (c *goCodec) decodeProtobuf(raw []byte, owned bool) (any, error) {
	c.once.Do(func() {
		if d, err := decode.Compile(c.typ, nil); err == nil && d.DecodesProtobuf() {
			c.decoder = d
		}
	})
	v, err := reflect.New(c.typ).Interface(), wire.ErrUnusual
	switch d := c.decoder; {
	case d == nil:
	case owned:
		err = d.DecodeOwned(object.Protobuf, raw, v)
	default:
		err = d.Decode(object.Protobuf, raw, v)
	}
	if errors.Is(err, wire.ErrUnusual) {
		v = reflect.New(c.typ).Interface()
		err = v.(protoMessage).Unmarshal(raw)
	}
	return v, err
}

// DecodesProtobuf implements [ProtobufDecoder].
func (c *goCodec) DecodesProtobuf() bool { return c.proto }

// Decode implements object.Codec.
func (c *goCodec) Decode(enc object.Encoding, raw []byte) (any, error) {
	return c.decode(enc, raw, false)
}

// DecodeOwned implements object.OwningCodec.
func (c *goCodec) DecodeOwned(enc object.Encoding, raw []byte) (any, error) {
	return c.decode(enc, raw, true)
}

func (c *goCodec) decode(enc object.Encoding, raw []byte, owned bool) (any, error) {
	var v any
	var err error
	switch {
	case enc == object.JSON:
		v = reflect.New(c.typ).Interface()
		err = json.Unmarshal(raw, v)
	case enc == object.Protobuf && c.proto:
		v, err = c.decodeProtobuf(raw, owned)
	default:
		err = fmt.Errorf("%w: %s", ErrEncoding, enc)
	}
	if err != nil {
		return nil, fmt.Errorf("into %s: %w", c.typ, err)
	}
	if o, ok := v.(runtime.Object); ok {
		o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return v, nil
}

// Encode implements object.Codec.
func (c *goCodec) Encode(value any) (object.Encoding, []byte, error) {
	if err := c.check(value); err != nil {
		return object.None, nil, err
	}
	if c.proto {
		raw, err := value.(protoMessage).Marshal()
		return object.Protobuf, raw, err
	}
	raw, err := json.Marshal(value)
	return object.JSON, raw, err
}

// Copy implements object.Codec.
func (c *goCodec) Copy(value any) any {
	if o, ok := value.(runtime.Object); ok {
		return o.DeepCopyObject()
	}
	raw, err := json.Marshal(value)
	v := reflect.New(c.typ).Interface()
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		// A value that came out of Decode goes through JSON.
		panic(fmt.Sprintf("kube: copy of %T: %v", value, err))
	}
	return v
}

// Meta implements object.Codec.
func (c *goCodec) Meta(value any) (object.Meta, error) {
	if err := c.check(value); err != nil {
		return object.Meta{}, err
	}
	if o, ok := value.(metav1.Object); ok {
		return object.MetaOf(o), nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return object.Meta{}, err
	}
	return wire.Meta(object.JSON, raw)
}

func (c *goCodec) check(value any) error {
	if t := reflect.TypeOf(value); t == nil || t.Kind() != reflect.Pointer || t.Elem() != c.typ {
		return fmt.Errorf("kube: %T where *%s is expected", value, c.typ)
	}
	return nil
}

// unstructuredCodec is the codec of *unstructured.Unstructured.
type unstructuredCodec struct {
	kind schema.GroupVersionKind // of objects that do not name theirs
}

// Decode implements object.Codec.
func (c unstructuredCodec) Decode(enc object.Encoding, raw []byte) (any, error) {
	if enc != object.JSON {
		return nil, fmt.Errorf("into unstructured: %w: %s", ErrEncoding, enc)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(raw, &u.Object); err != nil {
		return nil, fmt.Errorf("into unstructured: %w", err)
	}
	if u.Object == nil {
		return nil, errors.New("into unstructured: null is not an object")
	}
	if u.GetKind() == "" && u.GetAPIVersion() == "" && !c.kind.Empty() {
		u.SetGroupVersionKind(c.kind)
	}
	return u, nil
}

// Encode implements object.Codec.
func (c unstructuredCodec) Encode(value any) (object.Encoding, []byte, error) {
	u, ok := value.(*unstructured.Unstructured)
	if !ok {
		return object.None, nil, fmt.Errorf("kube: %T where *unstructured.Unstructured is expected", value)
	}
	raw, err := json.Marshal(u.Object)
	return object.JSON, raw, err
}

// Copy implements object.Codec.
func (c unstructuredCodec) Copy(value any) any { return value.(*unstructured.Unstructured).DeepCopy() }

// Meta implements object.Codec.
func (c unstructuredCodec) Meta(value any) (object.Meta, error) {
	u, ok := value.(*unstructured.Unstructured)
	if !ok {
		return object.Meta{}, fmt.Errorf("kube: %T where *unstructured.Unstructured is expected", value)
	}
	return object.MetaOf(u), nil
}
