package wire

import (
	"bufio"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

const (
	fieldListMetadata protowire.Number = 1
	fieldListItems    protowire.Number = 2

	fieldListMetaResourceVersion protowire.Number = 2
	fieldListMetaContinue        protowire.Number = 3
	fieldListMetaRemaining       protowire.Number = 4
)

// protobufList reads a list message inside an envelope. The envelope's body has a length, so the end of the list is
// known before it comes, and a body that is cut off is noticed.
type protobufList struct {
	meta   *ListMeta
	r      *bufio.Reader
	limit  int
	opened bool   // the envelope's head has been read
	left   uint64 // bytes of the list message that are still to come
	seen   bool   // the list's metadata has been read
}

func (l *protobufList) next(buf []byte) ([]byte, error) {
	if !l.opened {
		if err := l.open(); err != nil {
			return nil, err
		}
		l.opened = true
	}
	for l.left > 0 {
		num, typ, size, err := l.field(&l.left)
		if err != nil {
			return nil, err
		}
		switch {
		case num == fieldListItems && typ == protowire.BytesType:
			if size > uint64(l.limit) {
				return nil, tooLarge("item", size, l.limit)
			}
			return readN(l.r, int(size), buf)
		case num == fieldListMetadata && typ == protowire.BytesType:
			if l.seen {
				return nil, unusual("a list with two metadata")
			}
			l.seen = true
			msg, err := l.head(size)
			if err != nil {
				return nil, err
			}
			if err := l.listMeta(msg); err != nil {
				return nil, err
			}
		case num == fieldListItems || num == fieldListMetadata:
			return nil, malformed("protobuf wire type %d in field %d of a list", typ, num)
		default:
			if err := l.skip(size); err != nil {
				return nil, err
			}
		}
	}
	return nil, l.close()
}

// open reads the envelope up to the list message.
func (l *protobufList) open() error {
	var head [len(magic)]byte
	if _, err := io.ReadFull(l.r, head[:]); err != nil {
		return broken(err)
	}
	if string(head[:]) != magic {
		return malformed(`no "k8s\x00" before a protobuf list`)
	}
	for typed := false; ; {
		left := uint64(math.MaxUint64)
		num, typ, size, err := l.field(&left)
		if err != nil {
			return broken(err)
		}
		switch {
		case num == fieldUnknownTypeMeta && typ == protowire.BytesType && !typed:
			typed = true
			msg, err := l.head(size)
			if err != nil {
				return err
			}
			if l.meta.APIVersion, l.meta.Kind, err = new(EnvelopeReader).typeMeta(msg); err != nil {
				return err
			}
			if err := l.meta.check(); err != nil {
				return err
			}
		case num == fieldUnknownRaw && typ == protowire.BytesType:
			l.left = size
			return nil
		default:
			return unusual("field %d before the body of an envelope", num)
		}
	}
}

// close reads what follows the list message in the envelope, and returns io.EOF if that is in order.
func (l *protobufList) close() error {
	for {
		left := uint64(math.MaxUint64)
		num, typ, size, err := l.field(&left)
		if err != nil {
			return err
		}
		if num <= fieldUnknownRaw {
			return unusual("field %d behind the body of an envelope", num)
		}
		if num == fieldUnknownContentEncoding && (typ != protowire.BytesType || size > 0) {
			return unusual("a list with a content encoding of its own")
		}
		if err := l.skip(size); err != nil {
			return err
		}
	}
}

// field reads a tag and, of a length-delimited field, the length. size is how many bytes of the field are still to
// come. What the whole field takes is subtracted from left. It returns io.EOF only where the stream ends before the
// tag and left does not say that more is to come.
func (l *protobufList) field(left *uint64) (num protowire.Number, typ protowire.Type, size uint64, err error) {
	unbounded := *left == math.MaxUint64
	tag, err := l.varint(left)
	if err != nil {
		if !unbounded {
			err = broken(err)
		}
		return 0, 0, 0, err
	}
	n := tag >> 3
	if n == 0 || n > math.MaxInt32 {
		return 0, 0, 0, malformed("protobuf field number %d in a list", n)
	}
	switch typ = protowire.Type(tag & 7); typ {
	case protowire.VarintType:
		_, err = l.varint(left)
	case protowire.BytesType:
		size, err = l.varint(left)
	case protowire.Fixed32Type:
		size = 4
	case protowire.Fixed64Type:
		size = 8
	case protowire.StartGroupType:
		err = unusual("protobuf group in a list")
	default:
		err = malformed("protobuf wire type %d in a list", typ)
	}
	if err != nil {
		return 0, 0, 0, broken(err)
	}
	if size > *left || size > math.MaxInt64 {
		return 0, 0, 0, malformed("a field of %d bytes where the list has %d left", size, *left)
	}
	*left -= size
	return protowire.Number(n), typ, size, nil
}

func (l *protobufList) varint(left *uint64) (v uint64, err error) {
	for shift := 0; shift < 64; shift += 7 {
		if *left == 0 {
			return 0, malformed("a field reaches beyond the list it is in")
		}
		c, err := l.r.ReadByte()
		if err != nil {
			if shift > 0 {
				err = broken(err)
			}
			return 0, err
		}
		*left--
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, malformed("protobuf varint is too long")
}

// head reads a small message.
func (l *protobufList) head(size uint64) ([]byte, error) {
	if size > maxHead {
		return nil, tooLarge("list metadata", size, maxHead)
	}
	return readN(l.r, int(size), nil)
}

func (l *protobufList) skip(size uint64) error {
	_, err := l.r.Discard(int(size))
	return broken(err)
}

func (l *protobufList) listMeta(msg []byte) error {
	f, seen := fields{b: msg}, uint32(0)
	for f.next() {
		switch f.num {
		case fieldListMetaResourceVersion:
			f.once(&seen)
			l.meta.Version = string(f.bytes())
		case fieldListMetaContinue:
			f.once(&seen)
			l.meta.Continue = string(f.bytes())
		case fieldListMetaRemaining:
			f.once(&seen)
			l.meta.Remaining = int64(f.varint())
		}
	}
	return f.err
}
