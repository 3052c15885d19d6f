package tarntest

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
)

// JSON returns the codec of a plain struct: one that embeds metav1.ObjectMeta (with the tag `json:"metadata"`), or whose
// pointer implements metav1.Object in another way. Its values are pointers: JSON[Widget]() encodes a *Widget, and decodes
// into a new one. Copies are made through JSON, so fields that JSON does not carry are not copied.
func JSON[T any, P interface {
	*T
	metav1.Object
}]() object.Codec {
	return jsonCodec[T, P]{}
}

type jsonCodec[T any, P interface {
	*T
	metav1.Object
}] struct{}

func (jsonCodec[T, P]) Decode(enc object.Encoding, raw []byte) (any, error) {
	if enc != object.JSON {
		return nil, fmt.Errorf("tarntest: the JSON codec does not decode %s", enc)
	}
	value := P(new(T))
	if err := json.Unmarshal(raw, value); err != nil {
		return nil, err
	}
	return value, nil
}

func (c jsonCodec[T, P]) Encode(value any) (object.Encoding, []byte, error) {
	v, err := c.value(value)
	if err != nil {
		return object.None, nil, err
	}
	raw, err := json.Marshal(v)
	return object.JSON, raw, err
}

// Copy panics where the value does not encode: it is no value of this codec.
func (c jsonCodec[T, P]) Copy(value any) any {
	enc, raw, err := c.Encode(value)
	if err == nil {
		value, err = c.Decode(enc, raw)
	}
	if err != nil {
		panic(fmt.Sprintf("tarntest: copy %T: %v", value, err))
	}
	return value
}

func (c jsonCodec[T, P]) Meta(value any) (object.Meta, error) {
	v, err := c.value(value)
	if err != nil {
		return object.Meta{}, err
	}
	return object.MetaOf(v), nil
}

func (jsonCodec[T, P]) value(value any) (P, error) {
	v, ok := value.(P)
	if !ok || v == nil {
		return nil, fmt.Errorf("tarntest: %T is not a value of the codec, which are %T", value, v)
	}
	return v, nil
}
