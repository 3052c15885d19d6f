package wire

import (
	"bufio"
	"encoding/binary"
	"io"

	"github.com/tarn-dev/tarn/object"
)

// FrameReader splits the body of a watch into frames. In protobuf a frame is a length of four bytes, most significant
// first, and that many bytes (see [WatchEvent]); in JSON it is one document behind another (see [WatchEventJSON]). It is
// used by one goroutine.
type FrameReader struct {
	r     *bufio.Reader
	json  *jsonStream // nil for protobuf
	limit int
}

// FrameOptions are the settings of a [FrameReader].
type FrameOptions struct {
	// MaxSize is the size above which a frame is refused, in bytes; 0 is [DefaultMaxSize].
	MaxSize int
}

// NewFrameReader returns a reader of the frames in r. It reads ahead.
func NewFrameReader(r io.Reader, enc object.Encoding, opts FrameOptions) (*FrameReader, error) {
	if opts.MaxSize == 0 {
		opts.MaxSize = DefaultMaxSize
	}
	f := &FrameReader{r: bufio.NewReaderSize(r, bufferSize), limit: opts.MaxSize}
	switch enc {
	case object.Protobuf:
	case object.JSON:
		f.json = &jsonStream{r: f.r, limit: opts.MaxSize}
	default:
		return nil, unsupported(enc)
	}
	return f, nil
}

// Next returns the next frame, which is the caller's to keep. It returns io.EOF where the stream ends between two
// frames, io.ErrUnexpectedEOF where it ends inside one, [ErrTooLarge], [ErrMalformed], or the error of the underlying
// reader. After an error the stream is of no further use.
func (f *FrameReader) Next() ([]byte, error) { return f.NextInto(nil) }

// NextInto is [FrameReader.Next] for who uses memory again: where a frame fits into the capacity of buf, it is read into
// that.
func (f *FrameReader) NextInto(buf []byte) ([]byte, error) {
	if f.json != nil {
		return f.json.object("a watch event", buf)
	}
	var head [4]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if uint64(n) > uint64(f.limit) {
		return nil, tooLarge("frame", uint64(n), f.limit)
	}
	return readN(f.r, int(n), buf)
}

// Buffered reports whether the next frame has been received completely, so that Next would not wait. It is false for
// one that is larger than the 64 KiB that are read ahead.
func (f *FrameReader) Buffered() bool {
	b, _ := f.r.Peek(f.r.Buffered())
	if f.json == nil {
		return len(b) >= 4 && uint64(len(b)-4) >= uint64(binary.BigEndian.Uint32(b))
	}
	return f.json.complete()
}

// Event takes apart the frame that was read last, as [WatchEvent] and [WatchEventJSON] do, which have to look at all of a
// JSON document once more.
func (f *FrameReader) Event(frame []byte) (typ string, object []byte, err error) {
	if f.json == nil {
		return WatchEvent(frame)
	}
	if typ, object, ok := lastMember(frame, f.json.last.from, f.json.last.to); ok {
		return typ, object, nil
	}
	return WatchEventJSON(frame)
}

// lastMember reads an event of two members, the type and the object, of which the second is known to be at a place.
func lastMember(frame []byte, from, to int) (typ string, object []byte, ok bool) {
	if from <= 0 || from > to || to > len(frame) {
		return "", nil, false
	}
	s := scanner{b: frame[:from]}
	s.begin('{')
	if !s.more('}') || !s.is(s.key(), "type") {
		return "", nil, false
	}
	typ = eventType(s.strOrNull())
	if !s.more('}') || !s.is(s.key(), "object") || s.err != nil {
		return "", nil, false
	}
	if s.peek(); s.i != from {
		return "", nil, false
	}
	s = scanner{b: frame, i: to}
	if s.peek() != '}' {
		return "", nil, false
	}
	s.i++
	s.end()
	return typ, frame[from:to:to], s.err == nil
}
