package decode

import (
	"fmt"
	"reflect"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/wire"
)

// special decodes a message that a plan's fields do not describe.
func (d *state) special(p *plan, at unsafe.Pointer, i, end int) error {
	switch p.form {
	case formTime:
		t, err := d.time(i, end, 0)
		(*metav1.Time)(at).Time = t
		return err
	case formMicroTime:
		t, err := d.time(i, end, time.Microsecond)
		(*metav1.MicroTime)(at).Time = t
		return err
	case formQuantity:
		if short, err := d.quantity((*resource.Quantity)(at), i, end); short {
			return err
		}
	}
	v := reflect.NewAt(p.typ, at)
	if p.fresh && v.Elem().IsNil() {
		v.Elem().Set(empty(p.typ))
	}
	return v.Interface().(interface{ Unmarshal([]byte) error }).Unmarshal(d.b[i:end:end])
}

// time reads a Timestamp message: an empty one is the zero time. The fractions of a second are rounded down to a
// precision, 0 for none at all.
func (d *state) time(i, end int, precision time.Duration) (time.Time, error) {
	if i == end {
		return time.Time{}, nil
	}
	var parts [3]uint64 // by number
	b := d.b[:end]
	for i < len(b) {
		tag, from, to, err := next(b, i)
		if err != nil {
			return time.Time{}, err
		}
		if num := tag >> 3; num == 1 || num == 2 {
			if tag&7 != wireVarint {
				return time.Time{}, mistyped(tag, wireVarint)
			}
			parts[num], _ = varint(b, from)
		}
		i = to
	}
	nanos := time.Duration(0)
	if precision > 0 {
		nanos = time.Duration(int32(parts[2])).Truncate(precision)
	}
	return time.Unix(int64(parts[1]), int64(nanos)), nil
}

// quantity parses a quantity that is encoded in the one way that servers use: its text, and nothing else. short is
// false where it is not.
func (d *state) quantity(q *resource.Quantity, i, end int) (short bool, err error) {
	if end-i < 2 || d.b[i] != 1<<3|wireBytes || d.b[i+1] >= 0x80 || int(d.b[i+1]) != end-i-2 {
		return false, nil
	}
	parsed, err := resource.ParseQuantity(d.string(i+2, end))
	if err != nil {
		return true, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	*q = parsed
	return true, nil
}

func empty(t reflect.Type) reflect.Value {
	if t.Kind() == reflect.Map {
		return reflect.MakeMap(t)
	}
	return reflect.MakeSlice(t, 0, 0)
}
