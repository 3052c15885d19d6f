package tarntest

import (
	"context"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// Verb names a kind of request.
type Verb string

// The verbs, as the Kubernetes API calls them.
const (
	ListVerb  Verb = "list"
	WatchVerb Verb = "watch"
)

// Request is a request that reached a [Source].
type Request struct {
	Verb    Verb
	Options metav1.ListOptions
}

// listBreak is how a list is to break: err after some items.
type listBreak struct {
	after int
	err   error
}

// begin records a request and returns the error that it is to be answered with.
func (s *Source) begin(ctx context.Context, r Request) error {
	s.mu.Lock()
	s.requests = append(s.requests, r)
	onReq := s.onReq
	s.mu.Unlock()
	if onReq != nil {
		if err := onReq(ctx, r); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if errs := s.failures[r.Verb]; len(errs) > 0 {
		s.failures[r.Verb] = errs[1:]
		return errs[0]
	}
	return nil
}

// Requests returns the options of the requests of a verb so far, oldest first, those that failed included.
func (s *Source) Requests(verb Verb) []metav1.ListOptions {
	s.mu.Lock()
	defer s.mu.Unlock()
	var options []metav1.ListOptions
	for _, r := range s.requests {
		if r.Verb == verb {
			options = append(options, r.Options)
		}
	}
	return options
}

// Open returns how many lists and watches were handed out and not closed yet.
func (s *Source) Open() (lists, watches int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.openLists, len(s.watches)
}

// OnRequest has f called at the start of each request, without a lock held: it may change the Source, block (the context
// is the request's), or return an error, with which the request is then answered. nil takes it away.
func (s *Source) OnRequest(f func(ctx context.Context, r Request) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onReq = f
}

// FailNext answers the next requests of a verb with these errors, one each, after those that were given before. An error
// that a watch meets once it is open is sent by [Source.Send] or [Source.Disconnect].
func (s *Source) FailNext(verb Verb, errs ...error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[verb] = append(slices.Clip(s.failures[verb]), errs...)
}

// BreakNextList lets the next list that succeeds break with err after the given number of items, or at its end where it
// has fewer.
func (s *Source) BreakNextList(after int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breaks = append(s.breaks, listBreak{after, err})
}

// Bookmark sends a bookmark with the collection's version to every open watch that allows bookmarks.
func (s *Source) Bookmark() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		if w.bookmarks {
			w.send(bookmark(s.version))
		}
	}
}

func bookmark(version uint64) source.Event {
	return source.Event{Type: source.Bookmark, Object: &object.Object{Meta: object.Meta{Version: format(version)}}}
}

// Send puts events into every open watch as they are: an error, an unknown type, an event without a version. The
// collection does not change.
func (s *Source) Send(events ...source.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watches {
		for _, e := range events {
			w.send(e)
		}
	}
}

// Disconnect ends every open watch, behind the events that it has still to deliver: normally with nil, as a server does
// at a watch's timeout, else with err, as a broken connection does.
func (s *Source) Disconnect(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disconnect(err)
}

func (s *Source) disconnect(err error) {
	if err == nil {
		err = io.EOF
	}
	for w := range s.watches {
		w.finish(err)
	}
}

// Expire forgets the history up to now, as a compaction does: watches and exact lists from older versions, and pages
// that continue older lists, are answered with 410 from now on. Open watches are not affected.
func (s *Source) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest, s.history = s.version, nil
}

// StartOver begins the history anew at the version of the empty collection, as a server does whose data was lost or
// restored: every watch is disconnected, and the collection holds exactly the given values (see [Source.Add]), all at
// new, low versions.
func (s *Source) StartOver(values ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.disconnect(nil)
	clear(s.objects)
	s.version, s.oldest, s.history = s.start, s.start, nil
	for _, value := range values {
		s.add(value)
	}
}
