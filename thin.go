package tarn

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/wire"
	"github.com/tarn-dev/tarn/wire/decode"
)

// ErrDropped is returned for a field that the informer does not keep: see [Drop] and [Keep].
var ErrDropped = errors.New("the field is not kept")

// PartialAnnotation is set in the values of an informer with the option [Partial], and only there: the server's object does
// not have it. It says that fields are missing, so that writing such a value back would delete them; copies have it too.
const PartialAnnotation = "tarn.dev/partial"

// IsPartial reports whether a value comes from an informer that keeps only a part of each object. To change the object on
// the server, patch it; never update it with such a value.
func IsPartial(value metav1.Object) bool {
	_, ok := value.GetAnnotations()[PartialAnnotation]
	return ok
}

// Drop leaves fields out, given by their paths: metadata.managedFields, metadata.annotations[example.com/large],
// spec.containers[*].env. They are cut from the encoded bytes before anything is kept or decoded, so they take no memory at
// all. To read one is an error ([ErrDropped]). What tarn itself reads cannot be dropped: name, namespace, uid,
// resourceVersion, generation, the times of creation and deletion, labels, and owner references.
//
// An informer of a type that has one of the fields needs the option [Partial], because such a value does not say that
// something is missing. One of a slim type, which has only what is wanted, does not.
func Drop(paths ...string) Option {
	return func(c *config) { c.drop = append(c.drop, paths...) }
}

// Keep is the reverse of [Drop]: all fields but these are left out, and but those that cannot be dropped. With both, Drop
// applies to what Keep keeps.
func Keep(paths ...string) Option {
	return func(c *config) { c.keepOnly = append(c.keepOnly, paths...) }
}

// Partial allows an informer with [Drop] or [Keep] to fill a type that has the missing fields. They are zero; the values
// carry [PartialAnnotation].
func Partial() Option { return func(c *config) { c.partial = true } }

// ownFields are the fields that tarn reads itself.
var ownFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion", "metadata.generation",
	"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.labels", "metadata.ownerReferences",
}

// thinning is what Drop and Keep say, compiled; nil where they were not given.
type thinning struct {
	drop, keep []*wire.Path
	trim       *wire.Trim
	codec      func(object.Codec) object.Codec
}

// thinning compiles Drop and Keep for an informer of type t, whose objects are of type of.
func (c *config) thinning(t, of reflect.Type) (*thinning, error) {
	if len(c.drop)+len(c.keepOnly) == 0 {
		return nil, nil
	}
	compile := compiler(of)
	th := &thinning{codec: func(codec object.Codec) object.Codec { return codec }}
	compileAll := func(option string, texts []string) (paths []*wire.Path, err error) {
		for _, text := range texts {
			p, err := compile(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", option, err)
			}
			paths = append(paths, p)
		}
		return paths, nil
	}
	read, err := compileAll("fields that tarn reads", ownFields)
	if err != nil {
		return nil, err
	}
	if th.drop, err = compileAll("Drop", c.drop); err != nil {
		return nil, err
	}
	for _, d := range th.drop {
		for _, p := range read {
			if d.Meets(p) {
				return nil, fmt.Errorf("Drop: %s cannot be dropped: tarn itself reads %s", d, p)
			}
		}
	}
	if len(c.keepOnly) > 0 {
		if th.keep, err = compileAll("Keep", c.keepOnly); err != nil {
			return nil, err
		}
		th.keep = append(th.keep, read...)
	}
	if th.trim, err = wire.NewTrim(th.keep, th.drop); err != nil {
		return nil, err
	}
	if isEncoded(t) {
		return th, nil
	}
	if missing := th.missing(t, of, compile); missing != "" {
		if !c.partial {
			return nil, fmt.Errorf("%s has %s, which is not kept: its values would not say that it is missing; use a struct with only the "+
				"fields that you need, or say with tarn.Partial() that this is what you want", t, missing)
		}
		th.codec = func(codec object.Codec) object.Codec { return &partialCodec{codec} }
	}
	return th, nil
}

// isEncoded reports whether values of type t are the encoded form.
func isEncoded(t reflect.Type) bool { return t == reflect.TypeFor[*object.Object]() }

// compiler returns what compiles paths for objects of type t.
func compiler(t reflect.Type) func(string) (*wire.Path, error) {
	if t == reflect.TypeFor[*unstructured.Unstructured]() || isEncoded(t) || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return wire.CompileJSONPath
	}
	return func(path string) (*wire.Path, error) { return wire.CompilePath(t.Elem(), path) }
}

// missing returns a field of t that is not kept, empty if there is none. A slim type only misses one of which nothing is
// kept.
func (th *thinning) missing(t, of reflect.Type, compile func(string) (*wire.Path, error)) string {
	switch {
	case t != of:
	case len(th.drop) > 0:
		return th.drop[0].String()
	default:
		return "more than the fields of Keep"
	}
	for _, field := range decode.Fields(t.Elem(), of.Elem()) {
		p, err := compile(field)
		if err != nil {
			continue // apiVersion and kind of a protobuf message
		}
		gone := slices.ContainsFunc(th.drop, func(d *wire.Path) bool { return d.Covers(p) })
		if gone || len(th.keep) > 0 && !slices.ContainsFunc(th.keep, func(k *wire.Path) bool { return k.Meets(p) }) {
			return field
		}
	}
	return ""
}

// check returns an error if a path leads to what is not kept, or not all of it.
func (th *thinning) check(p *wire.Path) error {
	if th == nil {
		return nil
	}
	for _, d := range th.drop {
		if d.Meets(p) {
			return fmt.Errorf("%s: %w: the informer's option Drop names %s", p, ErrDropped, d)
		}
	}
	if len(th.keep) == 0 {
		return nil
	}
	for _, k := range th.keep {
		if k.Covers(p) {
			return nil
		}
	}
	return fmt.Errorf("%s: %w: the informer's option Keep names %s", p, ErrDropped, strings.Join(th.kept(), ", "))
}

// kept lists the paths of Keep.
func (th *thinning) kept() (texts []string) {
	for _, k := range th.keep[:len(th.keep)-len(ownFields)] {
		texts = append(texts, k.String())
	}
	return texts
}

// apply trims an object that came from a source that does not do it.
func (th *thinning) apply(o *object.Object) *object.Object {
	if th == nil || o == nil || o.Encoding == object.None && o.Value == nil { // a bookmark has a version only
		return o
	}
	enc, raw, err := o.Encoded()
	if err == nil {
		enc, raw, err = kube.Trim(th.trim, nil, enc, raw, o.Codec)
	}
	thin := *o.Keep()
	if err != nil {
		thin.Err = errors.Join(o.Err, fmt.Errorf("%s: %w", o.Key, err))
		return &thin
	}
	thin.Encoding, thin.Raw, thin.Value = enc, raw, nil
	return &thin
}

// partialCodec marks the values that a codec makes.
type partialCodec struct{ object.Codec }

func (c *partialCodec) Decode(enc object.Encoding, raw []byte) (any, error) {
	return mark(c.Codec.Decode(enc, raw))
}

// DecodeOwned implements object.OwningCodec.
func (c *partialCodec) DecodeOwned(enc object.Encoding, raw []byte) (any, error) {
	if owning, ok := c.Codec.(object.OwningCodec); ok {
		return mark(owning.DecodeOwned(enc, raw))
	}
	return c.Decode(enc, raw)
}

// DecodesProtobuf implements kube.ProtobufDecoder.
func (c *partialCodec) DecodesProtobuf() bool {
	p, ok := c.Codec.(kube.ProtobufDecoder)
	return ok && p.DecodesProtobuf()
}

// Encode implements object.Codec: the mark is not the object's.
func (c *partialCodec) Encode(value any) (object.Encoding, []byte, error) {
	if o, ok := value.(metav1.Object); ok && IsPartial(o) {
		value = c.Copy(value)
		o = value.(metav1.Object)
		annotations := o.GetAnnotations()
		delete(annotations, PartialAnnotation)
		o.SetAnnotations(annotations)
	}
	return c.Codec.Encode(value)
}

func mark(v any, err error) (any, error) {
	if o, ok := v.(metav1.Object); ok && err == nil {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[PartialAnnotation] = "true"
		o.SetAnnotations(annotations)
	}
	return v, err
}
