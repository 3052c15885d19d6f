package decode

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// text is a copy of a part of the object's bytes, of which the strings and byte slices of the result are made. Only the
// parts that become byte slices ever change. Its zero value is the text of nothing.
type text struct {
	from int
	b    []byte
}

func newText(from int, b []byte) text { return text{from, append([]byte(nil), b...)} }

// has reports whether the bytes from i to end are in the text.
func (t *text) has(i, end int) bool { return i >= t.from && end <= t.from+len(t.b) }

// string returns the bytes from i to end as a string: a part of the text, or one of its own.
func (d *state) string(i, end int) string {
	if d.text.has(i, end) {
		return stringOf(d.text.b[i-d.text.from : end-d.text.from])
	}
	return string(d.b[i:end])
}

// bytes returns the bytes from i to end as a slice to keep and to change: a part of the text, or one of its own. It is
// not nil where it is empty: so the generated decoders have it.
func (d *state) bytes(i, end int) []byte {
	if d.text.has(i, end) {
		i, end = i-d.text.from, end-d.text.from
		return d.text.b[i:end:end]
	}
	if d.owned {
		return d.b[i:end:end]
	}
	return append([]byte{}, d.b[i:end]...)
}

// metadata are the types whose strings people keep, and the field of each that is large. They have a text of their own,
// without that field.
var metadata = map[reflect.Type]string{
	reflect.TypeFor[metav1.ObjectMeta]():         "ManagedFields",
	reflect.TypeFor[metav1.ManagedFieldsEntry](): "FieldsV1",
}

// smallText is the length up to which metadata has a text, in bytes. Beyond that, whoever keeps a name would keep too
// much.
const smallText = 2 << 10

// textOf returns the text for the message from i to end: of metadata, all up to its large field; of any other message,
// all behind the metadata that it starts with. Of bytes that are owned only names need a text of their own.
func (d *state) textOf(p *plan, i, end int) text {
	start := i
	for i < end {
		tag, _, behind, err := next(d.b[:end], i)
		last := !p.field(tag).isMetadata()
		if p.large != 0 {
			last = tag>>3 == uint64(p.large)
		}
		if last || err != nil { // whoever reads the fields reports the error
			break
		}
		i = behind
	}
	switch {
	case d.owned && p.large == 0:
		return text{i, d.b[i:end:end]}
	case d.owned && !p.names:
		return text{start, d.b[start:end:end]}
	case p.large == 0:
		return newText(i, d.b[i:end])
	case i-start > smallText:
		return text{}
	}
	return newText(start, d.b[start:i])
}

func (f *field) isMetadata() bool { return f.kind == kindMessage && f.plan.large != 0 }
