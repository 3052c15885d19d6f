// Package wire reads and cuts fields in encoded Kubernetes objects without decoding them.
//
// A watcher that sees a million pods go by looks at the key, the version, the labels and a field or two of each.
// Decoding a pod for that builds several hundred Go objects; reading the few fields from the bytes builds three.
// [Meta] reads what every consumer needs, a [Path] reads (and [Cut] removes) any field that is named in advance, and
// [ListReader] and [FrameReader] split the answers of a server into objects without holding more than one:
//
//	nodeName, err := wire.CompilePath(reflect.TypeFor[corev1.Pod](), "spec.nodeName")
//	...
//	meta, err := wire.Meta(object.Protobuf, raw)
//	node, found, err := nodeName.String(object.Protobuf, raw)
//
// # What the answers promise
//
// For what a Kubernetes server writes, every answer equals what decoding the whole object gives. Both encodings allow
// things that no such server writes: a message sent in two parts that are to be merged, protobuf groups, a JSON member
// named twice. Where such a thing could change the answer, the answer is [ErrUnusual], and the full decoder is to be
// asked instead ([MetaOrDecode] does that). What is skipped is not checked any further than skipping needs: an object
// that reads well here may still fail to decode.
//
// [Meta], [Annotation] and [Annotations] stop at the end of a JSON object's metadata, so they notice nothing behind it,
// not even that the object was cut off there. In protobuf, and for every [Path], all members of the levels passed
// through are looked at.
//
// Nothing here keeps or changes the bytes it is given. All functions, and all methods of a [Path], may be called
// concurrently; a reader of a stream is used by one goroutine.
package wire

import (
	"errors"
	"fmt"

	"github.com/tarn-dev/tarn/object"
)

var (
	// ErrUnusual says that the bytes hold something that a Kubernetes server does not write and that only the full
	// decoder can judge. They may be perfectly valid.
	ErrUnusual = errors.New("unusual encoding")
	// ErrMalformed says that the bytes are cut off, break the rules of their encoding, or do not fit the type.
	ErrMalformed = errors.New("malformed object")
	// ErrTooLarge says that a stream announced or held a piece above the reader's limit.
	ErrTooLarge = errors.New("larger than the limit")
	// ErrNotList says that an answer to a list is something else: a Table or a Status. The reader's Meta has the kind.
	ErrNotList = errors.New("not a list")
	// ErrNotScalar says that a path leads to an object or a list, which has no text of its own.
	ErrNotScalar = errors.New("not a scalar")
	// ErrEncoding says that the bytes' encoding is not one that can be read here, or that the path has no such form.
	ErrEncoding = errors.New("unsupported encoding")
)

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
}

func unusual(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnusual}, args...)...)
}

func unsupported(enc object.Encoding) error { return fmt.Errorf("%w: %s", ErrEncoding, enc) }
