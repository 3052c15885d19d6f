package command

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tarn-dev/tarn/source/kube"
)

// tick is how often the status of the informers is looked at.
const tick = 100 * time.Millisecond

// resolvePause is how long to wait before the server is asked again for a resource: at first, and at most.
var resolvePause = [2]time.Duration{time.Second, 10 * time.Second}

// answerPause is after how long without an answer that is said.
const answerPause = 2 * time.Second

// errLater says that the server does not have the resource yet.
var errLater = errors.New("not there yet")

// mapping asks the server for one resource, with --wait until there is an answer. With later, a resource that would be waited
// for because the server does not have it is errLater.
func (w *watching) mapping(ctx context.Context, name string, later bool) (kube.Mapping, error) {
	said, pause := "", resolvePause[0]
	for {
		m, err := w.ask(ctx, name)
		if err == nil {
			if said != "" {
				w.notices.alert("found %s", m)
			}
			return m, nil
		}
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		p := explain(err, w.o.conn.place)
		if !w.o.wait && p.fatal || !p.waits {
			return m, w.final(w.o.oneObject(p, name))
		}
		if later && errors.As(err, new(*kube.NoMatchError)) {
			return m, errLater
		}
		if p.text != said {
			said = p.text
			w.notices.alert("%s; asking again until that changes", p.text)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(pause):
		}
		pause = min(pause*2, resolvePause[1])
	}
}

// ask asks the server for one resource once, and says where the answer takes long.
func (w *watching) ask(ctx context.Context, name string) (kube.Mapping, error) {
	answered := make(chan struct{})
	var saying sync.WaitGroup
	defer saying.Wait()
	defer close(answered)
	saying.Go(func() {
		select {
		case <-answered:
		case <-w.ready: // the lines are those of the changes now
		case <-time.After(answerPause):
			w.notices.progress("still waiting for an answer from %s", w.o.conn.place)
		}
	})
	return w.hub.Client().Resolve(ctx, kube.Named(name))
}

// later is the answer for a resource that the server did not have at the start.
type later struct {
	mapping kube.Mapping
	err     error
}

// await waits for resources that the server does not have yet; what comes of each goes to w.later.
func (w *watching) await(ctx context.Context, names []string) {
	w.awaited, w.later = len(names), make(chan later, len(names))
	for _, name := range names {
		w.running.Go(func() {
			m, err := w.mapping(ctx, name, false)
			w.later <- later{m, err}
		})
	}
}

// final returns the problem as an error that ends the command.
func (w *watching) final(p *problem) error {
	p.waits = p.waits && !w.o.wait
	return p
}

// load shows the progress until all resources are stored. Where that cannot be expected to happen soon, the error says why.
func (w *watching) load(ctx context.Context) error {
	all := make(chan struct{})
	go func() {
		for _, r := range w.watched {
			select {
			case <-r.informer.Synced():
			case <-ctx.Done():
				return
			}
		}
		close(all)
	}()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-all:
			w.look()
			return nil
		case <-ticker.C:
		}
		var objects int
		var bytes int64
		var names []string
		for _, r := range w.watched {
			s := r.informer.Status()
			objects, bytes, names = objects+s.Objects, bytes+s.Bytes, append(names, r.short)
			for _, scope := range s.Scopes {
				if scope.LastError == nil || s.Synced {
					continue
				}
				if p := explain(scope.LastError, w.o.conn.place); p.fatal && !(w.o.wait && p.waits) {
					return w.final(p)
				}
			}
		}
		w.look()
		if took := time.Since(w.started); bytes == 0 && objects == 0 && took > answerPause {
			w.notices.progress("loading %s: still waiting for an answer from %s, %s", list(names), w.o.conn.place, span(took))
			continue
		}
		w.notices.progress("loading %s: %s, %s, %s", list(names), count(objects, "object", "objects"), size(bytes), span(time.Since(w.started)))
	}
}

// follow tells of trouble, and watches what the server did not have at the start as it appears, until ctx ends.
func (w *watching) follow(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case l := <-w.later:
			w.awaited--
			if l.err == nil {
				l.err = w.startLate(ctx, l.mapping)
			}
			if l.err != nil {
				w.fail(l.err)
				return
			}
		case <-ticker.C:
			w.look()
			for _, r := range w.watched {
				if s := r.informer.Status(); r.late && s.Synced {
					r.late = false
					w.notices.say("watching %s%s as well", r.count(s.Objects), w.o.target(r.mapping.Namespaced))
				}
			}
		}
	}
}

// startLate watches what has appeared, unless it is watched already.
func (w *watching) startLate(ctx context.Context, m kube.Mapping) error {
	r := w.add(m)
	if r == nil {
		return nil
	}
	r.late = true
	err := w.start(ctx, r)
	if err != nil {
		w.watched = w.watched[:len(w.watched)-1]
	}
	return err
}
