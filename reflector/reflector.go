package reflector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// shortWatch is how long a watch must last, or have delivered something, to count as one that worked.
const shortWatch = time.Second

// bookmarksWithin is the time in which a source that sends bookmarks sends one: API servers do about once a minute.
const bookmarksWithin = 2 * time.Minute

// flushLimit bounds how many changes a [Flusher] collects while the connection always holds more.
const flushLimit = 1024

// Reflector keeps a sink in step with a source; see the package comment.
type Reflector struct {
	lw       source.ListerWatcher
	sink     Sink
	releases bool // the sink keeps none of the objects
	options  Options
	name     string
	what     string // what lw reads, for messages
	log      *slog.Logger

	running atomic.Bool

	mu            sync.Mutex
	status        Status
	watchingSince time.Time

	// The fields below belong to Run's goroutine.
	resync        <-chan time.Time
	unflushed     int       // calls to the sink since the last Flush
	latest        bool      // the last version cannot be had: list at ""
	suspect       bool      // the server's history may have started over
	bookmarks     bool      // the source sends bookmarks
	paged         bool      // the server pages lists at "0"
	streaming     bool      // streaming lists are asked for
	tries         int       // streaming lists in a row that broke before their end
	short         int       // watches in a row that ended within a second
	internalSince time.Time // the first of a row of 500s; zero = none
}

// New returns a reflector of lw into sink. Nothing happens before Run.
func New(lw source.ListerWatcher, sink Sink, options Options) *Reflector {
	r := &Reflector{lw: lw, sink: sink, options: options.withDefaults(), name: options.Name, what: source.Describe(lw)}
	if r.name == "" {
		r.name = callerName()
	}
	r.log = r.options.Logger.With("reflector", r.name)
	if b, ok := sink.(Borrower); ok {
		r.releases = b.Borrows()
	}
	return r
}

// release gives an object back to the source, if the sink has not kept it.
func (r *Reflector) release(obj *object.Object) {
	if r.releases && obj.Release != nil {
		obj.Release()
	}
}

// Name returns the reflector's name.
func (r *Reflector) Name() string { return r.name }

// Run keeps the sink in step until ctx ends, which is no error: it then returns nil. Every list and watch has been
// closed by then, and no goroutine is left. It may be called again after it returned, and goes on from the last version;
// called while it runs it returns [ErrRunning].
func (r *Reflector) Run(ctx context.Context) error {
	if !r.running.CompareAndSwap(false, true) {
		return fmt.Errorf("%s: %w", r.name, ErrRunning)
	}
	defer r.running.Store(false)
	defer r.setPhase(Stopped)
	if r.options.ResyncPeriod > 0 {
		ticker := time.NewTicker(r.options.ResyncPeriod)
		defer ticker.Stop()
		r.resync = ticker.C
	}
	r.streaming = r.options.StreamingList == StreamingAuto && source.SupportsStreamingList(r.lw)
	r.tries = 0
	for {
		err := r.listAndWatch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		r.fail(err)
		if isTooLarge(err) && r.Status().Failures == 1 {
			continue // the most recent list is to be had at once; only a second failure says that something is wrong
		}
		_ = r.wait(ctx, err) // what a failed resync broke, the list that follows repairs
	}
}

// listAndWatch brings the sink in step and keeps it so until a list is needed again; the error says why.
func (r *Reflector) listAndWatch(ctx context.Context) error {
	s, err := r.sync(ctx)
	if err != nil {
		return err
	}
	for {
		if s == nil {
			s = r.openWatch(ctx)
		}
		err := r.follow(ctx, s)
		s.close()
		if failed := r.flush(); failed != nil {
			err = failed
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		pause, relist, err := r.judge(s, err)
		if relist {
			return err
		}
		if err != nil {
			r.fail(err)
		}
		if pause {
			if err := r.wait(ctx, err); err != nil {
				return err
			}
		}
		s = nil
	}
}

// wait waits for the next attempt after err: the backoff, or what the server asked for if that is longer. It goes on
// with resyncs meanwhile and returns the error of one that failed.
func (r *Reflector) wait(ctx context.Context, err error) error {
	d := r.options.Backoff()
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		d = max(d, time.Duration(seconds)*time.Second)
	}
	r.setWaiting(d)
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return nil
		case <-r.resync:
			if err := r.doResync(); err != nil {
				return err
			}
		}
	}
}

// doResync asks the sink to resync, if it has anything and it is wanted.
func (r *Reflector) doResync() error {
	if !r.Status().Synced || (r.options.ShouldResync != nil && !r.options.ShouldResync()) {
		return nil
	}
	if err := r.flush(); err != nil {
		return err
	}
	return r.sinkFailed("resync", r.sink.Resync())
}

// flush tells the sink to publish what it has collected.
func (r *Reflector) flush() error {
	if r.unflushed == 0 {
		return nil
	}
	r.unflushed = 0
	f, ok := r.sink.(Flusher)
	if !ok {
		return nil
	}
	return r.sinkFailed("publish", f.Flush())
}

// sinkError marks an error as the sink's, whatever it wraps: nothing may be concluded from it about the server.
type sinkError struct{ error }

func (e *sinkError) Unwrap() error { return e.error }

func (r *Reflector) sinkFailed(op string, err error) error {
	if err == nil {
		return nil
	}
	return &sinkError{&operation{r.what, op, err}}
}

func isSinkError(err error) bool {
	var s *sinkError
	return errors.As(err, &s)
}
