package tarntest_test

import (
	"context"
	"io"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

// Ensures that faults answer the next requests of their verb, in order, and no other.
func TestSource_FailNext(t *testing.T) {
	s := filled()
	first, second := apierrors.NewTooManyRequests("busy", 3), apierrors.NewInternalError(errCut)
	s.FailNext(tarntest.ListVerb, first)
	s.FailNext(tarntest.ListVerb, second)
	s.FailNext(tarntest.WatchVerb, errCut)
	equal(t, "first", listError(t, s, metav1.ListOptions{}), error(first))
	_, err := s.Watch(t.Context(), metav1.ListOptions{})
	equal(t, "watch", err, errCut)
	equal(t, "second", listError(t, s, metav1.ListOptions{}), error(second))
	list(t, s, metav1.ListOptions{})
	watch(t, s, metav1.ListOptions{})
}

// Ensures that requests are recorded per verb with their options, failed ones too.
func TestSource_Requests(t *testing.T) {
	s := filled()
	s.FailNext(tarntest.ListVerb, errCut)
	listError(t, s, metav1.ListOptions{ResourceVersion: "0"})
	list(t, s, metav1.ListOptions{ResourceVersion: "3"})
	watch(t, s, streaming(""))
	lists, watches := s.Requests(tarntest.ListVerb), s.Requests(tarntest.WatchVerb)
	if len(lists) != 2 || len(watches) != 1 {
		t.Fatalf("%d lists and %d watches", len(lists), len(watches))
	}
	equal(t, "versions", lists[0].ResourceVersion+lists[1].ResourceVersion, "03")
	equal(t, "initial events", *watches[0].SendInitialEvents, true)
}

// Ensures that the hook sees each request before it is answered, may change the collection, and may refuse; and that an
// ended context comes next.
func TestSource_OnRequest(t *testing.T) {
	s := filled()
	s.OnRequest(func(ctx context.Context, r tarntest.Request) error {
		if r.Verb == tarntest.WatchVerb {
			return errCut
		}
		s.Add(widget("z", 1))
		return nil
	})
	items, _ := list(t, s, metav1.ListOptions{})
	equal(t, "items", items, "ns1/a@4 ns2/c@6 z@7")
	_, err := s.Watch(t.Context(), metav1.ListOptions{})
	equal(t, "watch", err, errCut)
	s.OnRequest(nil)
	watch(t, s, metav1.ListOptions{})

	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrUnexpectedEOF)
	_, err = s.List(ctx, metav1.ListOptions{})
	equal(t, "list with an ended context", err, io.ErrUnexpectedEOF)
	_, err = s.Watch(ctx, metav1.ListOptions{})
	equal(t, "watch with an ended context", err, io.ErrUnexpectedEOF)
}

// Ensures that bookmarks carry the collection's version, other collections' changes included, and reach only watches
// that allow them.
func TestSource_Bookmark(t *testing.T) {
	s := filled()
	with := watch(t, s, metav1.ListOptions{ResourceVersion: "6", AllowWatchBookmarks: true})
	without := watch(t, s, metav1.ListOptions{ResourceVersion: "6"})
	s.SetVersion(100)
	s.Bookmark()
	s.Add(widget("z", 1))
	equal(t, "with", read(t, with), "BOOKMARK @100, ADDED z@101")
	equal(t, "without", read(t, without), "ADDED z@101")
	equal(t, "a watch that starts later", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "6", AllowWatchBookmarks: true})), "ADDED z@101")
}

// Ensures that events of any kind can be put into the open watches, and only there.
func TestSource_Send(t *testing.T) {
	s := filled()
	w := watch(t, s, metav1.ListOptions{ResourceVersion: "6"})
	s.Send(
		source.Event{Type: source.Error, Err: apierrors.NewTooManyRequests("busy", 1)},
		source.Event{Type: source.Modified, Object: &object.Object{Meta: object.Meta{Key: "a"}}},
	)
	equal(t, "events", read(t, w), "ERROR TooManyRequests, MODIFIED a@")
	equal(t, "version", s.Version(), "6")
	equal(t, "a watch that starts later", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "6"})), "")
}

// Ensures that a disconnected watch delivers what it had received, nothing that comes later, and that a watch from the
// last version finds the rest.
func TestSource_Disconnect(t *testing.T) {
	s := filled()
	w := watch(t, s, metav1.ListOptions{ResourceVersion: "4"})
	s.Disconnect(errCut)
	s.Add(widget("z", 1))
	s.Bookmark()
	equal(t, "events", read(t, w), "DELETED ns1/b@5, ADDED ns2/c@6")
	_, err := w.Next()
	equal(t, "end", err, errCut)
	equal(t, "the next watch", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "6"})), "ADDED z@7")
}

// Ensures that a history which starts over has low versions, other uids and only the given objects, and that versions of
// the earlier one lie in its future.
func TestSource_StartOver(t *testing.T) {
	s := filled()
	uid := s.Objects()[0].UID
	s.StartOver(widget("ns1/a", 9))
	items, meta := list(t, s, metav1.ListOptions{})
	equal(t, "items", items, "ns1/a@2")
	equal(t, "version", meta.Version, "2")
	if s.Objects()[0].UID == uid {
		t.Error("the uid of the earlier object came back")
	}
	equal(t, "history", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "1"})), "ADDED ns1/a@2")
	equal(t, "watch from an earlier version", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "6"})), "ERROR Timeout")
	if err := listError(t, s, metav1.ListOptions{ResourceVersion: "6"}); !isTooLarge(err) {
		t.Errorf("list at an earlier version: %v", err)
	}
}

// Ensures that a mirror which lists and then watches, through pages, disconnects and concurrent changes, ends up equal to
// the collection.
func TestSource_Concurrent(t *testing.T) {
	s := newSource()
	var writers sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		writers.Go(func() {
			for i := range 200 {
				s.Add(widget(name, i))
				s.Update(widget(name, i+1))
				if i%50 == 0 {
					s.Disconnect(nil)
				}
				s.Delete(name)
			}
			s.Add(widget(name, 0))
		})
	}
	mirror := map[string]string{}
	options := metav1.ListOptions{Limit: 2}
	for {
		l, err := s.List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for o, err := l.Next(); err != io.EOF; o, err = l.Next() {
			mirror[o.Key] = o.Version
		}
		l.Close()
		version := l.Meta().Version
		if options.Continue = l.Meta().Continue; options.Continue == "" {
			options = metav1.ListOptions{ResourceVersion: version}
			break
		}
	}
	final := make(chan string, 1)
	go func() {
		writers.Wait()
		final <- s.Add(widget("last", 0)).Version
	}()
	for mirror["last"] == "" {
		w := watch(t, s, options)
		for {
			e, err := w.Next()
			if err != nil {
				break
			}
			switch {
			case e.Type == source.Added && mirror[e.Object.Key] != "",
				e.Type != source.Added && mirror[e.Object.Key] == "":
				t.Fatalf("%s of %s, mirrored at %q", e.Type, e.Object.Key, mirror[e.Object.Key])
			case e.Type == source.Deleted:
				delete(mirror, e.Object.Key)
			default:
				mirror[e.Object.Key] = e.Object.Version
			}
			options.ResourceVersion = e.Object.Version
			if e.Object.Key == "last" {
				break
			}
		}
	}
	equal(t, "last version", mirror["last"], <-final)
	for _, o := range s.Objects() {
		equal(t, o.Key, mirror[o.Key], o.Version)
		delete(mirror, o.Key)
	}
	equal(t, "objects too many", len(mirror), 0)
}
