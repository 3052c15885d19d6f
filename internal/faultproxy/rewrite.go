package faultproxy

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

var errCut = errors.New("cut by a rule")

// rewrite changes the server's answer as the rule says.
func (rule *Rule) rewrite(resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return nil
	}
	if rule.DropEndBookmark || rule.EndAfterEvents > 0 || rule.Inject != nil {
		resp.Body = &events{
			rule:     rule,
			body:     resp.Body,
			in:       bufio.NewReader(resp.Body),
			protobuf: strings.Contains(resp.Header.Get("Content-Type"), "protobuf"),
		}
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	if rule.CutAfterBytes > 0 {
		resp.Body = &cutBody{resp.Body, rule.CutAfterBytes}
	}
	return nil
}

// cutBody breaks off after so many bytes: the proxy then resets the client's connection or stream.
type cutBody struct {
	io.ReadCloser
	left int64
}

func (c *cutBody) Read(b []byte) (int, error) {
	if c.left <= 0 {
		return 0, errCut
	}
	if int64(len(b)) > c.left {
		b = b[:c.left]
	}
	n, err := c.ReadCloser.Read(b)
	c.left -= int64(n)
	return n, err
}

// events is the body of a watch, passed on event by event.
type events struct {
	rule     *Rule
	body     io.Closer
	in       *bufio.Reader
	protobuf bool
	passed   int
	out      []byte
	err      error
}

func (e *events) Close() error { return e.body.Close() }

func (e *events) Read(b []byte) (int, error) {
	for len(e.out) == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.out, e.err = e.next()
	}
	n := copy(b, e.out)
	e.out = e.out[n:]
	return n, nil
}

// next returns the bytes that follow, and io.EOF with the last ones.
func (e *events) next() ([]byte, error) {
	if e.rule.Inject != nil && e.passed >= e.rule.InjectAfter {
		return e.errorEvent()
	}
	if e.rule.EndAfterEvents > 0 && e.passed >= e.rule.EndAfterEvents {
		return nil, io.EOF
	}
	frame, err := e.frame()
	if err != nil {
		return frame, err
	}
	if e.rule.DropEndBookmark && bytes.Contains(frame, []byte(metav1.InitialEventsAnnotationKey)) {
		return nil, nil
	}
	e.passed++
	return frame, nil
}

// frame reads one event: a line of JSON, or a length and so many bytes.
func (e *events) frame() ([]byte, error) {
	if !e.protobuf {
		return e.in.ReadBytes('\n')
	}
	head, err := e.in.Peek(4)
	if err != nil {
		return nil, err
	}
	frame := make([]byte, 4+binary.BigEndian.Uint32(head))
	_, err = io.ReadFull(e.in, frame)
	return frame, err
}

// errorEvent encodes the injected status in the stream's encoding.
func (e *events) errorEvent() ([]byte, error) {
	status := *e.rule.Inject
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	if !e.protobuf {
		line, err := json.Marshal(map[string]any{"type": "ERROR", "object": status})
		if err != nil {
			return nil, err
		}
		return append(line, '\n'), io.EOF
	}
	var object bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(&status, &object); err != nil {
		return nil, err
	}
	event := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: object.Bytes()}}
	raw, err := event.Marshal()
	if err != nil {
		return nil, err
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...), io.EOF
}
