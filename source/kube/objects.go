package kube

import (
	"errors"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/tarn-dev/tarn/internal/race"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// memory is what one object lies in. It goes around: from the pool to an object, and back when that is released.
type memory struct {
	object  object.Object
	meta    wire.MetaBuffer
	bytes   []byte // as read; Raw is a part of it, or is trimmed
	trimmed []byte
	release func()
}

// maxPooled is the size above which an object's memory is not used again.
const maxPooled = 64 << 10

// pool lends memory to the objects of one list or watch. It holds as much as there were objects at once.
type pool struct {
	mu   sync.Mutex
	free []*memory
}

func (p *pool) get() *memory {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		m := p.free[n-1]
		p.free[n-1] = nil
		p.free = p.free[:n-1]
		return m
	}
	m := &memory{}
	m.release = func() { p.put(m) }
	return m
}

func (p *pool) put(m *memory) {
	m.object = object.Object{}
	if race.Enabled { // who kept some of it shall notice
		for _, b := range [][]byte{m.bytes, m.trimmed} {
			for i := range b {
				b[i] = 0xdb
			}
		}
		m.meta.Scribble()
	}
	if cap(m.bytes) > maxPooled {
		m.bytes, m.trimmed = nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, m)
}

// object makes the object of encoded bytes that lie in m, trimmed.
func (c *collection) object(m *memory, enc object.Encoding, raw []byte, codec object.Codec) *object.Object {
	if c.trim == nil {
		return m.newObject(enc, raw, codec)
	}
	enc, trimmed, err := Trim(c.trim, m.trimmed[:0], enc, raw, codec)
	if err != nil {
		o := m.newObject(enc, raw, codec)
		o.Err = errors.Join(o.Err, err)
		return o
	}
	m.trimmed = trimmed
	return m.newObject(enc, trimmed, codec)
}

// Trim appends what t leaves of an encoded object to dst. What cannot be trimmed as it is (see [wire.ErrUnusual]) is
// decoded and encoded first, if codec is not nil, and may have another encoding then.
func Trim(t *wire.Trim, dst []byte, enc object.Encoding, raw []byte, codec object.Codec) (object.Encoding, []byte, error) {
	dst, err := t.Append(dst, enc, raw)
	if err == nil || codec == nil || !errors.Is(err, wire.ErrUnusual) {
		return enc, dst, err
	}
	v, decodeErr := codec.Decode(enc, raw)
	if decodeErr != nil {
		return enc, dst, errors.Join(err, decodeErr)
	}
	again, raw, encodeErr := codec.Encode(v)
	if encodeErr != nil {
		return enc, dst, errors.Join(err, encodeErr)
	}
	dst, err = t.Append(dst, again, raw)
	return again, dst, err
}

// newObject makes an object of encoded bytes, which it keeps. It never fails: what is wrong with the bytes is in the
// object's Err, and the metadata is what could be read.
func newObject(enc object.Encoding, raw []byte, codec object.Codec) *object.Object {
	return new(memory).newObject(enc, raw, codec)
}

// newObject is newObject in the memory, of which raw is a part.
func (m *memory) newObject(enc object.Encoding, raw []byte, codec object.Codec) *object.Object {
	o := &m.object
	*o = object.Object{Encoding: enc, Raw: raw, Codec: codec, Release: m.release}
	var err error
	if o.Meta, err = m.meta.Read(enc, o.Raw); err == nil && o.Key != "" {
		o.Derived = true
		return o
	}
	if err == nil {
		o.Err = errNoName
		return o
	}
	// Valid bytes that no Kubernetes server writes: ask the full decoder.
	meta, decodeErr := decodeMeta(o)
	o.Meta = meta
	if decodeErr != nil {
		o.Err = decodeErr
	} else if o.Key == "" {
		o.Err = errNoName
	}
	return o
}

var errNoName = errors.New("object without a name")

// decodeMeta reads the metadata with a full decoder: the object's own, or where that fails one that decodes nothing
// but metadata.
func decodeMeta(o *object.Object) (object.Meta, error) {
	var err error
	if o.Codec != nil {
		var v any
		if v, err = o.Codec.Decode(o.Encoding, o.Raw); err == nil {
			return o.Codec.Meta(v)
		}
	}
	v, metaErr := metadataCodec.Decode(o.Encoding, o.Raw)
	if metaErr != nil {
		return identity(o), metaErr
	}
	return object.MetaOf(v.(metav1.Object)), err
}

// identity reads what tells an object from others, from JSON with metadata that is otherwise broken; zero from protobuf,
// in which nothing behind the break has a meaning.
func identity(o *object.Object) object.Meta {
	var v struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if o.Encoding != object.JSON || json.Unmarshal(o.Raw, &v) != nil {
		return object.Meta{}
	}
	m := v.Metadata
	return object.Meta{Key: object.JoinKey(m.Namespace, m.Name), UID: m.UID, Version: m.ResourceVersion}
}

// codecFor returns the codec of objects of a kind.
func (c *collection) codecFor(kind schema.GroupVersionKind) object.Codec {
	if c.codec == nil && c.codecOf != nil {
		return c.codecOf(kind)
	}
	return c.codec
}

// kindOf returns the kind of the objects in an answer whose object says that it is of kind sent: in an answer with
// metadata only, every object is sent as a PartialObjectMetadata.
func (c *collection) kindOf(sent schema.GroupVersionKind) schema.GroupVersionKind {
	if c.metadataOnly && sent.Group == metav1.GroupName && sent.Kind == "PartialObjectMetadata" {
		return c.mapping.Kind
	}
	return sent
}
