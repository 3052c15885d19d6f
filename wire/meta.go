package wire

import (
	"time"
	"unsafe"

	"github.com/tarn-dev/tarn/object"
)

// Meta returns the metadata of an encoded object. All strings of the result share one buffer of their own; none points
// into raw. An object without metadata gives the zero Meta.
//
// A JSON object is read only as far as its metadata reaches: what follows is neither read nor checked. Reading that
// finds trouble returns [ErrUnusual] or [ErrMalformed].
func Meta(enc object.Encoding, raw []byte) (object.Meta, error) {
	return new(MetaBuffer).Read(enc, raw)
}

// MetaBuffer is memory for one object's metadata, to be used again and again. The zero value is ready. It is used by one
// goroutine at a time.
type MetaBuffer struct {
	text   []byte
	labels object.Labels
	owners []object.Owner
}

// Read is [Meta] into the buffer: the result, with its strings and slices, is only good until the next call.
func (b *MetaBuffer) Read(enc object.Encoding, raw []byte) (object.Meta, error) {
	var (
		d      draft
		labels [16]pair
		owners [2]owner
	)
	d.labels, d.owners = labels[:0], owners[:0] // on the stack, unless there are more
	var err error
	switch enc {
	case object.Protobuf:
		d, err = d.protobuf(raw)
	case object.JSON:
		d, err = d.json(raw)
	default:
		err = unsupported(enc)
	}
	if err != nil {
		return object.Meta{}, err
	}
	return d.finish(b)
}

// Scribble overwrites the buffer's memory, to find out in tests who uses a result for too long.
func (b *MetaBuffer) Scribble() {
	for i := range b.text {
		b.text[i] = '#'
	}
	clear(b.labels[:cap(b.labels)])
	clear(b.owners[:cap(b.owners)])
}

// MetaOrDecode is [Meta], and where that finds trouble, the metadata of the value that codec decodes. The error is then
// the codec's. A nil codec makes it the same as Meta.
func MetaOrDecode(codec object.Codec, enc object.Encoding, raw []byte) (object.Meta, error) {
	m, err := Meta(enc, raw)
	if err == nil || codec == nil {
		return m, err
	}
	v, err := codec.Decode(enc, raw)
	if err != nil {
		return object.Meta{}, err
	}
	return codec.Meta(v)
}

// TypeMeta returns the apiVersion and kind that a JSON object carries; "" for what is missing. It stops when it has
// both. Bare protobuf does not carry them (see [Envelope]): both are "".
func TypeMeta(enc object.Encoding, raw []byte) (apiVersion, kind string, err error) {
	switch enc {
	case object.Protobuf:
		return "", "", nil
	case object.JSON:
	default:
		return "", "", unsupported(enc)
	}
	s, seen := scanner{b: raw}, 0
	for s.begin('{'); seen != 3 && s.more('}'); {
		switch key := s.key(); {
		case s.is(key, "apiVersion"):
			s.once(&seen, 1)
			apiVersion = string(s.strOrNull())
		case s.is(key, "kind"):
			s.once(&seen, 2)
			kind = string(s.strOrNull())
		default:
			s.skip()
		}
	}
	if s.err != nil {
		return "", "", s.err
	}
	return apiVersion, kind, nil
}

// draft is a Meta whose texts still lie in the encoded object. It is passed by value: what is assigned through a pointer
// has to be on the heap.
type draft struct {
	namespace, name, uid, version []byte
	generation, created, deleting int64
	labels                        []pair
	owners                        []owner
}

type pair struct{ key, value []byte }

type owner struct {
	apiVersion, kind, name, uid []byte
	controller                  bool
}

// finish copies the texts into one string and cuts that up.
func (d draft) finish(to *MetaBuffer) (object.Meta, error) {
	size := len(d.namespace) + 1 + len(d.name) + len(d.uid) + len(d.version)
	for _, l := range d.labels {
		size += len(l.key) + len(l.value)
	}
	for _, o := range d.owners {
		size += len(o.apiVersion) + len(o.kind) + len(o.name) + len(o.uid)
	}
	if cap(to.text) < size {
		to.text = make([]byte, 0, size)
	}
	b := to.text[:0]
	keyLen := len(d.name)
	if len(d.namespace) > 0 {
		keyLen += len(d.namespace) + 1
		b = append(b, d.namespace...)
		b = append(b, '/')
	}
	b = append(b, d.name...)
	b = append(b, d.uid...)
	b = append(b, d.version...)
	for _, l := range d.labels {
		b = append(b, l.key...)
		b = append(b, l.value...)
	}
	for _, o := range d.owners {
		b = append(b, o.apiVersion...)
		b = append(b, o.kind...)
		b = append(b, o.name...)
		b = append(b, o.uid...)
	}

	to.text = b
	// Nobody writes to the bytes before the next call: no need to copy them once more.
	buf := unsafe.String(unsafe.SliceData(b), len(b))
	m := object.Meta{Generation: d.generation, Created: d.created, Deleting: d.deleting}
	m.Key, buf = buf[:keyLen], buf[keyLen:]
	m.UID, buf = cut(buf, d.uid)
	m.Version, buf = cut(buf, d.version)
	if len(d.labels) > 0 {
		if cap(to.labels) < len(d.labels) {
			to.labels = make(object.Labels, len(d.labels))
		}
		m.Labels = to.labels[:len(d.labels)]
		for i, l := range d.labels {
			m.Labels[i].Key, buf = cut(buf, l.key)
			m.Labels[i].Value, buf = cut(buf, l.value)
		}
		m.Labels.Sort()
		for i := 1; i < len(m.Labels); i++ {
			if m.Labels[i-1].Key == m.Labels[i].Key {
				return object.Meta{}, unusual("label %q occurs twice", m.Labels[i].Key)
			}
		}
	}
	if len(d.owners) > 0 {
		if cap(to.owners) < len(d.owners) {
			to.owners = make([]object.Owner, len(d.owners))
		}
		m.Owners = to.owners[:len(d.owners)]
		for i := range d.owners {
			o, own := &d.owners[i], &m.Owners[i]
			own.APIVersion, buf = cut(buf, o.apiVersion)
			own.Kind, buf = cut(buf, o.kind)
			own.Name, buf = cut(buf, o.name)
			own.UID, buf = cut(buf, o.uid)
			own.Controller = o.controller
		}
	}
	return m, nil
}

// cut splits off as much of buf as like is long.
func cut(buf string, like []byte) (head, rest string) { return buf[:len(like)], buf[len(like):] }

// unix returns the seconds since 1970, with the zero time as 0.
func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}
