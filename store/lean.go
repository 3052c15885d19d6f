package store

import (
	"bytes"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/tarn-dev/tarn/internal/hot"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store/internal/delta"
	"github.com/tarn-dev/tarn/wire"
)

// lean keeps the encoded bytes of an object as what they differ in from those of a sibling, its base: the first object
// seen with the same controller, or else with the same labels. An object is one string, a record, and a pointer to its
// base; records are never changed, so readers need no lock, and the collector frees each one when the last entry,
// snapshot or log entry that refers to it goes.
type lean struct {
	encoders, decoders sync.Pool // of *leanEncoder and *leanDecoder
	plain              *hot.Cache[*base, []byte]
	tally              tally

	mu    sync.Mutex // guards what follows; innermost
	bases map[uint64]*base
	used  int // how many bases have users
	// baseBytes is the size of the records of those.
	baseBytes int64
	alone     map[aloneKey]*base // without bytes: for objects that have no sibling
	coding    *delta.Coding
	lesson    lesson
}

// base is what records are encoded against. Its own record is encoded against nothing but the coding's dictionary.
type base struct {
	kind  *kind
	group uint64
	rec   string // empty for those of lean.alone

	labelsHash uint64
	labels     atomic.Pointer[object.Labels] // nil until asked for

	size uint32 // decoded
	// users counts what is stored and encoded against it, misfits how often that gained little. Both under lean.mu.
	users, misfits int32
}

// kind is what bases have in common that were made with the same coding, of objects with the same encoding.
type kind struct {
	l      *lean
	coding *delta.Coding
	codec  object.Codec
	enc    object.Encoding
}

// aloneKey is what objects that share a base without bytes have in common.
type aloneKey struct {
	codec object.Codec
	enc   object.Encoding
}

// maxPlain is how many bytes of bases are kept at hand, of those that are read most.
const maxPlain = 2 << 20

func newLean() *lean {
	return &lean{
		encoders: sync.Pool{New: func() any { return new(leanEncoder) }},
		decoders: sync.Pool{New: func() any { return new(leanDecoder) }},
		plain:    hot.New[*base, []byte](maxPlain),
		bases:    map[uint64]*base{}, alone: map[aloneKey]*base{},
		coding: delta.NewCoding(nil), lesson: lesson{next: firstLesson},
	}
}

// keeps reports whether the object can be made again from its bytes.
func keeps(obj *object.Object) bool {
	if obj.Encoding == object.None || obj.Err != nil || len(obj.Raw) == 0 || len(obj.Raw) > delta.MaxSize || obj.Codec == nil && obj.Value != nil {
		return false
	}
	if obj.Codec != nil && !isComparable(obj.Codec) {
		return false
	}
	if obj.Derived {
		return true
	}
	// The source has its metadata from elsewhere: does the encoded form say the same?
	meta, err := wire.MetaOrDecode(obj.Codec, obj.Encoding, obj.Raw)
	return err == nil && meta.Equal(&obj.Meta)
}

// isComparable reports whether codecs like this one can be told apart. Most are pointers, or are asked for by the type alone.
func isComparable(codec object.Codec) bool {
	switch t := reflect.TypeOf(codec); t.Kind() {
	case reflect.Pointer:
		return true
	case reflect.Struct, reflect.Array: // may hold an interface that is not
		return reflect.ValueOf(codec).Comparable()
	default:
		return t.Comparable()
	}
}

func (l *lean) prepare(obj *object.Object) (handle, error) {
	if !keeps(obj) {
		return handleOf(obj.Keep()), nil
	}
	e := l.encoders.Get().(*leanEncoder)
	defer l.encoders.Put(e)
	on, isNew := l.baseFor(obj, e)
	same := on.rec != "" && (isNew || on.labelsHash == hashOf(obj.Labels))
	rec := e.write(record{base: on, obj: obj, isBase: isNew, same: same})
	h := handle{kept: unsafe.Pointer(unsafe.StringData(rec)), on: on, size: uint32(len(rec))}
	l.judge(on, len(obj.Raw), len(rec))
	l.learn(e, on, obj, isNew)
	return h, nil
}

// get, lend, decode and labels are those of a handle with a record.
func (l *lean) get(h handle) *object.Object {
	r := readRecord(h)
	obj := &object.Object{Encoding: h.on.kind.enc, Codec: h.on.kind.codec, WireSize: r.wireSize, Raw: l.bytes(h, r), Derived: true}
	obj.Meta = metaOf(h.on, obj.Raw)
	return obj
}

// bytes returns the object's bytes, in memory of their own.
func (l *lean) bytes(h handle, r record) []byte {
	d := l.decoders.Get().(*leanDecoder)
	defer l.decoders.Put(d)
	return l.appendBytes(nil, d, h, r)
}

func (l *lean) appendBytes(dst []byte, d *leanDecoder, h handle, r record) []byte {
	if r.isBase {
		return r.check(d.base(dst, h.on))
	}
	plain, ok := l.plain.Get(h.on)
	if !ok {
		plain = d.plainOf(h.on)
		if h.on.rec != "" {
			l.plain.Offer(h.on, int64(len(plain)), func() []byte { return bytes.Clone(plain) })
		}
	}
	return r.check(d.must(d.delta.Append(dst, h.on.kind.coding, plain, d.headOf(r), bytesOf(r.delta))))
}

func (l *lean) lend(h handle, read func(*object.Object)) {
	d := l.decoders.Get().(*leanDecoder)
	defer l.decoders.Put(d)
	r := readRecord(h)
	d.lent = l.appendBytes(d.lent[:0], d, h, r)
	obj := object.Object{Encoding: h.on.kind.enc, Codec: h.on.kind.codec, WireSize: r.wireSize, Raw: d.lent, Derived: true}
	read(&obj)
}

func (l *lean) decode(h handle) (any, error) {
	obj := object.Object{Encoding: h.on.kind.enc, Codec: h.on.kind.codec, Raw: l.bytes(h, readRecord(h))}
	v, err := obj.Spend()
	if err != nil {
		return l.get(h).Decode() // once more, for an error that names the object
	}
	return v, nil
}

// metaOf reads metadata that was read before, when the object came.
func metaOf(on *base, raw []byte) object.Meta {
	meta, err := wire.MetaOrDecode(on.kind.codec, on.kind.enc, raw)
	if err != nil {
		panic("store: metadata that was read cannot be read again: " + err.Error())
	}
	return meta
}

func (l *lean) labels(h handle) *object.Labels {
	if readRecord(h).same {
		return l.baseLabels(h.on)
	}
	return &l.get(h).Labels
}
