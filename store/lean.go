package store

import (
	"hash/crc32"
	"reflect"
	"sync"
	"sync/atomic"

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

	mu     sync.Mutex // guards what follows; innermost
	bases  map[uint64]*base
	used   int                // how many bases have users
	alone  map[aloneKey]*base // without bytes: for objects that have no sibling
	coding *delta.Coding
	lesson lesson
}

// base is what records are encoded against. Its own record is encoded against nothing but the coding's dictionary.
type base struct {
	group  uint64
	coding *delta.Coding
	codec  object.Codec
	enc    object.Encoding
	rec    string // empty for those of lean.alone
	size   int    // decoded

	labelsHash uint64
	labels     atomic.Pointer[object.Labels] // nil until asked for

	// users counts what is stored and encoded against it, misfits how often that gained little. Both under lean.mu.
	users, misfits int
}

// aloneKey is what objects that share a base without bytes have in common.
type aloneKey struct {
	codec object.Codec
	enc   object.Encoding
}

func newLean() *lean {
	return &lean{
		encoders: sync.Pool{New: func() any { return new(leanEncoder) }},
		decoders: sync.Pool{New: func() any { return new(leanDecoder) }},
		bases:    map[uint64]*base{}, alone: map[aloneKey]*base{},
		coding: delta.NewCoding(nil), lesson: lesson{next: firstLesson},
	}
}

// keeps reports whether the object can be made again from its bytes.
func keeps(obj *object.Object) bool {
	if obj.Encoding == object.None || obj.Err != nil || len(obj.Raw) == 0 || len(obj.Raw) > delta.MaxSize || obj.Codec == nil && obj.Value != nil {
		return false
	}
	if obj.Codec != nil && !reflect.ValueOf(obj.Codec).Comparable() {
		return false
	}
	if obj.Derived {
		return true
	}
	// The source has its metadata from elsewhere: does the encoded form say the same?
	meta, err := wire.MetaOrDecode(obj.Codec, obj.Encoding, obj.Raw)
	return err == nil && meta.Equal(&obj.Meta)
}

func (l *lean) prepare(obj *object.Object) (handle, error) {
	if !keeps(obj) {
		return handle{obj: obj.Keep()}, nil
	}
	e := l.encoders.Get().(*leanEncoder)
	defer l.encoders.Put(e)
	on, isNew := l.baseFor(obj, e)
	same := on.rec != "" && (isNew || on.labelsHash == hashOf(obj.Labels))
	h := handle{rec: e.write(record{base: on, obj: obj, isBase: isNew, same: same}), on: on}
	l.judge(on, len(obj.Raw), len(h.rec))
	l.learn(e, on, obj)
	return h, nil
}

func (l *lean) get(h handle) *object.Object {
	if h.obj != nil {
		return h.obj
	}
	d := l.decoders.Get().(*leanDecoder)
	defer l.decoders.Put(d)
	r := readRecord(h)
	obj := &object.Object{Encoding: h.on.enc, Codec: h.on.codec, WireSize: r.wireSize, Raw: d.object(h.on, r), Derived: true}
	if checksums && crc32.ChecksumIEEE(obj.Raw) != r.sum {
		panic("store: a record does not decode to what was stored")
	}
	obj.Meta = metaOf(h.on, obj.Raw)
	return obj
}

// metaOf reads metadata that was read before, when the object came.
func metaOf(on *base, raw []byte) object.Meta {
	meta, err := wire.MetaOrDecode(on.codec, on.enc, raw)
	if err != nil {
		panic("store: metadata that was read cannot be read again: " + err.Error())
	}
	return meta
}

func (l *lean) identity(h handle) identity {
	if h.obj != nil {
		return identity{h.obj.UID, h.obj.Version}
	}
	r := readRecord(h)
	return identity{r.uid, r.version}
}

func (l *lean) labels(h handle) *object.Labels {
	if h.obj != nil {
		return &h.obj.Labels
	}
	if readRecord(h).same {
		return l.baseLabels(h.on)
	}
	return &l.get(h).Labels
}

func (l *lean) size(h handle) int {
	if h.obj != nil {
		return h.obj.Size()
	}
	r := readRecord(h)
	if r.isBase {
		return h.on.size
	}
	n, err := delta.Size(bytesOf(r.delta))
	if err != nil {
		panic("store: a record has no size")
	}
	return n
}
