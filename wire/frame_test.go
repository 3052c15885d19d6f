package wire_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

func frame(b string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(b)))) + b }

// Ensures that frames of both encodings come apart, however they arrive, and that the end is told from a cut.
func TestFrameReader_Next(t *testing.T) {
	big := `{"a":"` + strings.Repeat("x", 200_000) + `"}`
	for _, test := range []struct {
		name   string
		enc    object.Encoding
		stream string
		want   []string
		err    error
	}{
		{"protobuf", object.Protobuf, frame("one") + frame("") + frame(big), []string{"one", "", big}, io.EOF},
		{"protobuf, cut in a length", object.Protobuf, frame("one") + "\x00\x00", []string{"one"}, io.ErrUnexpectedEOF},
		{"protobuf, cut behind a length", object.Protobuf, frame("one")[:4], nil, io.ErrUnexpectedEOF},
		{"protobuf, cut in a frame", object.Protobuf, frame("one")[:6], nil, io.ErrUnexpectedEOF},
		{"protobuf, too large", object.Protobuf, "\x7f\xff\xff\xff", nil, wire.ErrTooLarge},
		{"json, one a line", object.JSON, "{\"a\":1}\n{\"b\":{}}\n", []string{`{"a":1}`, `{"b":{}}`}, io.EOF},
		{"json, close together", object.JSON, `{"a":"\\"}{"}":"\"{"}`, []string{`{"a":"\\"}`, `{"}":"\"{"}`}, io.EOF},
		{"json, spread out", object.JSON, "\n\n{\n \"a\":\n[1]\n}\r\n\r\n" + big, []string{"{\n \"a\":\n[1]\n}", big}, io.EOF},
		{"json, nothing", object.JSON, " \n", nil, io.EOF},
		{"json, cut", object.JSON, `{"a":1}{"b`, []string{`{"a":1}`}, io.ErrUnexpectedEOF},
		{"json, no object", object.JSON, `"a"`, nil, wire.ErrMalformed},
		{"json, too large", object.JSON, `{"a":"` + strings.Repeat("x", 400_000), nil, wire.ErrTooLarge},
	} {
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(test.stream), "bytes": iotest.OneByteReader(strings.NewReader(test.stream)),
			"asked": strings.NewReader(test.stream), "asked, bytes": iotest.OneByteReader(strings.NewReader(test.stream)),
		} {
			f := must[*wire.FrameReader](t)(wire.NewFrameReader(r, test.enc, wire.FrameOptions{MaxSize: 300_000}))
			var got []string
			var err error
			for {
				var b []byte
				if strings.HasPrefix(how, "asked") && !sameTwice(f.Buffered) {
					t.Errorf("%s: Buffered changes its mind", test.name)
				}
				if b, err = f.Next(); err != nil {
					break
				}
				got = append(got, string(b))
			}
			if strings.Join(got, "|") != strings.Join(test.want, "|") || len(got) != len(test.want) || !errors.Is(err, test.err) {
				t.Errorf("%s, %s: %d frames, %v, want %v", test.name, how, len(got), err, test.err)
			}
		}
	}
}

// Ensures that the error for a frame above the limit names both sizes.
func TestFrameReader_Next_TooLarge(t *testing.T) {
	f := must[*wire.FrameReader](t)(wire.NewFrameReader(strings.NewReader(frame("12345")), object.Protobuf, wire.FrameOptions{MaxSize: 4}))
	if _, err := f.Next(); err == nil || !strings.Contains(err.Error(), "frame of 5 bytes, limit 4") {
		t.Error(err)
	}
}

// Ensures that Buffered says yes exactly when a whole frame has come.
func TestFrameReader_Buffered(t *testing.T) {
	for enc, frames := range map[object.Encoding][2]string{
		object.Protobuf: {frame("one"), frame("three")},
		object.JSON:     {"{\"a\":1}", "\n{\"b\":\"}\"}"},
	} {
		second := frames[1]
		for n := range len(second) + 1 {
			client, server := net.Pipe()
			go func() {
				defer server.Close()
				_, _ = server.Write([]byte(frames[0] + second[:n]))
			}()
			f := must[*wire.FrameReader](t)(wire.NewFrameReader(client, enc, wire.FrameOptions{}))
			if f.Buffered() {
				t.Errorf("%s: buffered before anything was read", enc)
			}
			if _, err := f.Next(); err != nil {
				t.Fatal(err)
			}
			if got, want := f.Buffered(), n == len(second); got != want {
				t.Errorf("%s: Buffered with %d of %d bytes = %v", enc, n, len(second), got)
			}
			client.Close()
		}
	}
}

// Ensures that a frame is the caller's to keep.
func TestFrameReader_Next_Owned(t *testing.T) {
	for enc, stream := range map[object.Encoding]string{object.Protobuf: frame("{11}") + frame("{22}"), object.JSON: "{11}{22}"} {
		f := must[*wire.FrameReader](t)(wire.NewFrameReader(bytes.NewReader([]byte(stream)), enc, wire.FrameOptions{}))
		first := must[[]byte](t)(f.Next())
		_ = must[[]byte](t)(f.Next())
		if string(first) != "{11}" {
			t.Errorf("%s: the first frame became %s", enc, first)
		}
	}
}

// Ensures that an event is taken apart as by the functions for one frame, in whatever order its members come.
func TestFrameReader_Event(t *testing.T) {
	objects := `{"type":"ADDED","object":{"a":{"b":[]}}}` + "\n" + ` { "type" : "DELETED" , "object" : {} }` +
		`{"object":{"a":1},"type":"MODIFIED"}{"type":"ADDED","object":{},"more":{}}{"type":"ADDED","object":null}{"type":"ADDED","object":{}}x`
	r := must[*wire.FrameReader](t)(wire.NewFrameReader(iotest.HalfReader(strings.NewReader(objects)), object.JSON, wire.FrameOptions{}))
	var got []string
	for {
		r.Buffered()
		b, err := r.Next()
		if err != nil {
			break
		}
		r.Buffered() // looks at the next one
		typ, obj, err := r.Event(b)
		if err != nil {
			t.Errorf("%s: %v", b, err)
		}
		got = append(got, typ+" "+string(obj))
	}
	if want := `ADDED {"a":{"b":[]}}|DELETED {}|MODIFIED {"a":1}|ADDED {}|ADDED |ADDED {}`; strings.Join(got, "|") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), want)
	}
	p := must[*wire.FrameReader](t)(wire.NewFrameReader(strings.NewReader(frame("\x0a\x05ADDED")), object.Protobuf, wire.FrameOptions{}))
	b, _ := p.Next()
	if typ, obj, err := p.Event(b); typ != "ADDED" || len(obj) > 0 || err != nil {
		t.Errorf("protobuf: %s %q, %v", typ, obj, err)
	}
}

func sameTwice(f func() bool) bool { first := f(); return f() == first }
