package tarntest

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source"
)

// watch is one stream. What it has still to deliver waits in the watch itself: an expired history does not concern it.
type watch struct {
	src       *Source
	ctx       context.Context
	sel       selector
	bookmarks bool
	timer     *time.Timer // nil where no timeout was asked for
	deadline  time.Time
	wake      chan struct{} // holds one signal: look at the state again

	// Guarded by src.mu.
	pending []source.Event
	end     error // what Next returns behind the pending events; nil while the stream goes on
	closed  bool
}

// watch makes the answer to a watch. The lock is held.
func (s *Source) watch(ctx context.Context, options metav1.ListOptions) (source.Watch, error) {
	if err := s.validateWatch(options); err != nil {
		return nil, err
	}
	sel, err := parseSelector(options)
	if err != nil {
		return nil, err
	}
	version, err := parseVersion(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	w := &watch{src: s, ctx: ctx, sel: sel, bookmarks: options.AllowWatchBookmarks, wake: make(chan struct{}, 1)}
	s.watches[w] = struct{}{}
	if t := options.TimeoutSeconds; t != nil && *t > 0 {
		timeout := time.Duration(*t) * time.Second
		w.deadline = time.Now().Add(timeout)
		w.timer = time.NewTimer(timeout)
	}
	streaming := options.SendInitialEvents != nil && *options.SendInitialEvents
	switch {
	case version > s.version:
		w.fail(tooLarge(version, s.version))
	case streaming || version == 0 && options.SendInitialEvents == nil:
		w.initial(streaming && w.bookmarks)
	case version == 0:
		// Initial events were declined: only what is to come.
	case version < s.oldest:
		w.fail(expired("too old resource version: %d (%d)", version, s.oldest))
	default:
		for _, c := range s.history {
			if c.version > version {
				w.offer(c)
			}
		}
	}
	return w, nil
}

// initial sends the stored objects, and if asked the bookmark that ends them.
func (w *watch) initial(end bool) {
	for _, o := range w.src.at(w.src.version) {
		w.offer(change{after: o})
	}
	if end {
		e := bookmark(w.src.version)
		e.InitialEventsEnd = true
		w.send(e)
	}
}

// offer sends what a change is to this watch, if it is anything.
func (w *watch) offer(c change) {
	was := c.before != nil && w.sel.matches(c.before)
	is := c.after != nil && w.sel.matches(c.after)
	e := source.Event{GVK: w.src.kind, Object: c.after}
	switch {
	case was && is:
		e.Type = source.Modified
	case is:
		e.Type = source.Added
	case was:
		e.Type, e.Object = source.Deleted, atVersion(c.before, c.version)
	default:
		return
	}
	w.send(e)
}

func (w *watch) send(e source.Event) {
	if w.end != nil {
		return
	}
	w.pending = append(w.pending, e)
	w.signal()
}

// fail sends an error as a server does once the answer has begun, and ends the stream.
func (w *watch) fail(err error) {
	w.send(source.Event{Type: source.Error, Err: err})
	w.finish(io.EOF)
}

func (w *watch) finish(err error) {
	if w.end == nil {
		w.end = err
		w.signal()
	}
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // a signal waits already
	}
}

func (w *watch) Next() (source.Event, error) {
	var timeout <-chan time.Time
	if w.timer != nil {
		timeout = w.timer.C
	}
	for {
		if e, err, ok := w.poll(); ok {
			return e, err
		}
		select {
		case <-w.wake:
		case <-w.ctx.Done():
		case <-timeout:
		}
	}
}

// poll returns what Next returns, if it need not block.
func (w *watch) poll() (e source.Event, err error, ok bool) {
	w.src.mu.Lock()
	defer w.src.mu.Unlock()
	switch {
	case w.closed:
		return e, errClosed, true
	case w.ctx.Err() != nil:
		return e, context.Cause(w.ctx), true
	case w.timer != nil && !time.Now().Before(w.deadline):
		// Whatever is pending comes again from the version that the reader has got to.
		return e, io.EOF, true
	case len(w.pending) > 0:
		e, w.pending = w.pending[0], w.pending[1:]
		return e, nil, true
	}
	return e, w.end, w.end != nil
}

func (w *watch) Buffered() bool {
	w.src.mu.Lock()
	defer w.src.mu.Unlock()
	return len(w.pending) > 0 && !w.closed
}

func (w *watch) Close() error {
	w.src.mu.Lock()
	defer w.src.mu.Unlock()
	if !w.closed {
		w.closed, w.pending = true, nil
		delete(w.src.watches, w)
		if w.timer != nil {
			w.timer.Stop()
		}
		w.signal()
	}
	return nil
}
