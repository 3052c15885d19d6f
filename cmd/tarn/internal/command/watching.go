package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/cmd/tarn/internal/printer"
	"github.com/tarn-dev/tarn/source/kube"
)

// value is how this command reads objects: it knows no types.
type value = *unstructured.Unstructured

// watching is one run of tarn watch.
type watching struct {
	o       *watchOptions
	hub     *tarn.Hub
	out     screen
	notices *notices
	started time.Time
	watched []*watched
	running sync.WaitGroup // informers, and who waits for resources

	awaited int        // how many resources the server does not have yet
	later   chan later // what comes of them; nil where there are none

	ready   chan struct{} // closed when changes may be printed
	mu      sync.Mutex    // one line at a time
	printer printer.Printer
	counts  map[tarn.EventType]int
	failed  error // what ended it
	stop    context.CancelFunc
}

// watched is one of the resources.
type watched struct {
	mapping  kube.Mapping
	short    string
	informer *tarn.Informer[value]
	sub      *tarn.Subscription
	errors   atomic.Int64
	trouble  trouble
	late     bool // it was not there at the start, and it has not been said that it is watched
}

// count says how many objects there are.
func (r *watched) count(n int) string {
	return count(n, strings.ToLower(r.mapping.Kind.Kind), r.short)
}

func newWatching(o *watchOptions, out, errOut screen) (*watching, error) {
	w := &watching{
		o: o, out: out, notices: &notices{screen: errOut, now: time.Now}, started: time.Now(),
		ready: make(chan struct{}), counts: map[tarn.EventType]int{},
	}
	logger := slog.New(slog.DiscardHandler)
	if o.verbose {
		logger = slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.conn.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &requestLog{next, logger} })
	}
	o.conn.config.WarningHandler = rest.NewWarningWriter(errOut, rest.WarningWriterOptions{Deduplicate: true})
	var err error
	if w.hub, err = tarn.NewHub(o.conn.config, tarn.WithLogger(logger)); err != nil {
		return nil, explain(err, o.conn.place)
	}
	return w, nil
}

// run does it all: find the resources, load them, print.
func (w *watching) run(ctx context.Context) error {
	ctx, w.stop = context.WithCancel(ctx)
	defer w.running.Wait()
	defer w.stop()
	defer w.notices.done()
	if err := w.resolve(ctx); err != nil {
		return w.ended(ctx, err)
	}
	for _, r := range w.watched {
		if err := w.start(ctx, r); err != nil {
			return err
		}
	}
	if err := w.load(ctx); err != nil {
		return w.ended(ctx, err)
	}
	if w.o.once {
		return w.printState()
	}
	if err := w.begin(); err != nil {
		return err
	}
	w.follow(ctx)
	w.running.Wait()
	w.summary()
	return w.failed
}

// ended returns what an end before the first list was complete means.
func (w *watching) ended(ctx context.Context, err error) error {
	if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
		return err
	}
	if w.o.once {
		return errors.New("ended before everything was read")
	}
	w.notices.interrupted()
	w.notices.say("ended after %s, before everything was read", span(time.Since(w.started)))
	return nil
}

// resolve asks the server what the names mean; with --wait until it knows one of them, with --once as well all of them.
func (w *watching) resolve(ctx context.Context) error {
	var missing []string
	for _, name := range w.o.names {
		w.notices.progress("asking %s for %s", w.o.conn.place, name)
		mapping, err := w.mapping(ctx, name, len(w.o.names) > 1 && !w.o.once)
		switch {
		case errors.Is(err, errLater):
			missing = append(missing, name)
		case err != nil:
			return err
		default:
			w.add(mapping)
		}
	}
	w.await(ctx, missing)
	if len(w.watched) > 0 {
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case l := <-w.later:
		w.awaited--
		if l.err == nil {
			w.add(l.mapping)
		}
		return l.err
	}
}

// add takes a resource into what is watched, under a name that no other has; nil where it is there already.
func (w *watching) add(m kube.Mapping) *watched {
	r := &watched{mapping: m, short: m.Resource.Resource}
	for _, other := range w.watched {
		if other.mapping.Resource == m.Resource {
			return nil
		}
		if other.mapping.Resource.Resource == m.Resource.Resource {
			r.short = m.String()
			if other.informer == nil { // else it is known by its name already
				other.short = other.mapping.String()
			}
		}
	}
	w.watched = append(w.watched, r)
	return r
}

// start watches a resource until ctx ends.
func (w *watching) start(ctx context.Context, r *watched) error {
	if err := w.open(r); err != nil {
		return err
	}
	w.running.Go(func() { _ = r.informer.Run(ctx) }) // it returns nil, or that it runs already
	return nil
}

// open makes the informer of a resource.
func (w *watching) open(r *watched) error {
	options := []tarn.Option{
		tarn.GVR(r.mapping.Resource), tarn.Labels(w.o.selector), tarn.Fields(w.o.fieldSelector), tarn.Name(r.short),
		tarn.OnError(func(error) { r.errors.Add(1) }),
	}
	if r.mapping.Namespaced && !w.o.allNamespaces {
		options = append(options, tarn.Namespace(w.o.conn.namespace))
	}
	var err error
	if r.informer, err = tarn.For[value](w.hub, options...); err != nil || w.o.once {
		return err
	}
	r.sub, err = r.informer.Subscribe(tarn.HandlerFunc[value](func(ctx context.Context, e tarn.Event[value]) { w.handle(ctx, r, e) }))
	return err
}

// handle prints one event, when it is time.
func (w *watching) handle(ctx context.Context, r *watched, e tarn.Event[value]) {
	if e.Initial && !w.o.initial {
		return
	}
	select {
	case <-w.ready:
	case <-ctx.Done():
		return
	}
	rec := record(r, e, time.Now())
	w.mu.Lock()
	defer w.mu.Unlock()
	if !e.Initial {
		w.counts[e.Type]++
	}
	if err := w.printer.Print(rec); err != nil && w.failed == nil {
		w.failed = fmt.Errorf("cannot write: %w", err)
		w.stop()
	}
}

// fail ends the command with an error, unless it has one.
func (w *watching) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil && !errors.Is(err, context.Canceled) {
		w.failed = err
	}
	w.stop()
}

// begin says what is watched and lets the changes through.
func (w *watching) begin() error {
	var err error
	if w.printer, err = w.newPrinter(false); err != nil {
		return err
	}
	w.notices.done()
	var parts []string
	version, same := "", true
	for _, r := range w.watched {
		s := r.informer.Status()
		parts = append(parts, r.count(s.Objects))
		same = same && (version == "" || version == s.Scopes[0].Version)
		version = s.Scopes[0].Version
	}
	since := ""
	if same {
		since = " since version " + version
	}
	w.notices.say("watching %s%s%s; Ctrl-C to end", list(parts), w.o.target(w.namespaced()), since)
	close(w.ready)
	return nil
}

// printState prints what is there.
func (w *watching) printState() error {
	p, err := w.newPrinter(true)
	if err != nil {
		return err
	}
	w.notices.done()
	now, n := time.Now(), 0
	var names []string
	for _, r := range w.watched {
		names = append(names, r.short)
		objects, err := r.informer.Objects()
		if err != nil {
			return err
		}
		for obj := range objects {
			n++
			v, err := obj.Decode()
			if err := p.Print(state(r, obj, v, err, now)); err != nil {
				return fmt.Errorf("cannot write: %w", err)
			}
		}
	}
	if n == 0 {
		w.notices.say("no %s%s", list(names), w.o.target(w.namespaced()))
	}
	return nil
}

// newPrinter returns the printer, whose columns fit what is there.
func (w *watching) newPrinter(once bool) (printer.Printer, error) {
	o := printer.Options{
		Color: w.out.color, Width: w.out.width, Kinds: len(w.watched)+w.awaited > 1, Namespaces: w.o.allNamespaces && (w.namespaced() || w.awaited > 0),
		State: once, AllFields: w.o.allFields, MaxChanges: w.o.maxChanges,
	}
	for _, r := range w.watched {
		objects, err := r.informer.Objects()
		if err != nil {
			return nil, err
		}
		for obj := range objects {
			o.Expect = append(o.Expect, printer.Record{Short: r.short, Namespace: obj.Namespace(), Name: obj.Name()})
		}
	}
	return printer.New(w.o.output, io.Writer(w.out), o)
}

// namespaced reports whether any of the resources has namespaces.
func (w *watching) namespaced() bool {
	return slices.ContainsFunc(w.watched, func(r *watched) bool { return r.mapping.Namespaced })
}

// summary says what was seen.
func (w *watching) summary() {
	var conflated uint64
	var failures int64
	for _, r := range w.watched {
		conflated += r.sub.Status().Conflated
		failures += r.errors.Load()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	added, updated, deleted := w.counts[tarn.Added], w.counts[tarn.Updated], w.counts[tarn.Deleted]
	w.notices.interrupted()
	w.notices.say("%s in %s: %s added, %s updated, %s deleted; %s conflated, %s",
		count(added+updated+deleted, "change", "changes"), span(time.Since(w.started)), thousands(added), thousands(updated),
		thousands(deleted), thousands(int(conflated)), count(int(failures), "error", "errors"))
}

// list joins words as in a sentence.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
