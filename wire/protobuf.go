package wire

import (
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields walks over the fields of one protobuf message. It reports trouble in err, once, and then ends.
type fields struct {
	rest []byte
	num  protowire.Number
	typ  protowire.Type
	u    uint64 // the value of a varint
	val  []byte // the value of a length-delimited field
	raw  []byte // the whole field, tag included
	err  error
}

// next moves to the next field and reports whether there is one.
func (f *fields) next() bool {
	b := f.rest
	if len(b) == 0 || f.err != nil {
		return false
	}
	tag, n := uint64(b[0]), 1
	if tag >= 0x80 {
		if tag, n = protowire.ConsumeVarint(b); n < 0 {
			return f.fail(n)
		}
	}
	num := tag >> 3
	if num == 0 || num > math.MaxInt32 {
		f.err = unusual("protobuf field number %d", num)
		return false
	}
	f.num, f.typ = protowire.Number(num), protowire.Type(tag&7)
	m := 0
	switch f.typ {
	case protowire.VarintType:
		f.u, m = protowire.ConsumeVarint(b[n:])
	case protowire.BytesType:
		f.val, m = protowire.ConsumeBytes(b[n:])
	case protowire.Fixed32Type:
		_, m = protowire.ConsumeFixed32(b[n:])
	case protowire.Fixed64Type:
		_, m = protowire.ConsumeFixed64(b[n:])
	case protowire.StartGroupType:
		f.err = unusual("protobuf group in field %d", num)
		return false
	default:
		f.err = malformed("protobuf wire type %d in field %d", f.typ, num)
		return false
	}
	if m < 0 {
		return f.fail(m)
	}
	f.raw, f.rest = b[:n+m], b[n+m:]
	return true
}

func (f *fields) fail(code int) bool {
	if err := protowire.ParseError(code); errors.Is(err, io.ErrUnexpectedEOF) {
		f.err = malformed("protobuf message is cut off")
	} else {
		// Decoders differ in what they make of a varint that is too long.
		f.err = unusual("%v", err)
	}
	return false
}

// want checks the wire type of the current field.
func (f *fields) want(typ protowire.Type) bool {
	if f.typ != typ {
		if f.err == nil {
			f.err = malformed("protobuf wire type %d in field %d, want %d", f.typ, f.num, typ)
		}
		return false
	}
	return true
}

// bytes returns the current field's value, which must be length-delimited.
func (f *fields) bytes() []byte {
	if !f.want(protowire.BytesType) {
		return nil
	}
	return f.val
}

// varint returns the current field's value, which must be a varint.
func (f *fields) varint() uint64 {
	if !f.want(protowire.VarintType) {
		return 0
	}
	return f.u
}

// once notes in seen that the current field, which may occur only once, occurred.
func (f *fields) once(seen *uint32) {
	bit := uint32(1) << (uint32(f.num) & 31)
	if *seen&bit != 0 && f.err == nil {
		f.err = unusual("protobuf field %d occurs twice", f.num)
	}
	*seen |= bit
}

// only returns the length-delimited field num of msg, which may occur once. The whole of msg is looked at.
func only(msg []byte, num protowire.Number) (val []byte, found bool, err error) {
	f, seen := fields{rest: msg}, uint32(0)
	for f.next() {
		if f.num == num {
			f.once(&seen)
			val, found = f.bytes(), true
		}
	}
	return val, found, f.err
}

// entry returns the key and the value of a map entry. The value is the current field of the result; complete is false
// where either is missing. Whatever is wrong with an entry is unusual only: generated decoders take a key or a value for
// length-delimited without looking.
func entry(msg []byte) (key []byte, value fields, complete bool, err error) {
	f, seen := fields{rest: msg}, uint32(0)
	for f.next() {
		switch f.num {
		case 1:
			f.once(&seen)
			key = f.bytes()
		case 2:
			f.once(&seen)
			f.want(protowire.BytesType)
			value = f
		}
	}
	if f.err != nil {
		f.err = unusual("map entry: %v", f.err)
	}
	return key, value, seen == 1<<1|1<<2, f.err
}

// entryText is entry for a map of strings.
func entryText(msg []byte) (key, value []byte, err error) {
	key, v, complete, err := entry(msg)
	switch {
	case err != nil:
		return nil, nil, err
	case !complete:
		return nil, nil, unusual("protobuf map entry without key or value")
	}
	return key, v.val, nil
}

// timestamp returns the parts of a Timestamp message; set is false for the empty message, which is the zero time.
func timestamp(msg []byte) (seconds int64, nanos int32, set bool, err error) {
	f, seen := fields{rest: msg}, uint32(0)
	for f.next() {
		switch f.num {
		case 1:
			f.once(&seen)
			seconds = int64(f.varint())
		case 2:
			f.once(&seen)
			nanos = int32(f.varint())
		}
	}
	return seconds, nanos, len(msg) > 0, f.err
}
