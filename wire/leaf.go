package wire

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// leaf says how the value at the end of a path becomes a text.
type leaf struct {
	kind leafKind
	bits int    // of numbers
	omit bool   // an empty value counts as missing
	name string // of the Go type
}

type leafKind uint8

const (
	leafNone leafKind = iota // no scalar
	leafAny                  // whatever the JSON has
	leafString
	leafBool
	leafInt
	leafUint
	leafFloat
	leafBytes
	leafTime
	leafMicroTime
	leafDuration
	leafQuantity
	leafIntOrString
)

var leafTypes = map[reflect.Type]leafKind{
	reflect.TypeFor[metav1.Time]():        leafTime,
	reflect.TypeFor[metav1.MicroTime]():   leafMicroTime,
	reflect.TypeFor[metav1.Duration]():    leafDuration,
	reflect.TypeFor[resource.Quantity]():  leafQuantity,
	reflect.TypeFor[intstr.IntOrString](): leafIntOrString,
}

func leafOf(t reflect.Type) leaf {
	t = deref(t)
	l := leaf{name: t.String()}
	if kind, ok := leafTypes[t]; ok {
		l.kind = kind
		return l
	}
	if t.Kind() == reflect.Interface {
		l.kind = leafAny
		return l
	}
	if marshals(t) {
		return l
	}
	switch t.Kind() {
	case reflect.String:
		l.kind = leafString
	case reflect.Bool:
		l.kind = leafBool
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		l.kind, l.bits = leafInt, t.Bits()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		l.kind, l.bits = leafUint, t.Bits()
	case reflect.Float32, reflect.Float64:
		l.kind, l.bits = leafFloat, t.Bits()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			l.kind = leafBytes
		}
	}
	return l
}

// number reports whether the value is one that protobuf does not write with a length.
func (l *leaf) number() bool {
	return l.kind == leafBool || l.kind == leafInt || l.kind == leafUint || l.kind == leafFloat
}

// hasZero reports whether the zero value has a text.
func (l *leaf) hasZero() bool {
	switch l.kind {
	case leafNone, leafAny, leafBytes, leafTime, leafMicroTime:
		return false
	}
	return true
}

// zero returns the text of the zero value.
func (l *leaf) zero() string {
	switch l.kind {
	case leafBool:
		return "false"
	case leafInt, leafUint, leafFloat, leafQuantity, leafIntOrString:
		return "0"
	case leafDuration:
		return "0s"
	}
	return ""
}

// appendProtobuf appends the value of the current field.
func (l *leaf) appendProtobuf(dst []byte, f *fields) (_ []byte, found bool, err error) {
	switch {
	case !l.number():
		if !f.want(protowire.BytesType) {
			return dst, false, f.err
		}
	case f.typ != protowire.VarintType:
		// A list of numbers may be packed into one field; no server packs.
		return dst, false, unusual("protobuf wire type %d in field %d", f.typ, f.num)
	}
	switch l.kind {
	case leafString:
		return append(dst, f.val()...), true, nil
	case leafBytes:
		return base64.StdEncoding.AppendEncode(dst, f.val()), true, nil
	case leafBool:
		return strconv.AppendBool(dst, f.u != 0), true, nil
	case leafInt:
		if l.bits == 32 {
			return strconv.AppendInt(dst, int64(int32(f.u)), 10), true, nil
		}
		return strconv.AppendInt(dst, int64(f.u), 10), true, nil
	case leafUint:
		if l.bits == 32 {
			return strconv.AppendUint(dst, uint64(uint32(f.u)), 10), true, nil
		}
		return strconv.AppendUint(dst, f.u, 10), true, nil
	case leafTime, leafMicroTime:
		seconds, nanos, set, err := timestamp(f.val())
		if err != nil || !set {
			return dst, false, err
		}
		if l.kind == leafTime {
			return appendTime(dst, time.Unix(seconds, 0), time.RFC3339)
		}
		return appendTime(dst, time.Unix(seconds, int64(nanos/1000*1000)), metav1.RFC3339Micro)
	case leafDuration:
		var d metav1.Duration
		if err := d.Unmarshal(f.val()); err != nil {
			return dst, false, malformed("%v", err)
		}
		return append(dst, d.Duration.String()...), true, nil
	case leafQuantity:
		var q resource.Quantity
		if err := q.Unmarshal(f.val()); err != nil {
			return dst, false, malformed("%v", err)
		}
		return append(dst, q.String()...), true, nil
	case leafIntOrString:
		var v intstr.IntOrString
		if err := v.Unmarshal(f.val()); err != nil {
			return dst, false, malformed("%v", err)
		}
		return appendIntOrString(dst, v)
	}
	return dst, false, unusual("%s in protobuf", l.name)
}

// appendJSON reads one value, which is no null, and appends it.
func (l *leaf) appendJSON(dst []byte, s *scanner) (_ []byte, found bool) {
	var err error
	switch l.kind {
	case leafAny:
		return l.appendAny(dst, s)
	case leafString:
		return append(dst, s.bytes(s.str())...), true
	case leafBool:
		return strconv.AppendBool(dst, s.boolean()), true
	case leafInt:
		var n int64
		if n, err = strconv.ParseInt(string(s.number()), 10, l.bits); err == nil {
			return strconv.AppendInt(dst, n, 10), true
		}
	case leafUint:
		var n uint64
		if n, err = strconv.ParseUint(string(s.number()), 10, l.bits); err == nil {
			return strconv.AppendUint(dst, n, 10), true
		}
	case leafFloat:
		var n float64
		if n, err = strconv.ParseFloat(string(s.number()), l.bits); err == nil {
			return appendFloat(dst, n, l.bits), true
		}
	case leafBytes:
		var b []byte
		if b, err = base64.StdEncoding.DecodeString(string(s.bytes(s.str()))); err == nil {
			return base64.StdEncoding.AppendEncode(dst, b), true
		}
	case leafTime:
		dst, found, _ = appendTime(dst, s.time(), time.RFC3339)
		return dst, found
	case leafMicroTime:
		var t time.Time
		if t, err = time.Parse(metav1.RFC3339Micro, string(s.bytes(s.str()))); err == nil {
			dst, found, _ = appendTime(dst, t, metav1.RFC3339Micro)
			return dst, found
		}
	case leafDuration:
		var d time.Duration
		if d, err = time.ParseDuration(string(s.bytes(s.str()))); err == nil {
			return append(dst, d.String()...), true
		}
	case leafQuantity:
		var q resource.Quantity
		if q, err = resource.ParseQuantity(strings.TrimSpace(string(s.stringOrNumber()))); err == nil {
			return append(dst, q.String()...), true
		}
	case leafIntOrString:
		if s.peek() == '"' {
			return append(dst, s.bytes(s.str())...), true
		}
		var n int64
		if n, err = strconv.ParseInt(string(s.number()), 10, 32); err == nil {
			return strconv.AppendInt(dst, n, 10), true
		}
	}
	if err != nil {
		s.fail("not a " + l.name + ": " + err.Error())
	}
	return dst, false
}

func (s *scanner) stringOrNumber() []byte {
	if s.peek() == '"' {
		return s.bytes(s.str())
	}
	return s.number()
}

// appendAny appends a scalar as decoding it without a type and encoding it again would write it.
func (l *leaf) appendAny(dst []byte, s *scanner) (_ []byte, found bool) {
	switch c := s.peek(); {
	case c == '"':
		return append(dst, s.bytes(s.str())...), true
	case c == 't' || c == 'f':
		return strconv.AppendBool(dst, s.boolean()), true
	case (c == '{' || c == '[') && s.err == nil:
		s.err = ErrNotScalar
		return dst, false
	}
	number := string(s.number())
	if !strings.Contains(number, ".") {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			return strconv.AppendInt(dst, n, 10), true
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		s.fail("a number that is out of range")
		return dst, false
	}
	return appendFloat(dst, n, 64), true
}

// appendGo appends the value of a Go field, which is neither a pointer nor an interface.
func (l *leaf) appendGo(dst []byte, v reflect.Value) (_ []byte, found bool, err error) {
	switch l.kind {
	case leafString:
		return append(dst, v.String()...), true, nil
	case leafBool:
		return strconv.AppendBool(dst, v.Bool()), true, nil
	case leafInt:
		return strconv.AppendInt(dst, v.Int(), 10), true, nil
	case leafUint:
		return strconv.AppendUint(dst, v.Uint(), 10), true, nil
	case leafFloat:
		return appendFloat(dst, v.Float(), l.bits), true, nil
	case leafBytes:
		return base64.StdEncoding.AppendEncode(dst, v.Bytes()), !v.IsNil(), nil
	}
	switch x := v.Interface().(type) {
	case metav1.Time:
		return appendTime(dst, x.Time, time.RFC3339)
	case metav1.MicroTime:
		return appendTime(dst, x.Time, metav1.RFC3339Micro)
	case metav1.Duration:
		return append(dst, x.Duration.String()...), true, nil
	case resource.Quantity:
		return append(dst, x.String()...), true, nil
	case intstr.IntOrString:
		return appendIntOrString(dst, x)
	}
	return dst, false, ErrNotScalar
}

func appendTime(dst []byte, t time.Time, layout string) ([]byte, bool, error) {
	if t.IsZero() {
		return dst, false, nil
	}
	return t.UTC().AppendFormat(dst, layout), true, nil
}

func appendIntOrString(dst []byte, v intstr.IntOrString) ([]byte, bool, error) {
	switch v.Type {
	case intstr.Int:
		return strconv.AppendInt(dst, int64(v.IntVal), 10), true, nil
	case intstr.String:
		return append(dst, v.StrVal...), true, nil
	}
	return dst, false, unusual("IntOrString of type %d", v.Type)
}

// appendFloat appends a number as encoding/json writes it.
func appendFloat(dst []byte, f float64, bits int) []byte {
	var b []byte
	if bits == 32 {
		b, _ = json.Marshal(float32(f))
	} else {
		b, _ = json.Marshal(f)
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendFloat(dst, f, 'g', -1, bits)
	}
	return append(dst, b...)
}
