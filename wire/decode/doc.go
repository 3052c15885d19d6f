// Package decode fills Go structs from encoded Kubernetes objects, with 0.4 of the allocations of the generated decoders
// and in about 0.8 of their time, and fills structs that have only some of an object's fields.
//
// [Compile] reads the protobuf tags of a type, once, and makes a table of them: which field number goes to which
// offset, in which form. [Decoder.Decode] runs over the bytes with that table. The result equals what the type's own
// Unmarshal makes of the same bytes:
//
//	d, err := decode.Compile(reflect.TypeFor[corev1.Pod](), nil)
//	...
//	pod := new(corev1.Pod)
//	err = d.Decode(object.Protobuf, raw, pod)
//
// A type whose form cannot be told from its tags (it keeps fields without tags, or it is a list with a message of its
// own) is left to its own Unmarshal, wherever it stands in an object.
//
// # Slim types
//
// A struct with a few of the fields of a larger one is filled without the rest being looked at. Its fields are found
// in the original by protobuf tag, by JSON tag, or by name, in this order, and checked when the type is compiled:
//
//	type PodLite struct {
//		metav1.ObjectMeta
//		Spec struct{ NodeName string }
//	}
//	d, err := decode.Compile(reflect.TypeFor[PodLite](), reflect.TypeFor[corev1.Pod]())
//
// # Memory
//
// The result shares no memory with the encoded bytes, unless they are handed over ([Decoder.DecodeOwned]). But its strings and byte slices share memory with each other:
// keeping one of them keeps the text of the whole object, a few kilobytes. Only the strings of the object's metadata
// (name, labels, annotations, owners), which people keep as keys, have a text of their own, which is small, or else are
// separate; and in a slim type all are, but those of a part that is taken over whole. Use [strings.Clone] on any other
// string that outlives its object. Byte slices may be changed and appended to: nothing else changes with them.
package decode
