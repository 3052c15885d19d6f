package reflector

import (
	"context"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source"
)

// batchLimit bounds what is read ahead of the sink: what the connection has already received, up to so many events.
const batchLimit = 64

// batch is what was read without blocking; more says that the next read will not block either.
type batch struct {
	events []source.Event
	more   bool
}

// stream is one watch, read by a goroutine of its own that hands over in batches. It is used by the reflector's
// goroutine and ends when close returns.
type stream struct {
	cancel  context.CancelCauseFunc
	batches chan batch // unbuffered; its first value says that the watch is open; closed at the end
	err     error      // why it ended; to be read when batches is closed

	current   batch
	timeout   time.Duration // for how long the server was asked to keep it open
	started   time.Time     // when it was asked for
	opened    time.Time     // when the answer's head came; zero before
	delivered int           // events that were accepted
	initial   bool          // still in the initial events of a streaming list
	settled   bool          // an ADDED may move the version
}

// openStream starts to watch, with a timeout in options. The stream is given up when it blocks for longer than idle.
func openStream(ctx context.Context, lw source.ListerWatcher, options metav1.ListOptions, idle time.Duration) *stream {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &stream{
		cancel:  cancel,
		batches: make(chan batch),
		timeout: time.Duration(*options.TimeoutSeconds) * time.Second,
		started: time.Now(),
		initial: options.SendInitialEvents != nil && *options.SendInitialEvents,
		settled: options.ResourceVersion != "" && options.ResourceVersion != "0",
	}
	go func() {
		defer close(s.batches)
		s.err = s.read(ctx, lw, options, idle)
	}()
	return s
}

// read runs in the stream's goroutine until the watch ends.
func (s *stream) read(ctx context.Context, lw source.ListerWatcher, options metav1.ListOptions, idle time.Duration) error {
	timer := time.AfterFunc(idle, func() { s.cancel(ErrIdle) })
	defer timer.Stop()
	w, err := lw.Watch(ctx, options)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF // a watch that never was cannot have ended normally
	}
	if err != nil {
		return causeOr(ctx, err)
	}
	closed := make(chan struct{})
	unbind := context.AfterFunc(ctx, func() {
		w.Close()
		close(closed)
	})
	defer func() {
		if unbind() {
			w.Close()
			return
		}
		<-closed
	}()

	// A buffer is used again when the one after it has been received: by then its events have been taken.
	var buffers [2][]source.Event
	s.batches <- batch{more: w.Buffered()}
	for n := 0; ; n = 1 - n {
		events := buffers[n][:0]
		timer.Reset(idle)
		for {
			var ev source.Event
			if ev, err = w.Next(); err != nil {
				break
			}
			events = append(events, ev)
			if len(events) == batchLimit || !w.Buffered() {
				break
			}
		}
		// The clock stands still while the sink is busy: only the connection's silence counts.
		timer.Stop()
		buffers[n] = events
		if len(events) > 0 {
			s.batches <- batch{events, err == nil && w.Buffered()}
		}
		if err == nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return causeOr(ctx, err)
		}
	}
}

// take returns the next event of the current batch, if there is one.
func (s *stream) take() (source.Event, bool) {
	if len(s.current.events) == 0 {
		return source.Event{}, false
	}
	ev := s.current.events[0]
	s.current.events[0] = source.Event{} // or the buffer would keep the object alive
	s.current.events = s.current.events[1:]
	return ev, true
}

// isShort reports whether the stream that ended now was open for less than a second. One that its server kept open for as
// long as it was asked to is not: the server's clock starts before the head of the answer is here.
func (s *stream) isShort() bool {
	return time.Since(s.opened) < shortWatch && time.Since(s.started) < s.timeout
}

// close ends the watch and waits for its goroutine.
func (s *stream) close() {
	s.cancel(context.Canceled)
	for range s.batches {
	}
}

// causeOr returns why ctx ended if it did, else err.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
