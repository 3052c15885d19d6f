// Package object holds what travels through tarn: an object's identity and metadata, its encoded bytes, and the codec
// that turns the bytes into a value.
//
// An [Object] is immutable once it has been handed to a source, a store, a queue or a subscriber: everyone shares it.
// To change one, make a new one. Its bytes are decoded when somebody asks for the value, never before.
package object

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Encoding tells how an object's bytes are encoded.
type Encoding uint8

const (
	// None says that there are no bytes: the object only has a value.
	None Encoding = iota
	// Protobuf is the bare protobuf message, without the "k8s\x00" envelope that Kubernetes puts around it.
	Protobuf
	// JSON is one JSON object.
	JSON
)

// String returns the encoding's name in lower case.
func (e Encoding) String() string {
	switch e {
	case None:
		return "none"
	case Protobuf:
		return "protobuf"
	case JSON:
		return "json"
	}
	return fmt.Sprintf("encoding(%d)", uint8(e))
}

// ErrNoCodec is returned by the reads of an [Object] that needs a codec and has none.
var ErrNoCodec = errors.New("object has no codec")

// Codec converts between the encoded and the decoded form of the objects of one collection. Its methods may be called
// concurrently.
type Codec interface {
	// Decode returns a new value that shares no memory with raw and that the caller owns.
	Decode(enc Encoding, raw []byte) (any, error)
	// Encode returns the encoded form of value in the codec's preferred encoding. The bytes are new; the caller owns them.
	Encode(value any) (Encoding, []byte, error)
	// Copy returns a deep copy of value that the caller owns.
	Copy(value any) any
	// Meta returns the metadata of value. The result may share strings with value, nothing else.
	Meta(value any) (Meta, error)
}

// OwningCodec is an optional interface of a [Codec].
type OwningCodec interface {
	// DecodeOwned is Codec.Decode for a caller who gives raw away: the value may keep it as its memory, so nobody may read or
	// change it any more, also after an error.
	DecodeOwned(enc Encoding, raw []byte) (any, error)
}

// Meta is what the pipeline needs to know of an object without decoding it. It is comparable field by field; its
// slices must not be modified. Its strings may share one buffer: use [strings.Clone] on one that outlives the object.
type Meta struct {
	// Key is "namespace/name", or "name" for a cluster-scoped object.
	Key string
	// UID tells an object from a later one of the same name.
	UID string
	// Version is the resourceVersion; opaque, but see [CompareVersions]. It may be empty (fake clients).
	Version string
	// Generation counts changes of the desired state.
	Generation int64
	// Created and Deleting are metadata.creationTimestamp and metadata.deletionTimestamp in Unix seconds; 0 = not set.
	Created, Deleting int64
	// Labels are sorted by key.
	Labels Labels
	// Owners are the owner references, in the object's order.
	Owners []Owner
}

// Owner is one owner reference.
type Owner struct {
	APIVersion, Kind, Name, UID string
	Controller                  bool
}

// Controller returns the owner that is marked as the controller, or nil. The result points into m.
func (m *Meta) Controller() *Owner {
	for i := range m.Owners {
		if m.Owners[i].Controller {
			return &m.Owners[i]
		}
	}
	return nil
}

// Equal reports whether m and n say the same.
func (m *Meta) Equal(n *Meta) bool {
	return m.Key == n.Key && m.UID == n.UID && m.Version == n.Version && m.Generation == n.Generation &&
		m.Created == n.Created && m.Deleting == n.Deleting && slices.Equal(m.Labels, n.Labels) && slices.Equal(m.Owners, n.Owners)
}

// Clone returns a copy that shares nothing with m.
func (m *Meta) Clone() Meta {
	c := *m
	c.Key, c.UID, c.Version = strings.Clone(m.Key), strings.Clone(m.UID), strings.Clone(m.Version)
	c.Labels = slices.Clone(m.Labels)
	for i, l := range c.Labels {
		c.Labels[i] = Label{strings.Clone(l.Key), strings.Clone(l.Value)}
	}
	c.Owners = slices.Clone(m.Owners)
	for i, o := range c.Owners {
		c.Owners[i] = Owner{strings.Clone(o.APIVersion), strings.Clone(o.Kind), strings.Clone(o.Name), strings.Clone(o.UID), o.Controller}
	}
	return c
}

// Namespace returns the namespace part of the key; empty for a cluster-scoped object.
func (m *Meta) Namespace() string { ns, _ := SplitKey(m.Key); return ns }

// Name returns the name part of the key.
func (m *Meta) Name() string { _, name := SplitKey(m.Key); return name }

// SplitKey splits "namespace/name" or "name" at the first slash. The results share the key's memory.
func SplitKey(key string) (namespace, name string) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:]
	}
	return "", key
}

// JoinKey is the reverse of [SplitKey].
func JoinKey(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

// Object is one version of one object. It is immutable; see the package comment.
type Object struct {
	Meta
	// Encoding and Raw are the encoded form. Raw is nil where Encoding is None. Raw must not be modified.
	Encoding Encoding
	Raw      []byte
	// Codec decodes Raw and copies Value. It may be nil: then only the metadata and Raw can be read, and a Value only as shared.
	Codec Codec
	// Value is the decoded form, shared and read-only; nil where it has not been decoded. See [Object.View] and [Object.Decode].
	Value any
	// WireSize is the length of the encoded form as it arrived, in bytes; [Object.Live] keeps it when the bytes go.
	WireSize int
	// Derived says that Meta is exactly what package wire reads from Raw, so that a store need not keep both.
	Derived bool
	// Release, where it is not nil, gives the memory of the object, of Raw and of Meta back to the source, which makes other
	// objects of it. Only who knows that nobody kept any of them may call it, once; nobody has to. See [Object.Keep].
	Release func()
	// Err says what is wrong with this version of the object (it does not decode, a transform or an index function failed);
	// nil for a good one. Such an object is kept and marked, never dropped.
	Err error
}

// Keep returns the object as one that stays good when it is released: itself, or a copy that shares no memory with it.
func (o *Object) Keep() *Object {
	if o == nil || o.Release == nil {
		return o
	}
	kept := *o
	kept.Release = nil
	kept.Raw = bytes.Clone(o.Raw)
	kept.Meta = o.Meta.Clone()
	return &kept
}

// Decode returns a private value: the caller may keep and change it. It is decoded from Raw, or copied from Value.
func (o *Object) Decode() (any, error) {
	switch {
	case o.Codec == nil:
		return nil, fmt.Errorf("%s: %w", o.Key, ErrNoCodec)
	case o.Value != nil:
		return o.Codec.Copy(o.Value), nil
	}
	v, err := o.Codec.Decode(o.Encoding, o.Raw)
	return v, o.undecodable(err)
}

// Spend is [Object.Decode] for who has the object alone, and gives it away: its bytes may become part of the value, so
// nobody may use it any more, also after an error.
func (o *Object) Spend() (any, error) {
	codec, ok := o.Codec.(OwningCodec)
	if !ok || o.Value != nil {
		return o.Decode()
	}
	v, err := codec.DecodeOwned(o.Encoding, o.Raw)
	return v, o.undecodable(err)
}

func (o *Object) undecodable(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: decode %s: %w", o.Key, o.Encoding, err)
}

// View returns a value that may be shared with others: it must not be modified. It is Value where there is one, else
// decoded anew.
func (o *Object) View() (any, error) {
	if o.Value != nil {
		return o.Value, nil
	}
	return o.Decode()
}

// Encoded returns the encoded form: Raw, or Value encoded anew. The bytes must not be modified.
func (o *Object) Encoded() (Encoding, []byte, error) {
	if o.Encoding != None {
		return o.Encoding, o.Raw, nil
	}
	if o.Codec == nil {
		return None, nil, fmt.Errorf("%s: %w", o.Key, ErrNoCodec)
	}
	enc, raw, err := o.Codec.Encode(o.Value)
	if err != nil {
		return None, nil, fmt.Errorf("%s: encode: %w", o.Key, err)
	}
	return enc, raw, nil
}

// Live returns the object with its value decoded and its bytes let go: what the live layout stores. Where it does not
// decode, the result keeps the bytes and carries the error in Err. o itself does not change.
func (o *Object) Live() *Object {
	if o.Value != nil && o.Encoding == None {
		return o
	}
	live := *o
	v, err := o.View()
	if err != nil {
		if live.Err == nil {
			live.Err = err
		}
		return &live
	}
	live.WireSize = o.Size()
	live.Value, live.Encoding, live.Raw = v, None, nil
	return &live
}

// Size returns the length of the encoded form in bytes, as far as it is known without encoding.
func (o *Object) Size() int {
	if o.Raw != nil {
		return len(o.Raw)
	}
	return o.WireSize
}
