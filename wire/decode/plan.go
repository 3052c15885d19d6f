package decode

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// plan says how a message fills a struct (or, with a form of its own, whatever type has that form).
type plan struct {
	fields []field // by number; those that do not exist have the wire type noWire
	form   form
	text   bool // the strings of the message share a text, its own or that of a message around it
	large  int  // of metadata: the number of the large field
	names  bool // it is metav1.ObjectMeta, whose strings people keep
	typ    reflect.Type
	// fresh is set for a list or map of a form of its own that generated code writes T{} for, which is not nil.
	fresh bool
}

// form says who knows how a message is encoded.
type form uint8

const (
	formFields    form = iota // the plan's fields
	formOwn                   // the type's Unmarshal
	formTime                  // metav1.Time: a Timestamp
	formMicroTime             // metav1.MicroTime: a Timestamp
	formQuantity              // resource.Quantity: a message with its text
)

var forms = map[reflect.Type]form{
	reflect.TypeFor[metav1.Time]():       formTime,
	reflect.TypeFor[metav1.MicroTime]():  formMicroTime,
	reflect.TypeFor[resource.Quantity](): formQuantity,
}

// field says where the elements with one number go, and how. It is small because decoding is bound by reading it.
type field struct {
	offset uintptr // in the struct
	plan   *plan   // of a message
	*fieldType
	way     way
	wire    uint8
	shape   shape
	kind    kind // of the value: the single one, or one of a list or map
	pointer bool // the value is behind a pointer
}

// fieldType is the part of a field that is seldom needed.
type fieldType struct {
	name   string
	typ    reflect.Type // of the whole field
	target reflect.Type // of the value, behind the pointer if there is one
	size   uintptr      // of the value, or of the pointer if there is one
}

type shape uint8

const (
	single shape = iota
	list
	textDict     // map[string]string, or like it
	quantityDict // corev1.ResourceList, or like it
	otherDict
)

// kind says how a value lies in memory and, by that, on the wire.
type kind uint8

const (
	kindBool kind = iota
	kindInt32
	kindInt64
	kindString
	kindBytes
	kindMessage
)

// way sums up a field's shape and kind, for what there is most of.
type way uint8

const (
	otherWay way = iota
	wayBool
	wayInt32
	wayInt64
	wayString
	wayMessage
	wayMessagePointer
	wayMessages
	wayDict
)

// wayOf returns the way that a field is dealt with.
func wayOf(f *field) way {
	switch {
	case f.shape > list:
		return wayDict
	case f.kind == kindMessage && f.shape == list && !f.pointer:
		return wayMessages
	case f.kind == kindMessage && f.shape == single && f.pointer:
		return wayMessagePointer
	case f.shape == single && !f.pointer:
		return [...]way{wayBool, wayInt32, wayInt64, wayString, otherWay, wayMessage}[f.kind]
	}
	return otherWay
}

// The wire types of protobuf. No field of the Kubernetes API has another one than the first two.
const (
	wireVarint     = 0
	wireBytes      = 2
	wireFixed64    = 1
	wireStartGroup = 3
	wireFixed32    = 5

	noWire = 0xff
)

func (k kind) wire() uint8 {
	if k >= kindString {
		return wireBytes
	}
	return wireVarint
}

var noField = field{wire: noWire}

// field returns the field for an element with a tag.
func (p *plan) field(tag uint64) *field {
	if n := tag >> 3; n < uint64(len(p.fields)) {
		return &p.fields[n]
	}
	return &noField
}

// set puts a field into the table.
func (p *plan) set(number int, f field) {
	for len(p.fields) <= number {
		p.fields = append(p.fields, noField)
	}
	p.fields[number] = f
}
