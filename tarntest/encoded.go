package tarntest

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/tarn-dev/tarn/object"
)

// accept turns what a test puts in into an object of its own. It panics where it has no key.
func (s *Source) accept(verb string, value any) *object.Object {
	o, err := s.encode(value)
	if err == nil && o.Key == "" {
		err = fmt.Errorf("it has no name")
	}
	if err != nil {
		panic(fmt.Sprintf("tarntest: %s %T: %v", verb, value, err))
	}
	return o
}

func (s *Source) encode(value any) (*object.Object, error) {
	switch v := value.(type) {
	case *object.Object:
		o := *v
		return &o, nil
	case []byte:
		var head metav1.PartialObjectMetadata
		if err := json.Unmarshal(v, &head); err != nil {
			return nil, err
		}
		return &object.Object{Meta: object.MetaOf(&head), Encoding: object.JSON, Raw: v, Codec: s.codec}, nil
	}
	if s.codec == nil {
		return nil, object.ErrNoCodec
	}
	enc, raw, err := s.codec.Encode(value)
	if err != nil {
		return nil, err
	}
	meta, err := s.codec.Meta(value)
	return &object.Object{Meta: meta, Encoding: enc, Raw: raw, Codec: s.codec}, err
}

// atVersion returns a copy of the object that carries another version.
func atVersion(o *object.Object, version uint64) *object.Object {
	c := *o
	c.Version = format(version)
	writeMeta(&c)
	return &c
}

// writeMeta makes the encoded form and the value say what the server decides: uid, creation time and version. Bytes and
// values are shared with other versions of the object, so new ones are made.
func writeMeta(o *object.Object) {
	if o.Value != nil && o.Codec != nil {
		o.Value = o.Codec.Copy(o.Value)
		setMeta(o.Value, &o.Meta)
	}
	switch {
	case o.Encoding == object.JSON:
		o.Raw = patchJSON(o.Raw, &o.Meta)
	case o.Encoding == object.Protobuf && o.Codec != nil:
		v, err := o.Codec.Decode(o.Encoding, o.Raw)
		if err != nil || !setMeta(v, &o.Meta) {
			return
		}
		if enc, raw, err := o.Codec.Encode(v); err == nil {
			o.Encoding, o.Raw = enc, raw
		}
	}
}

func setMeta(value any, m *object.Meta) bool {
	v, ok := value.(metav1.Object)
	if ok {
		v.SetResourceVersion(m.Version)
		v.SetUID(types.UID(m.UID))
		v.SetCreationTimestamp(metav1.Unix(m.Created, 0))
	}
	return ok
}

// patchJSON returns the JSON with the metadata of m; raw itself where it is not the JSON of an object.
func patchJSON(raw []byte, m *object.Meta) []byte {
	var whole, meta map[string]json.RawMessage
	if json.Unmarshal(raw, &whole) != nil || json.Unmarshal(whole["metadata"], &meta) != nil || meta == nil {
		return raw
	}
	for name, value := range map[string]string{
		"resourceVersion":   m.Version,
		"uid":               m.UID,
		"creationTimestamp": time.Unix(m.Created, 0).UTC().Format(time.RFC3339),
	} {
		meta[name] = mustJSON(value)
	}
	whole["metadata"] = mustJSON(meta)
	return mustJSON(whole)
}

// mustJSON encodes strings, and maps of JSON that was valid when it was read.
func mustJSON(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
