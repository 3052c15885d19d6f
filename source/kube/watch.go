package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/wire"
)

// errClosed is what reads of a closed list or watch return.
var errClosed = fmt.Errorf("kube: %w", net.ErrClosed)

// watch implements source.Watch over a response body.
type watch struct {
	ctx       context.Context
	from      *collection
	answer    *answer
	frames    *wire.FrameReader // nil before the first Next: the encoding may only show then
	enc       object.Encoding
	pool      pool
	envelopes wire.EnvelopeReader
	closed    atomic.Bool
}

func (c *collection) watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	options.Watch = true
	a, err := c.open(ctx, c.accept("PartialObjectMetadata"), options)
	if err != nil {
		return nil, err
	}
	return &watch{ctx: ctx, from: c, answer: a}, nil
}

// Next implements source.Watch.
func (w *watch) Next() (source.Event, error) {
	m := w.pool.get()
	frame, err := w.frame(m.bytes)
	switch {
	case err == nil:
		m.bytes = frame
		return w.event(m), nil
	case w.closed.Load():
		return source.Event{}, errClosed
	}
	return source.Event{}, broken(w.ctx, err)
}

func (w *watch) frame(buf []byte) ([]byte, error) {
	if w.frames == nil {
		body, enc, err := w.answer.reader()
		if err != nil {
			return nil, err
		}
		if w.frames, err = wire.NewFrameReader(body, enc, wire.FrameOptions{}); err != nil {
			return nil, err
		}
		w.enc = enc
	}
	return w.frames.NextInto(buf)
}

// Buffered implements source.Watch.
func (w *watch) Buffered() bool { return w.frames != nil && w.frames.Buffered() }

// Close implements source.Watch.
func (w *watch) Close() error {
	w.closed.Store(true)
	w.answer.close()
	return nil
}

// event reads the frame in m. What is wrong with it concerns this event only.
func (w *watch) event(m *memory) source.Event {
	name, sent, raw, err := w.open(m.bytes)
	if err != nil {
		return source.Event{Name: name, Err: fmt.Errorf("watch event: %w", err)}
	}
	e := source.Event{Type: eventType(name), GVK: w.from.kindOf(sent)}
	switch {
	case e.Type == source.Error:
		e.Err = w.status(raw)
	case sent.Group == metav1.GroupName && sent.Kind == "Table":
		e.Err = source.ErrTable
	case e.Type == source.Bookmark:
		w.bookmark(&e, raw)
	case name == "":
		e.Err = errNoType
	case e.Type == source.Unknown:
		e.Name = name
	default:
		e.Object = w.from.object(m, w.enc, raw, w.from.codecFor(e.GVK))
		if e.Object.Key == "" {
			e.Err, e.Object = fmt.Errorf("watch event %s: %w", e.Type, e.Object.Err), nil
		}
	}
	return e
}

var errNoType = errors.New("watch event without a type")

// open takes a frame apart: the event's type, the kind its object says it is of, and the object.
func (w *watch) open(frame []byte) (name string, kind schema.GroupVersionKind, raw []byte, err error) {
	var apiVersion, ofKind string
	switch name, raw, err = w.frames.Event(frame); {
	case err != nil:
	case w.enc == object.Protobuf:
		apiVersion, ofKind, raw, err = w.envelopes.Read(raw)
	default:
		apiVersion, ofKind, err = wire.TypeMeta(w.enc, raw)
	}
	return name, schema.FromAPIVersionAndKind(apiVersion, ofKind), raw, err
}

// bookmark fills in what a bookmark says. It is an object of which only the metadata is set, and comes rarely.
func (w *watch) bookmark(e *source.Event, raw []byte) {
	v, err := metadataCodec.Decode(w.enc, raw)
	if err != nil {
		e.Err = fmt.Errorf("bookmark: %w", err)
		return
	}
	m := v.(*metav1.PartialObjectMetadata)
	e.Object = &object.Object{Meta: object.Meta{Version: m.ResourceVersion}}
	e.InitialEventsEnd = m.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

var statusCodec = newGoCodec(reflect.TypeFor[metav1.Status]())

// status reads the object of an error event.
func (w *watch) status(raw []byte) error {
	v, err := statusCodec.Decode(w.enc, raw)
	if err != nil {
		return fmt.Errorf("error event of the watch that cannot be read: %w", err)
	}
	return apierrors.FromObject(v.(*metav1.Status))
}

func eventType(name string) source.EventType {
	for _, t := range []source.EventType{source.Added, source.Modified, source.Deleted, source.Bookmark, source.Error} {
		if t.String() == name {
			return t
		}
	}
	return source.Unknown
}
