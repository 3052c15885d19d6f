package serve

import (
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// format writes the answers to lists and watches in one encoding. It keeps the first error.
type format interface {
	contentType(watch bool) string
	// list begins a list of these items; each is then written, and end called.
	list(version uint64, token string, remaining int, items []item)
	item(item)
	end()
	// frame writes one event of a watch, expire the one that says that the watch is too old.
	frame(typ string, it item)
	expire()
}

func newFormat(enc int, w io.Writer, kind schema.GroupVersionKind) format {
	if enc == protobuf {
		return newProtobufFormat(w, kind)
	}
	return newJSONFormat(w, kind)
}

// writeItem writes the object with its version in place.
func writeItem(w io.Writer, enc int, it item, scratch []byte) []byte {
	raw, at := it.raw[enc], it.at[enc]
	scratch = strconv.AppendUint(scratch[:0], it.version, 10)
	w.Write(raw[:at])
	w.Write(scratch)
	w.Write(raw[at+digits:])
	return scratch
}
