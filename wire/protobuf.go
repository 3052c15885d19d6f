package wire

import (
	"errors"
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// fields walks over the fields of one protobuf message. It reports trouble in err, once, and then ends.
type fields struct {
	b    []byte
	num  protowire.Number
	typ  protowire.Type
	u    uint64 // the value of a varint
	err  error
	from int // where the field starts in b
	body int // where what is behind its tag, or behind its length, starts
	to   int // where it ends
}

// val returns the value of a field that is length-delimited.
func (f *fields) val() []byte { return f.b[f.body:f.to] }

// raw returns the whole field, tag included.
func (f *fields) raw() []byte { return f.b[f.from:f.to] }

// next moves to the next field and reports whether there is one.
func (f *fields) next() bool {
	if f.to == len(f.b) || f.err != nil {
		return false
	}
	// Only numbers are stored through f: a slice would cost a write barrier each time.
	b := f.b[f.to:]
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
	m, size := 0, 0
	switch f.typ {
	case protowire.VarintType:
		f.u, m = varint(b[n:])
	case protowire.BytesType:
		var u uint64
		if u, m = varint(b[n:]); m > 0 {
			if u > uint64(len(b)-n-m) {
				return f.fail(cutOff)
			}
			size = int(u)
		}
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
	f.from, f.body = f.to, f.to+n+m
	f.to = f.body + size
	return true
}

// cutOff is what protowire returns where bytes are missing.
var _, cutOff = protowire.ConsumeVarint(nil)

// varint is [protowire.ConsumeVarint], quick for the values of one byte that nearly all are.
func varint(b []byte) (v uint64, n int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return protowire.ConsumeVarint(b)
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
		f.mistyped(typ)
		return false
	}
	return true
}

func (f *fields) mistyped(want protowire.Type) {
	if f.err == nil {
		f.err = malformed("protobuf wire type %d in field %d, want %d", f.typ, f.num, want)
	}
}

// bytes returns the current field's value, which must be length-delimited.
func (f *fields) bytes() []byte {
	if !f.want(protowire.BytesType) {
		return nil
	}
	return f.val()
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
	if *seen&bit != 0 {
		f.twice()
	}
	*seen |= bit
}

func (f *fields) twice() {
	if f.err == nil {
		f.err = unusual("protobuf field %d occurs twice", f.num)
	}
}

// only returns the length-delimited field num of msg, which may occur once. The whole of msg is looked at.
func only(msg []byte, num protowire.Number) (val []byte, found bool, err error) {
	f, seen := fields{b: msg}, uint32(0)
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
	f, seen := fields{b: msg}, uint32(0)
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
	// The form that all have: key, value, each with a length of one byte, and nothing else.
	if len(msg) > 1 && msg[0] == 1<<3|2 && msg[1] < 0x80 {
		if k := 2 + int(msg[1]); len(msg) > k+1 && msg[k] == 2<<3|2 && msg[k+1] < 0x80 && len(msg) == k+2+int(msg[k+1]) {
			return msg[2:k], msg[k+2:], nil
		}
	}
	key, v, complete, err := entry(msg)
	switch {
	case err != nil:
		return nil, nil, err
	case !complete:
		return nil, nil, unusual("protobuf map entry without key or value")
	}
	return key, v.val(), nil
}

// timestamp returns the parts of a Timestamp message; set is false for the empty message, which is the zero time.
func timestamp(msg []byte) (seconds int64, nanos int32, set bool, err error) {
	f, seen := fields{b: msg}, uint32(0)
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
