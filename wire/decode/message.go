package decode

import (
	"fmt"
	"unsafe"

	"github.com/tarn-dev/tarn/wire"
)

// state is what one run of a decoder holds.
type state struct {
	b     []byte // the object
	owned bool   // the result may keep b
	text  text   // of the message that is being decoded
	depth int
}

// maxDepth bounds the nesting of messages; no type of the Kubernetes API comes near it.
const maxDepth = 500

// message fills what at points to from the message from i to end.
func (d *state) message(p *plan, at unsafe.Pointer, i, end int) error {
	if p.form != formFields {
		return d.special(p, at, i, end)
	}
	if d.depth == maxDepth {
		return fmt.Errorf("%w: protobuf messages nested too deep", wire.ErrUnusual)
	}
	d.depth++
	if p.text && i < end && !d.text.has(i, end) {
		outer := d.text
		d.text = d.textOf(p, i, end)
		err := d.fields(p, at, i, end)
		d.text = outer
		d.depth--
		return err
	}
	err := d.fields(p, at, i, end)
	d.depth--
	return err
}

// fields fills the struct that at points to. What most elements are is dealt with here, without a call.
func (d *state) fields(p *plan, at unsafe.Pointer, i, end int) (err error) {
	b := d.b[:end]
	for i < len(b) {
		tag, from := uint64(b[i]), i+1
		if tag >= 0x80 {
			if from < len(b) && b[from] < 0x80 {
				tag, from = tag&0x7f|uint64(b[from])<<7, from+1
			} else {
				tag, from = varint(b, i)
			}
		}
		f := p.field(tag)
		if uint8(tag&7) != f.wire || from >= len(b) {
			if i, err = d.other(f, at, i, end); err != nil {
				return err
			}
			continue
		}
		u, to := uint64(b[from]), from+1
		if u >= 0x80 {
			if u, to = varint(b, from); to < 0 {
				return errVarint
			}
		}
		if f.wire == wireBytes {
			if u > uint64(len(b)-to) {
				return errCutOff
			}
			from, to = to, to+int(u)
		}
		at := unsafe.Add(at, f.offset)
		switch f.way {
		case wayBool:
			*(*bool)(at) = u != 0
		case wayInt32:
			*(*uint32)(at) = uint32(u)
		case wayInt64:
			*(*uint64)(at) = u
		case wayString:
			*(*string)(at) = d.string(from, to)
		case wayMessage:
			err = d.message(f.plan, at, from, to)
		case wayMessagePointer:
			err = d.message(f.plan, pointee(f, at), from, to)
		case wayMessages:
			err = d.message(f.plan, extend(f, at, b, tag, to), from, to)
		case wayDict:
			err = d.entry(f, at, tag, from, to, end)
		default:
			err = d.value(f, at, tag, u, from, to, end)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		i = to
	}
	return nil
}

// value stores a number, or what the bytes from one index to another hold, in the field that at points to. Other
// elements follow it up to end.
func (d *state) value(f *field, at unsafe.Pointer, tag, u uint64, from, to, end int) error {
	if f.shape == list {
		at = extend(f, at, d.b[:end], tag, to)
	}
	if f.pointer {
		at = pointee(f, at)
	}
	switch f.kind {
	case kindBool:
		*(*bool)(at) = u != 0
	case kindInt32:
		*(*uint32)(at) = uint32(u)
	case kindInt64:
		*(*uint64)(at) = u
	case kindString:
		*(*string)(at) = d.string(from, to)
	case kindBytes:
		*(*[]byte)(at) = d.bytes(from, to)
	case kindMessage:
		return d.message(f.plan, at, from, to)
	}
	return nil
}

// other deals with an element that is not in the plan, or not with its wire type, and returns where it ends. f is the
// field with its number.
func (d *state) other(f *field, at unsafe.Pointer, i, end int) (to int, err error) {
	tag, from, to, err := next(d.b[:end], i)
	if err != nil || f.wire == noWire {
		return to, err
	}
	if tag&7 == wireBytes && f.shape == list {
		err = d.packed(f, unsafe.Add(at, f.offset), from, to)
	} else {
		err = mistyped(tag, f.wire)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", f.name, err)
	}
	return to, err
}

// packed stores a list of numbers that came as one element.
func (d *state) packed(f *field, at unsafe.Pointer, i, end int) error {
	b := d.b[:end]
	for i < len(b) {
		u, behind := varint(b, i)
		if behind < 0 {
			return errVarint
		}
		if err := d.value(f, at, 0, u, i, behind, behind); err != nil {
			return err
		}
		i = behind
	}
	return nil
}
