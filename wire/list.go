package wire

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/tarn-dev/tarn/object"
)

// maxHead is the size above which a list's own metadata, and the other small things around the items, are refused.
const maxHead = 4 << 20

// ListReader reads the body of an answer to a list, item by item. It holds one item and a buffer, however long the list
// is. It is used by one goroutine.
type ListReader struct {
	meta  ListMeta
	items interface {
		next(buf []byte) ([]byte, error)
	}
	err error
}

// ListMeta is what a list says of itself.
type ListMeta struct {
	// APIVersion and Kind are the list's own (v1, PodList).
	APIVersion, Kind string
	// Version is the resourceVersion that the list was read at.
	Version string
	// Continue is the token for the next page; empty on the last one.
	Continue string
	// Remaining is how many items follow after this page; 0 where the server does not say.
	Remaining int64
}

// ListOptions are the settings of a [ListReader].
type ListOptions struct {
	// MaxSize is the size above which an item is refused, in bytes; 0 is [DefaultMaxSize].
	MaxSize int
}

// NewListReader returns a reader of the list in r: in protobuf the envelope with an XxxList message, in JSON an object
// with items. It reads ahead.
func NewListReader(r io.Reader, enc object.Encoding, opts ListOptions) (*ListReader, error) {
	if opts.MaxSize == 0 {
		opts.MaxSize = DefaultMaxSize
	}
	l, buf := &ListReader{}, bufio.NewReaderSize(r, bufferSize)
	switch enc {
	case object.Protobuf:
		l.items = &protobufList{meta: &l.meta, r: buf, limit: opts.MaxSize}
	case object.JSON:
		l.items = &jsonList{meta: &l.meta, s: jsonStream{r: buf}, limit: opts.MaxSize}
	default:
		return nil, unsupported(enc)
	}
	return l, nil
}

// Next returns the next item: a bare message in protobuf, an object in JSON. It has memory of its own, of exactly its
// size, and is the caller's to keep. After the last item, when the whole body has been read and checked, it returns
// io.EOF. Any other error says that the list broke, and nothing may be concluded from the items so far:
// io.ErrUnexpectedEOF where the body was cut off, [ErrNotList] for a Table or a Status, [ErrTooLarge], [ErrMalformed],
// [ErrUnusual], or the error of the underlying reader. An error stays.
//
// Items are not looked into: one that does not decode is the decoder's to notice.
func (l *ListReader) Next() ([]byte, error) { return l.NextInto(nil) }

// NextInto is [ListReader.Next] for who uses memory again: where an item fits into the capacity of buf, it is read into
// that.
func (l *ListReader) NextInto(buf []byte) ([]byte, error) {
	if l.err != nil {
		return nil, l.err
	}
	item, err := l.items.next(buf)
	if err != nil {
		l.err = err
		return nil, err
	}
	return item, nil
}

// Meta returns what the list says of itself, as far as it has been read; all of it when Next has returned io.EOF. A
// server sends it before the items, except in JSON for custom resources, where some of it may follow them.
func (l *ListReader) Meta() ListMeta { return l.meta }

// check returns an error if the answer is known to be something else than a list.
func (m *ListMeta) check() error {
	if m.Kind == "Status" && m.APIVersion == "v1" || m.Kind == "Table" && strings.HasPrefix(m.APIVersion, "meta.k8s.io/") {
		return fmt.Errorf("%w: %s %s", ErrNotList, m.APIVersion, m.Kind)
	}
	return nil
}
