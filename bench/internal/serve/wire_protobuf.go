package serve

import (
	"encoding/binary"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// protobufFormat writes the envelopes that the Kubernetes API puts around protobuf. Lengths come before contents, so they
// are added up first: the contents are written from where they lie.
type protobufFormat struct {
	w        io.Writer
	asList   []byte // the envelope's typeMeta of a list, and of an object
	asObject []byte
	head     []byte
	scratch  []byte
}

// magic begins every envelope; tail are its last two fields, which are empty.
var (
	magic = []byte("k8s\x00")
	tail  = []byte{0x1a, 0, 0x22, 0}
)

// appendField appends a field of bytes.
func appendField(b []byte, number byte, value string) []byte {
	b = append(b, number<<3|2)
	b = binary.AppendUvarint(b, uint64(len(value)))
	return append(b, value...)
}

// fieldSize is the size of a field of bytes with a number below 16.
func fieldSize(n int) int { return 1 + varintSize(uint64(n)) + n }

func varintSize(v uint64) (n int) {
	for n = 1; v >= 0x80; n++ {
		v >>= 7
	}
	return n
}

func typeMeta(apiVersion, kind string) []byte {
	return appendField(nil, 1, string(appendField(appendField(nil, 1, apiVersion), 2, kind)))
}

func newProtobufFormat(w io.Writer, kind schema.GroupVersionKind) *protobufFormat {
	version := kind.GroupVersion().String()
	return &protobufFormat{w: w, asList: typeMeta(version, kind.Kind+"List"), asObject: typeMeta(version, kind.Kind)}
}

func (f *protobufFormat) contentType(watch bool) string {
	if watch {
		return "application/vnd.kubernetes.protobuf;stream=watch"
	}
	return "application/vnd.kubernetes.protobuf"
}

func (f *protobufFormat) list(version uint64, token string, remaining int, items []item) {
	var meta []byte
	meta = appendField(meta, 2, versionText(version))
	if token != "" {
		meta = appendField(meta, 3, token)
		meta = binary.AppendUvarint(append(meta, 4<<3), uint64(remaining))
	}
	size := fieldSize(len(meta))
	for _, it := range items {
		size += fieldSize(len(it.raw[protobuf]))
	}
	b := append(append(f.head[:0], magic...), f.asList...)
	b = binary.AppendUvarint(append(b, 2<<3|2), uint64(size))
	b = appendField(b, 1, string(meta))
	f.head = b
	f.w.Write(b)
}

func (f *protobufFormat) item(it item) {
	f.head = binary.AppendUvarint(append(f.head[:0], 2<<3|2), uint64(len(it.raw[protobuf])))
	f.w.Write(f.head)
	f.scratch = writeItem(f.w, protobuf, it, f.scratch)
}

func (f *protobufFormat) end() { f.w.Write(tail) }

func (f *protobufFormat) frame(typ string, it item) {
	raw := len(it.raw[protobuf])
	f.begin(typ, f.asObject, raw)
	f.scratch = writeItem(f.w, protobuf, it, f.scratch)
	f.w.Write(tail)
}

// begin writes a frame as far as the object, which has so many bytes and is followed by the tail.
func (f *protobufFormat) begin(typ string, typeMeta []byte, raw int) {
	envelope := len(magic) + len(typeMeta) + fieldSize(raw) + len(tail)
	extension := fieldSize(envelope)
	b := binary.BigEndian.AppendUint32(f.head[:0], uint32(fieldSize(len(typ))+fieldSize(extension)))
	b = appendField(b, 1, typ)
	b = binary.AppendUvarint(append(b, 2<<3|2), uint64(extension))
	b = binary.AppendUvarint(append(b, 1<<3|2), uint64(envelope))
	b = append(append(b, magic...), typeMeta...)
	b = binary.AppendUvarint(append(b, 2<<3|2), uint64(raw))
	f.head = b
	f.w.Write(b)
}

func (f *protobufFormat) expire() {
	status := metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone, Message: "too old resource version"}
	raw, err := status.Marshal()
	if err != nil {
		panic(err)
	}
	f.begin("ERROR", typeMeta("v1", "Status"), len(raw))
	f.w.Write(raw)
	f.w.Write(tail)
}
