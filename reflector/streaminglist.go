package reflector

import (
	"context"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source"
)

// streamingList reads the collection with a streaming list (KEP-3157) and returns its stream, which goes on as a watch.
func (r *Reflector) streamingList(ctx context.Context) (s *stream, err error) {
	version := r.listVersion("")
	initial := true
	options := r.watchOptions(version)
	options.SendInitialEvents = &initial
	options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	s = r.open(ctx, options)
	stage, items := r.stage(version, ""), 0
	defer func() {
		stage.abort()
		r.options.Metrics.ListDone(outcome(ctx, err), true, time.Since(s.started), items)
		if err == nil {
			return
		}
		s.close()
		s = nil
		if !isSinkError(err) {
			err = &operation{r.what, "streaming list", err}
		}
	}()

	timeout := r.options.StreamingListTimeout
	end := time.Now().Add(10 * timeout)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	for {
		ev, err := r.next(ctx, s, timer.C)
		if err != nil {
			return s, r.streamBroke(s, err)
		}
		timer.Reset(min(timeout, time.Until(end)))
		if ev.Type == source.Error {
			return s, errorOf(ev)
		}
		if err := r.check(ev); err != nil {
			r.report("streaming list", err)
			continue
		}
		s.delivered++
		switch ev.Type {
		case source.Added, source.Modified:
			items++
			r.stageFailed("streaming list", ev.Type.String(), ev.Object, stage.Add(ev.Object))
			r.release(ev.Object)
		case source.Deleted:
			r.stageFailed("streaming list", ev.Type.String(), ev.Object, stage.Delete(ev.Object))
			r.release(ev.Object)
		case source.Bookmark:
			if !ev.InitialEventsEnd {
				continue
			}
			r.log.Debug("listed by a stream", "version", ev.Object.Version, "took", time.Since(s.started))
			if err := stage.commit(ev.Object.Version); err != nil {
				return s, err
			}
			s.initial, s.settled = false, true
			r.tries = 0
			r.setPhase(Watching)
			r.healthy()
			return s, nil
		}
	}
}

// streamBroke sorts the end of a streaming list that came before its last bookmark. After too many of them, or one
// that the server keeps open, streaming lists are not worth another try.
func (r *Reflector) streamBroke(s *stream, err error) error {
	switch {
	case s.opened.IsZero() && err == ErrNoEndBookmark:
		return ErrIdle // the server did not answer at all, which says nothing about streaming lists
	case s.opened.IsZero():
		return err
	case err == ErrNoEndBookmark:
		r.tries = r.options.StreamingListTries
		return fmt.Errorf("%w: waited %s", err, time.Since(s.started).Round(time.Millisecond))
	case err == io.EOF:
		r.tries++
		return ErrNoEndBookmark
	case isDisconnect(err):
		r.tries++
	}
	return err
}
