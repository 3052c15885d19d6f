package decode

import (
	"fmt"
	"math"

	"github.com/tarn-dev/tarn/wire"
)

// next reads the element at b[i], which must exist: its tag (number and wire type), where its value starts, behind its
// length, and where it ends.
func next(b []byte, i int) (tag uint64, from, to int, err error) {
	// What most elements are.
	if i+1 < len(b) && b[i] < 0x80 && b[i] > 7 && b[i]&7 == wireBytes && b[i+1] < 0x80 && i+2+int(b[i+1]) <= len(b) {
		return uint64(b[i]), i + 2, i + 2 + int(b[i+1]), nil
	}
	tag, from = varint(b, i)
	if from < 0 {
		return 0, 0, 0, errVarint
	}
	if num := tag >> 3; num == 0 || num > math.MaxInt32 {
		// Decoders differ in what they make of it.
		return 0, 0, 0, fmt.Errorf("%w: protobuf field number %d", wire.ErrUnusual, num)
	}
	switch tag & 7 {
	case wireVarint:
		if _, to = varint(b, from); to < 0 {
			return 0, 0, 0, errVarint
		}
		return tag, from, to, nil
	case wireBytes:
		size, at := varint(b, from)
		if at < 0 {
			return 0, 0, 0, errVarint
		}
		if size > uint64(len(b)-at) {
			return 0, 0, 0, errCutOff
		}
		return tag, at, at + int(size), nil
	case wireFixed32:
		to = from + 4
	case wireFixed64:
		to = from + 8
	case wireStartGroup:
		return 0, 0, 0, fmt.Errorf("%w: protobuf group in field %d", wire.ErrUnusual, tag>>3)
	default:
		return 0, 0, 0, fmt.Errorf("%w: protobuf wire type %d in field %d", wire.ErrMalformed, tag&7, tag>>3)
	}
	if to > len(b) {
		return 0, 0, 0, errCutOff
	}
	return tag, from, to, nil
}

// repeats counts the elements with a tag that follow each other: one that has been read, and those from b[i] on.
func repeats(b []byte, tag uint64, i int) int {
	for n := 1; ; n++ {
		if i >= len(b) {
			return n
		}
		t, _, behind, err := next(b, i)
		if err != nil || t != tag {
			return n
		}
		i = behind
	}
}

// varint reads the number at b[i] and returns the index behind it; -1 where it is cut off or has more than ten bytes.
// What is beyond 64 bits is dropped: so the generated decoders do it.
func varint(b []byte, i int) (u uint64, behind int) {
	for shift := 0; shift < 64 && i < len(b); shift += 7 {
		c := uint64(b[i])
		i++
		u |= c & 0x7f << shift
		if c < 0x80 {
			return u, i
		}
	}
	return 0, -1
}

var (
	errCutOff = fmt.Errorf("%w: protobuf message is cut off", wire.ErrMalformed)
	errVarint = fmt.Errorf("%w: protobuf number is cut off or too long", wire.ErrMalformed)
)

func mistyped(tag uint64, want uint8) error {
	return fmt.Errorf("%w: protobuf wire type %d in field %d, want %d", wire.ErrMalformed, tag&7, tag>>3, want)
}
