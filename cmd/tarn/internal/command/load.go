package command

import (
	"context"
	"time"

	"github.com/tarn-dev/tarn/source/kube"
)

// tick is how often the status of the informers is looked at.
const tick = 100 * time.Millisecond

// resolvePause is how long to wait before the server is asked again for a resource: at first, and at most.
var resolvePause = [2]time.Duration{time.Second, 10 * time.Second}

// mapping asks the server for one resource, with --wait until there is an answer.
func (w *watching) mapping(ctx context.Context, name string) (kube.Mapping, error) {
	said, pause := "", resolvePause[0]
	for {
		m, err := w.hub.Client().Resolve(ctx, kube.Named(name))
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
			return m, w.final(p)
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
		w.notices.progress("loading %s: %s, %s, %s", list(names), count(objects, "object", "objects"), size(bytes), span(time.Since(w.started)))
	}
}

// follow tells of trouble until ctx ends.
func (w *watching) follow(ctx context.Context) {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.look()
		}
	}
}
