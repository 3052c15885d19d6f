package tarntest_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

// Ensures that a watch starts where its version, its selectors and its initial events say.
func TestSource_Watch_Start(t *testing.T) {
	const state = "ADDED ns1/a@4, ADDED ns2/c@6"
	none := streaming("")
	none.SendInitialEvents = ptr(false)
	quiet := streaming("")
	quiet.AllowWatchBookmarks = false
	web := streaming("")
	web.LabelSelector = "app=web"
	tests := map[string]struct {
		options metav1.ListOptions
		want    string
	}{
		"most recent":        {metav1.ListOptions{}, state},
		"any":                {metav1.ListOptions{ResourceVersion: "0"}, state},
		"the beginning":      {metav1.ListOptions{ResourceVersion: "1"}, "ADDED ns1/a@2, ADDED ns1/b@3, MODIFIED ns1/a@4, DELETED ns1/b@5, ADDED ns2/c@6"},
		"in between":         {metav1.ListOptions{ResourceVersion: "4"}, "DELETED ns1/b@5, ADDED ns2/c@6"},
		"now":                {metav1.ListOptions{ResourceVersion: "6"}, ""},
		"the future":         {metav1.ListOptions{ResourceVersion: "7"}, "ERROR Timeout"},
		"label":              {metav1.ListOptions{ResourceVersion: "1", LabelSelector: "app=web"}, "ADDED ns1/a@2, ADDED ns1/b@3, DELETED ns1/a@4, DELETED ns1/b@5, ADDED ns2/c@6"},
		"other label":        {metav1.ListOptions{ResourceVersion: "1", LabelSelector: "app=db"}, "ADDED ns1/a@4"},
		"namespace":          {metav1.ListOptions{FieldSelector: "metadata.namespace=ns2"}, "ADDED ns2/c@6"},
		"streaming":          {streaming(""), state + ", BOOKMARK @6 end"},
		"streaming any":      {streaming("0"), state + ", BOOKMARK @6 end"},
		"streaming newer":    {streaming("3"), state + ", BOOKMARK @6 end"},
		"streaming future":   {streaming("7"), "ERROR Timeout"},
		"streaming label":    {web, "ADDED ns2/c@6, BOOKMARK @6 end"},
		"without bookmarks":  {quiet, state},
		"no initial events":  {none, ""},
		"timeout of nothing": {metav1.ListOptions{TimeoutSeconds: ptr(int64(0))}, state},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			equal(t, "events", read(t, watch(t, filled(), test.options)), test.want)
		})
	}
}

// Ensures that an event which takes an object out of a selection carries its last matching state at the new version.
func TestSource_Watch_LeavesSelection(t *testing.T) {
	s := filled()
	w := watch(t, s, metav1.ListOptions{ResourceVersion: "3", LabelSelector: "app=web"})
	e, err := w.Next()
	if err != nil {
		t.Fatal(err)
	}
	v, err := e.Object.Decode()
	if err != nil {
		t.Fatal(err)
	}
	got := v.(*Widget)
	equal(t, "type", e.Type, source.Deleted)
	equal(t, "size", got.Size, 1)
	equal(t, "version in the value", got.ResourceVersion, "4")
	equal(t, "label", got.Labels["app"], "web")
}

// Ensures that watches from expired versions are told so by an event and end, and that open ones lose nothing.
func TestSource_Watch_Expired(t *testing.T) {
	s := filled()
	open := watch(t, s, metav1.ListOptions{ResourceVersion: "4"})
	s.Expire()
	late := watch(t, s, metav1.ListOptions{ResourceVersion: "5"})
	e, err := late.Next()
	if err != nil || !apierrors.IsResourceExpired(e.Err) {
		t.Errorf("event %+v, error %v", e, err)
	}
	_, err = late.Next()
	equal(t, "end", err, io.EOF)
	equal(t, "open watch", read(t, open), "DELETED ns1/b@5, ADDED ns2/c@6")
	equal(t, "watch from now", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: "6"})), "")
}

// Ensures that options which a server refuses are refused by the call.
func TestSource_Watch_Refused(t *testing.T) {
	on := filled()
	off := filled(tarntest.WithoutStreamingList())
	tests := map[string]struct {
		s       *tarntest.Source
		options metav1.ListOptions
		is      func(error) bool
	}{
		"no streaming list":     {off, streaming(""), apierrors.IsInvalid},
		"initial, no match":     {on, metav1.ListOptions{SendInitialEvents: ptr(true)}, apierrors.IsInvalid},
		"match, no initial":     {on, metav1.ListOptions{ResourceVersion: "1", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}, apierrors.IsInvalid},
		"version not a number":  {on, metav1.ListOptions{ResourceVersion: "-1"}, apierrors.IsBadRequest},
		"unknown field":         {on, metav1.ListOptions{FieldSelector: "spec.x=1"}, apierrors.IsBadRequest},
		"broken label selector": {on, metav1.ListOptions{LabelSelector: "!"}, apierrors.IsBadRequest},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w, err := test.s.Watch(t.Context(), test.options)
			if err == nil {
				w.Close()
			}
			if !test.is(err) {
				t.Errorf("answered with %v", err)
			}
			_, watches := test.s.Open()
			equal(t, "open watches", watches, 0)
		})
	}
}

// Ensures that Next blocks durably until there is an event, also on a Source that was made outside of the bubble.
func TestWatch_Next_Blocks(t *testing.T) {
	s := filled()
	synctest.Test(t, func(t *testing.T) {
		w, err := s.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "6"})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan source.Event, 1)
		go func() {
			e, _ := w.Next()
			got <- e
		}()
		synctest.Wait()
		equal(t, "events before the change", len(got), 0)
		equal(t, "buffered before the change", w.Buffered(), false)
		s.Add(widget("ns1/new", 1))
		e := <-got
		equal(t, "event", e.Object.Key, "ns1/new")
		w.Close()
	})
}

// Ensures that a blocked Next returns when the watch is closed, when its context ends, when the source disconnects, and
// at the timeout, each with what the contract says.
func TestWatch_Next_Ends(t *testing.T) {
	type env struct {
		s      *tarntest.Source
		w      source.Watch
		cancel context.CancelCauseFunc
	}
	tests := map[string]struct {
		end   func(env)
		want  error // nil: any but EOF
		after time.Duration
	}{
		"closed":          {end: func(e env) { e.w.Close() }},
		"context":         {func(e env) { e.cancel(errCut) }, errCut, 0},
		"normal end":      {func(e env) { e.s.Disconnect(nil) }, io.EOF, 0},
		"broken":          {func(e env) { e.s.Disconnect(errCut) }, errCut, 0},
		"started over":    {func(e env) { e.s.StartOver() }, io.EOF, 0},
		"server timeout":  {func(env) {}, io.EOF, 300 * time.Second},
		"closed too late": {func(e env) { e.s.Disconnect(errCut); e.s.Disconnect(nil) }, errCut, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := filled()
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				w, err := s.Watch(ctx, metav1.ListOptions{ResourceVersion: "6", TimeoutSeconds: ptr(int64(300))})
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				start := time.Now()
				ended := make(chan error, 1)
				go func() {
					_, err := w.Next()
					ended <- err
				}()
				synctest.Wait()
				equal(t, "ended before", len(ended), 0)
				test.end(env{s, w, cancel})
				err = <-ended
				if test.want != nil && err != test.want || err == nil || test.want == nil && err == io.EOF {
					t.Errorf("Next returned %v", err)
				}
				equal(t, "time until the end", time.Since(start), test.after)
				_, again := w.Next()
				equal(t, "Next again", again, err)
				equal(t, "buffered", w.Buffered(), false)
			})
		})
	}
}

// Ensures that a watch which is read too slowly still ends at its timeout, and that its reader finds the rest from the
// version that it has got to.
func TestWatch_Next_TimeoutBeforePending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := filled()
		w, err := s.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "4", TimeoutSeconds: ptr(int64(1))})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		e, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		_, err = w.Next()
		equal(t, "at the timeout", err, io.EOF)
		equal(t, "from there", read(t, watch(t, s, metav1.ListOptions{ResourceVersion: e.Object.Version})), "ADDED ns2/c@6")
	})
}

// Ensures that a closed watch is not counted, gets nothing, and can be closed again.
func TestWatch_Close(t *testing.T) {
	s := filled()
	w := watch(t, s, metav1.ListOptions{})
	_, watches := s.Open()
	equal(t, "open watches", watches, 1)
	w.Close()
	w.Close()
	_, watches = s.Open()
	equal(t, "open watches after Close", watches, 0)
	s.Add(widget("z", 1))
	equal(t, "buffered", w.Buffered(), false)
	if _, err := w.Next(); err == nil || err == io.EOF {
		t.Errorf("Next after Close: %v", err)
	}
}
