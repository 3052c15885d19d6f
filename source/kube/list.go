package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/wire"
)

// list implements source.List over a response body.
type list struct {
	ctx    context.Context
	from   *collection
	answer *answer
	reader *wire.ListReader
	enc    object.Encoding
	codec  object.Codec
	pool   pool
	failed error
}

func (c *collection) list(ctx context.Context, options metav1.ListOptions) (source.List, error) {
	options.Watch = false
	a, err := c.open(ctx, c.accept("PartialObjectMetadataList"), options)
	if err != nil {
		return nil, err
	}
	l := &list{ctx: ctx, from: c, answer: a, codec: c.codec}
	body, enc, err := a.reader()
	if err == nil {
		l.enc = enc
		l.reader, err = wire.NewListReader(body, enc, wire.ListOptions{})
	}
	if err != nil {
		a.close()
		return nil, broken(ctx, err)
	}
	return l, nil
}

// Next implements source.List.
func (l *list) Next() (*object.Object, error) {
	if l.failed != nil {
		return nil, l.failed
	}
	m := l.pool.get()
	raw, err := l.reader.NextInto(m.bytes)
	if err != nil {
		l.failed = l.ended(err)
		l.answer.close()
		return nil, l.failed
	}
	if l.codec == nil {
		l.codec = l.from.codecOf(l.itemKind(raw))
	}
	m.bytes = raw
	return l.from.object(m, l.enc, raw, l.codec), nil
}

// ended returns what Next returns for an error of the reader.
func (l *list) ended(err error) error {
	switch kind := l.Meta().GVK; {
	case !errors.Is(err, wire.ErrNotList):
		return broken(l.ctx, err)
	case kind.Group == metav1.GroupName && kind.Kind == "Table":
		return source.ErrTable
	default:
		return fmt.Errorf("the answer to a list is a %s: %w", kind.Kind, err)
	}
}

// Meta implements source.List.
func (l *list) Meta() source.ListMeta {
	m := l.reader.Meta()
	return source.ListMeta{
		Version:   m.Version,
		Continue:  m.Continue,
		Remaining: m.Remaining,
		GVK:       schema.FromAPIVersionAndKind(m.APIVersion, m.Kind),
	}
}

// Close implements source.List.
func (l *list) Close() error {
	l.answer.close()
	if l.failed == nil || l.failed == io.EOF {
		l.failed = errClosed
	}
	return nil
}

// itemKind returns the kind of the items, of which raw is one. Custom resources name it themselves, and their list only
// after them; items of built-in kinds do not.
func (l *list) itemKind(raw []byte) schema.GroupVersionKind {
	kind := l.Meta().GVK
	if kind.Kind == "" {
		apiVersion, own, _ := wire.TypeMeta(l.enc, raw)
		return schema.FromAPIVersionAndKind(apiVersion, own)
	}
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind
}
