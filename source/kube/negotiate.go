package kube

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/wire"
)

const (
	mediaJSON     = "application/json"
	mediaProtobuf = "application/vnd.kubernetes.protobuf"
)

// collection is where the objects of one source are found, and what they are.
type collection struct {
	request      func() *rest.Request // a GET of the collection
	mapping      Mapping              // zero where nobody resolved it
	metadataOnly bool
	protobuf     bool                                       // whether the codec takes it
	codec        object.Codec                               // nil: see codecOf
	codecOf      func(schema.GroupVersionKind) object.Codec // by the kind that the answer names
	trim         *wire.Trim                                 // nil: nothing
}

// accept returns the Accept header, the preferred media type first. The server takes the first that it can write: for
// custom resources that is JSON. asked is the kind to transform the answer to in a request for metadata only.
func (c *collection) accept(asked string) string {
	var as string
	if c.metadataOnly {
		as = ";as=" + asked + ";g=meta.k8s.io;v=v1"
	}
	var types []string
	if c.protobuf {
		types = append(types, mediaProtobuf+as)
	}
	types = append(types, mediaJSON+as)
	if c.metadataOnly {
		// An aggregated server may be too simple to transform; then the metadata is picked from whole objects.
		types = append(types, mediaJSON)
	}
	return strings.Join(types, ",")
}

// answer is a response of status 2xx.
type answer struct {
	body io.ReadCloser
	enc  object.Encoding // None where the head does not tell, because the client is not ours
	stop context.CancelFunc
}

// open sends the request. A refusal by the server is returned as it is, never retried here: the reflector knows how
// long to wait.
func (c *collection) open(ctx context.Context, accept string, options metav1.ListOptions) (*answer, error) {
	sendCtx, stop := context.WithCancel(ctx)
	withHead, head := withHead(sendCtx)
	body, err := c.request().SetHeader("Accept", accept).
		SpecificallyVersionedParams(&options, scheme.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		MaxRetries(0).Stream(withHead)
	if err != nil {
		stop()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, refine(err, *head)
	}
	a := &answer{body: body, stop: stop}
	if a.enc, err = encodingOf((*head).Get("Content-Type")); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

// reader returns what reads the body, with the encoding; where the head does not tell, it looks at the first byte, and
// so blocks until that is there.
func (a *answer) reader() (io.Reader, object.Encoding, error) {
	if a.enc != object.None {
		return a.body, a.enc, nil
	}
	r := bufio.NewReaderSize(a.body, 16)
	first, err := r.Peek(1)
	if err != nil {
		return nil, object.None, err
	}
	switch first[0] {
	case '{':
		a.enc = object.JSON
	case 'k', 0: // the envelope of a list; the length of a watch event below 16 MiB
		a.enc = object.Protobuf
	default:
		return nil, object.None, fmt.Errorf("the answer starts with %q: neither JSON nor Kubernetes protobuf", first)
	}
	return r, a.enc, nil
}

// close ends the request; a reader that is blocked on the body returns.
func (a *answer) close() {
	a.stop()
	_ = a.body.Close()
}

// encodingOf reads a Content-Type header.
func encodingOf(contentType string) (object.Encoding, error) {
	if contentType == "" {
		return object.None, nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		return object.None, fmt.Errorf("content type %q: %w", contentType, err)
	}
	switch {
	case params["as"] == "Table":
		return object.None, source.ErrTable
	case media == mediaProtobuf:
		return object.Protobuf, nil
	case media == mediaJSON:
		return object.JSON, nil
	}
	return object.None, fmt.Errorf("the answer is %s, not from a Kubernetes API: is there a proxy in between?", media)
}

// broken returns the error of a read: the context's cause where the context ended the read.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, io.EOF) {
		return context.Cause(ctx)
	}
	return err
}
