package reflector

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// sync hands the whole collection to the sink. Where that was by a streaming list, it returns the stream, which goes on
// as a watch. A version that cannot be had is not insisted on: the most recent one is asked for at once.
func (r *Reflector) sync(ctx context.Context) (*stream, error) {
	r.setPhase(Listing)
	s, err := r.syncOnce(ctx)
	if err != nil && ctx.Err() == nil && !r.latest && !isSinkError(err) && (isExpired(err) || isTooLarge(err)) {
		r.log.Info("version cannot be had, listing the most recent", "err", err)
		r.latest, r.suspect = true, r.suspect || isTooLarge(err)
		s, err = r.syncOnce(ctx)
	}
	return s, err
}

func (r *Reflector) syncOnce(ctx context.Context) (*stream, error) {
	if r.streaming {
		s, err := r.streamingList(ctx)
		if err == nil || ctx.Err() != nil || !r.wantsPlainList(err) {
			return s, err
		}
		level := slog.LevelInfo
		if r.Status().Failures > 0 { // what is tried again was said before
			level = slog.LevelDebug
		}
		r.log.Log(ctx, level, "streaming list failed, listing plainly", "err", err)
	}
	return nil, r.list(ctx, r.listVersion("0"))
}

// wantsPlainList reports whether a plain list should be tried at once after a streaming list failed with err, and gives
// up streaming lists where they do not work.
func (r *Reflector) wantsPlainList(err error) bool {
	if isSinkError(err) {
		return false
	}
	if isStreamingRefused(err) || r.tries >= r.options.StreamingListTries {
		r.streaming = false
		return true
	}
	return apierrors.IsForbidden(err) // who may not watch may still list
}

// listVersion returns the version to list at; first is the one where none was seen yet.
func (r *Reflector) listVersion(first string) string {
	switch last := r.LastSyncResourceVersion(); {
	case r.latest:
		return ""
	case last == "":
		return first
	default:
		return last
	}
}

// pageSize returns the limit for a list at version. A server answers one at a version above 0 from its cache only if
// it has no limit.
func (r *Reflector) pageSize(version string) int64 {
	if r.options.PageSize == 0 && !r.paged && version != "" && version != "0" {
		return -1
	}
	return r.options.PageSize
}

// list reads the collection with a plain list.
func (r *Reflector) list(ctx context.Context, version string) (err error) {
	started, items := time.Now(), 0
	defer func() {
		r.options.Metrics.ListDone(outcome(ctx, err), false, time.Since(started), items)
		if err != nil && !isSinkError(err) {
			err = &operation{r.what, "list", err}
		}
	}()
	limit := r.options.MinWatchTimeout + r.options.IdleSlack
	lctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(limit, func() { cancel(ErrIdle) })
	defer idle.Stop()

	options := metav1.ListOptions{ResourceVersion: version}
	if version != "" && version != "0" {
		// Without a match, a list with a limit would mean exactly that version, which may be long gone.
		options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
	}
	list, err := source.Pager{List: r.lw.List, PageSize: r.pageSize(version)}.Read(lctx, options)
	if err != nil {
		return causeOr(lctx, err)
	}
	defer list.Close()
	var stage *staging
	defer func() { stage.abort() }()
	for {
		idle.Reset(limit)
		obj, err := list.Next()
		if stage == nil && (err == nil || err == io.EOF) {
			stage = r.stage(version, list.Meta().Version)
		}
		switch {
		case err == nil:
			items++
			r.stageFailed("list", "", obj, stage.Add(obj))
			r.release(obj)
		case err == io.EOF:
			if version == "0" && list.Paged() {
				r.paged = true
			}
			r.log.Debug("listed", "version", list.Meta().Version, "items", items, "took", time.Since(started))
			return stage.commit(list.Meta().Version)
		case errors.Is(err, source.ErrRestart):
			stage.abort()
			stage, items = nil, 0
		default:
			return causeOr(lctx, err)
		}
	}
}

// stageFailed reports the sink's error about one object.
func (r *Reflector) stageFailed(op, event string, obj *object.Object, err error) {
	if err == nil {
		return
	}
	if event != "" {
		event += " "
	}
	r.report(op, fmt.Errorf("%s%s at version %s: %w", event, obj.Key, obj.Version, err))
}

// staging is the stage of one list.
type staging struct {
	Stage
	r       *Reflector
	suspect bool
	ended   bool
}

// stage opens a stage for a list that was asked for at version asked and is known to be at version got; "" = not known
// yet. A list that is behind what was seen starts a new epoch. Where that cannot be told yet and may be, the stage is
// told, and keeps more.
func (r *Reflector) stage(asked, got string) *staging {
	last := r.LastSyncResourceVersion()
	st := &staging{r: r}
	switch {
	case last == "":
	case got != "":
		st.suspect = r.startsOver(got)
	default:
		st.suspect = r.suspect || asked == ""
	}
	if s, ok := r.sink.(Stager); ok {
		st.Stage = s.Stage(st.suspect)
	} else {
		st.Stage = &collector{sink: r.sink}
	}
	return st
}

// startsOver reports whether a list at version is a new epoch. Versions that do not compare are one if the server has
// denied the last version: nothing says that it is the same history.
func (r *Reflector) startsOver(version string) bool {
	last := r.LastSyncResourceVersion()
	order, ok := object.CompareVersions(version, last)
	return last != "" && (ok && order < 0 || !ok && r.suspect && version != last)
}

// commit makes the list the collection, at version.
func (st *staging) commit(version string) error {
	r := st.r
	if version == "" {
		return ErrNoVersion
	}
	newEpoch := r.startsOver(version)
	if newEpoch && !st.suspect {
		r.latest, r.suspect = true, true
		return fmt.Errorf("%w: list at %s after %s", ErrWentBack, version, r.LastSyncResourceVersion())
	}
	st.ended = true
	if err := st.Stage.Commit(version, newEpoch); err != nil {
		return r.sinkFailed("list: replace", err)
	}
	if newEpoch {
		r.log.Warn("the server's history started over", "version", version, "before", r.LastSyncResourceVersion())
	}
	r.latest, r.suspect, r.internalSince = false, false, time.Time{}
	r.mu.Lock()
	r.status.Synced = true
	if newEpoch {
		r.status.Epoch++
	}
	r.mu.Unlock()
	r.setVersion(version)
	return nil
}

// abort ends the stage if it has not ended. A nil stage has.
func (st *staging) abort() {
	if st != nil && !st.ended {
		st.ended = true
		st.Stage.Abort()
	}
}
