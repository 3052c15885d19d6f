package decode

import (
	"fmt"
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/tarn-dev/tarn/wire"
)

// entry stores an entry of the map that at points to; other elements follow it up to end.
func (d *state) entry(f *field, at unsafe.Pointer, tag uint64, from, to, end int) error {
	size := 0
	if *(*unsafe.Pointer)(at) == nil {
		size = repeats(d.b[:end], tag, to)
	}
	key, from, to, err := d.pair(f, from, to)
	if err != nil {
		return err
	}
	switch f.shape {
	case textDict:
		m := (*map[string]string)(at)
		if *m == nil {
			*m = make(map[string]string, size)
		}
		(*m)[key] = d.string(from, to)
	case quantityDict:
		m := (*map[string]resource.Quantity)(at)
		if *m == nil {
			*m = make(map[string]resource.Quantity, size)
		}
		var q resource.Quantity
		short, err := d.quantity(&q, from, to)
		if !short {
			err = q.Unmarshal(d.b[from:to:to])
		}
		(*m)[key] = q
		return err
	default:
		m := reflect.NewAt(f.typ, at).Elem()
		if m.IsNil() {
			m.Set(reflect.MakeMapWithSize(f.typ, size))
		}
		u := uint64(0)
		if f.kind.wire() == wireVarint && from < to {
			u, _ = varint(d.b, from)
		}
		elem := reflect.New(f.typ.Elem())
		if err := d.value(f, elem.UnsafePointer(), tag, u, from, to, end); err != nil {
			return err
		}
		m.SetMapIndex(reflect.ValueOf(key).Convert(f.typ.Key()), elem.Elem())
	}
	return nil
}

// pair reads the entry from i to end of a map and returns its key and where its value is; one that is missing is the
// empty one. Whatever is wrong with an entry is unusual only: generated decoders take a key or a value for what they
// expect without looking.
func (d *state) pair(f *field, i, end int) (key string, from, to int, err error) {
	b, want := d.b[:end], f.kind.wire()
	// What nearly all have: a key and a value, each with a length of one byte.
	if end-i > 2 && b[i] == 1<<3|wireBytes && b[i+1] < 0x80 && want == wireBytes {
		v := i + 2 + int(b[i+1])
		if end-v > 1 && b[v] == 2<<3|wireBytes && b[v+1] < 0x80 && v+2+int(b[v+1]) == end {
			return d.string(i+2, v), v + 2, end, nil
		}
	}
	for i < len(b) {
		tag, start, behind, err := next(b, i)
		switch {
		case err != nil:
		case tag == 1<<3|wireBytes:
			key = d.string(start, behind)
		case tag == 2<<3|uint64(want):
			from, to = start, behind
		case tag>>3 <= 2:
			err = mistyped(tag, want)
		}
		if err != nil {
			return "", 0, 0, fmt.Errorf("%w: map entry: %v", wire.ErrUnusual, err)
		}
		i = behind
	}
	return key, from, to, nil
}
