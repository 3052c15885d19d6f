package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/workload"
	tarnobject "github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/wire"
)

// limit reads what a server sends and keeps nothing: what no copy can go below.
type limit struct {
	o    Options
	walk bool
}

// newLimitRead reads the bytes of a list, and does not look at them.
func newLimitRead(o Options) (Copy, error) { return &limit{o: o}, nil }

// newLimitWalk reads a streaming list, and the events after it, and of each object the metadata.
func newLimitWalk(o Options) (Copy, error) { return &limit{o, true}, nil }

func (l *limit) open(ctx context.Context, query string) (*http.Response, error) {
	client, err := rest.HTTPClientFor(l.o.Config)
	if err != nil {
		return nil, err
	}
	gvr := l.o.Kind.GVR()
	path := "/api/v1/" + gvr.Resource
	if gvr.Group != "" {
		path = "/apis/" + gvr.Group + "/" + gvr.Version + "/" + gvr.Resource
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.o.Config.Host+path+query, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
	if l.o.Kind == workload.CustomObjects {
		req.Header.Set("Accept", "application/json")
	}
	req.Header.Set("Accept-Encoding", "identity")
	resp, err := client.Do(req)
	if err == nil && resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return resp, err
}

func (l *limit) Run(ctx context.Context) error {
	if l.walk {
		return l.follow(ctx)
	}
	resp, err := l.open(ctx, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	for range l.o.Objects {
		l.o.Sink.Added("")
	}
	<-ctx.Done()
	return nil
}

// follow reads streaming lists, one after another when a watch has ended, until ctx ends.
func (l *limit) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		resp, err := l.open(ctx, "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true")
		if err == nil {
			err = l.frames(resp.Body)
			resp.Body.Close()
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (l *limit) frames(body io.Reader) error {
	enc := tarnobject.Protobuf
	if l.o.Kind == workload.CustomObjects {
		enc = tarnobject.JSON
	}
	frames, err := wire.NewFrameReader(body, enc, wire.FrameOptions{})
	if err != nil {
		return err
	}
	var (
		frame []byte
		meta  wire.MetaBuffer
	)
	for {
		if frame, err = frames.NextInto(frame); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		typ, raw, err := frames.Event(frame)
		if err == nil && enc == tarnobject.Protobuf {
			_, _, raw, err = wire.Envelope(raw)
		}
		if err != nil {
			return err
		}
		if typ == "ERROR" || typ == "BOOKMARK" {
			continue
		}
		m, err := meta.Read(enc, raw)
		if err != nil {
			return err
		}
		if typ == "ADDED" {
			l.o.Sink.Added(m.Key)
		} else {
			l.o.Sink.Updated(m.Key)
		}
	}
}

func (*limit) Get(string) (any, error)           { return nil, errors.ErrUnsupported }
func (*limit) View(string) (any, error)          { return nil, errors.ErrUnsupported }
func (*limit) List(labels.Selector) (int, error) { return 0, errors.ErrUnsupported }
func (*limit) ByIndex(string, int) (int, error)  { return 0, errors.ErrUnsupported }
