package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// watchOptions returns the options for a watch from version, with its timeout drawn.
func (r *Reflector) watchOptions(version string) metav1.ListOptions {
	least := r.options.MinWatchTimeout
	timeout := int64((least + rand.N(least+1) + time.Second/2) / time.Second)
	timeout = max(timeout, int64((least+time.Second-1)/time.Second))
	return metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true, TimeoutSeconds: &timeout}
}

// open starts a stream that is given up when it is silent for longer than its timeout and the slack.
func (r *Reflector) open(ctx context.Context, options metav1.ListOptions) *stream {
	idle := time.Duration(*options.TimeoutSeconds)*time.Second + r.options.IdleSlack
	return openStream(ctx, r.lw, options, idle)
}

// openWatch starts a watch from the last version.
func (r *Reflector) openWatch(ctx context.Context) *stream {
	r.setPhase(Connecting)
	version := r.LastSyncResourceVersion()
	r.log.Debug("watching", "version", version)
	return r.open(ctx, r.watchOptions(version))
}

// next returns the stream's next event. Before it blocks, it tells the sink to publish. It goes on with resyncs, except
// in the initial events of a streaming list, where the sink has nothing to resync yet. expired, if not nil, ends the
// initial events.
func (r *Reflector) next(ctx context.Context, s *stream, expired <-chan time.Time) (source.Event, error) {
	resync := r.resync
	if s.initial {
		resync = nil
	}
	for {
		if ev, ok := s.take(); ok {
			return ev, nil
		}
		if r.unflushed > 0 && r.unflushed < flushLimit && !s.current.more {
			select {
			case b, ok := <-s.batches: // the sink took so long that more has come
				if err := r.received(s, b, ok); err != nil {
					return source.Event{}, err
				}
				continue
			default:
			}
		}
		if !s.current.more || r.unflushed >= flushLimit {
			if err := r.flush(); err != nil {
				return source.Event{}, err
			}
		}
		select {
		case <-ctx.Done():
			return source.Event{}, ctx.Err()
		case <-expired:
			return source.Event{}, ErrNoEndBookmark
		case <-resync:
			if err := r.doResync(); err != nil {
				return source.Event{}, err
			}
		case b, ok := <-s.batches:
			if err := r.received(s, b, ok); err != nil {
				return source.Event{}, err
			}
		}
	}
}

// received takes a batch over from the stream, or its end.
func (r *Reflector) received(s *stream, b batch, ok bool) error {
	if !ok {
		return s.err
	}
	if s.opened.IsZero() {
		s.opened = time.Now()
		if !s.initial {
			r.setPhase(Watching)
		}
	}
	s.current = b
	return nil
}

// follow applies the stream's events to the sink until it ends.
func (r *Reflector) follow(ctx context.Context, s *stream) (err error) {
	defer func() {
		r.options.Metrics.WatchDone(outcome(ctx, err), time.Since(s.started), s.delivered)
	}()
	for {
		ev, err := r.next(ctx, s, nil)
		if err != nil {
			return err
		}
		r.options.Metrics.Event(ev.Type)
		if err := r.apply(s, ev); err != nil {
			return err
		}
	}
}

// apply hands one event to the sink and moves the version. Its error ends the watch.
func (r *Reflector) apply(s *stream, ev source.Event) error {
	if ev.Type == source.Error {
		return errorOf(ev)
	}
	if err := r.check(ev); err != nil {
		r.report("watch", err)
		return nil
	}
	if s.delivered++; s.delivered == 1 {
		r.internalSince = time.Time{}
		r.healthy()
	}
	version := strings.Clone(ev.Object.Version) // which outlives the object
	if ev.Type != source.Added {
		s.settled = true
	}
	var err error
	switch ev.Type {
	case source.Added:
		err = r.sink.Add(ev.Object)
	case source.Modified:
		err = r.sink.Update(ev.Object)
	case source.Deleted:
		err = r.sink.Delete(ev.Object)
	case source.Bookmark:
		if r.isBehind(version) {
			return fmt.Errorf("%w: bookmark at %s after %s", ErrWentBack, version, r.LastSyncResourceVersion())
		}
		r.bookmarks = true
		if b, ok := r.sink.(Bookmarker); ok && version != "" {
			err = b.Bookmark(version)
		}
	}
	r.unflushed++
	r.stageFailed("watch", ev.Type.String(), ev.Object, err)
	r.release(ev.Object)
	if version != "" && s.settled && !r.isBehind(version) {
		r.setVersion(version)
	}
	return nil
}

// isBehind reports whether version is older than the last one.
func (r *Reflector) isBehind(version string) bool {
	order, ok := object.CompareVersions(version, r.LastSyncResourceVersion())
	return ok && order < 0
}

// check returns what is wrong with an event that has to be skipped.
func (r *Reflector) check(ev source.Event) error {
	name, expected := ev.Type.String(), r.options.Expected
	switch {
	case ev.Err != nil:
		return fmt.Errorf("%s: %w", name, ev.Err)
	case ev.Type == source.Unknown || ev.Type > source.Error:
		return fmt.Errorf("%w: type %q", ErrEvent, ev.Name)
	case ev.Object == nil:
		return fmt.Errorf("%w: %s without an object", ErrEvent, name)
	case !expected.Empty() && !ev.GVK.Empty() && ev.GVK != expected:
		return fmt.Errorf("%s %s: %w: %s, expected %s", name, ev.Object.Key, ErrKind, ev.GVK, expected)
	}
	return nil
}

// errorOf returns the error of an Error event.
func errorOf(ev source.Event) error {
	if ev.Err == nil {
		return fmt.Errorf("%w: ERROR without a status", ErrEvent)
	}
	return ev.Err
}

// judge decides what follows the end of a watch: whether to pause, and whether to list again or to watch again from the
// last version. The error it returns is what went wrong; nil where that is nothing.
func (r *Reflector) judge(s *stream, err error) (pause, relist bool, _ error) {
	if isSinkError(err) {
		return true, true, err
	}
	failed := &operation{r.what, "watch", err}
	if err != io.EOF {
		r.short = 0
	}
	switch {
	case err == io.EOF:
		short := s.isShort()
		if s.delivered == 0 && short {
			failed.err = ErrShortWatch
			return true, true, failed
		}
		if s.delivered == 0 && time.Since(s.opened) >= bookmarksWithin && r.bookmarks {
			failed.err = ErrSilent
			return true, true, failed
		}
		if !short {
			r.short = 0
			return false, false, nil
		}
		// Once is a server that goes away; again and again, with an event each, would be a hot loop.
		r.short++
		return r.short > 1, false, nil
	case apierrors.IsTooManyRequests(err), isDisconnect(err):
		return true, false, failed
	case isInternal(err) && r.mayRetryInternal():
		return true, false, failed
	case isTooLarge(err), errors.Is(err, ErrWentBack):
		r.latest, r.suspect = true, true
	}
	return true, true, failed
}

// mayRetryInternal reports whether the row of 500s is still young enough to watch again.
func (r *Reflector) mayRetryInternal() bool {
	if r.internalSince.IsZero() {
		r.internalSince = time.Now()
	}
	return time.Since(r.internalSince) < r.options.InternalErrorRetry
}
