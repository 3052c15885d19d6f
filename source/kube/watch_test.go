package kube_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

// byMedia are requests for pods that the test server answers in either encoding.
var byMedia = map[string]kube.Request{protobufMedia: typedPods, jsonMedia: {Resource: kube.Named("po")}}

func openWatch(t testing.TB, lw source.ListerWatcher) source.Watch {
	t.Helper()
	w, err := lw.Watch(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// Ensures that each type of event arrives as what it is, in both encodings, and that the stream's end is an EOF.
func TestWatch_Next_Events(t *testing.T) {
	initialEnd := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	initialEnd.ResourceVersion = "20"
	initialEnd.Annotations = map[string]string{"k8s.io/initial-events-end": "true"}
	bookmark := &corev1.Pod{TypeMeta: initialEnd.TypeMeta}
	bookmark.ResourceVersion = "30"
	gone := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   "Failure", Code: 410, Reason: metav1.StatusReasonExpired, Message: "too old",
	}
	for media, req := range byMedia {
		body := frame(t, media, "ADDED", newPod("a", "11"))
		body = append(body, frame(t, media, "BOOKMARK", initialEnd)...)
		body = append(body, frame(t, media, "MODIFIED", newPod("a", "21"))...)
		body = append(body, frame(t, media, "DELETED", newPod("a", "22"))...)
		body = append(body, frame(t, media, "BOOKMARK", bookmark)...)
		body = append(body, frame(t, media, "RENAMED", newPod("a", "31"))...)
		body = append(body, frame(t, media, "ERROR", gone)...)
		w := openWatch(t, newSource(t, startServer(t, serveBytes(200, media, body)), req))
		pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
		for _, want := range []struct {
			typ          source.EventType
			key, version string
			end          bool
		}{
			{source.Added, "prod/a", "11", false},
			{source.Bookmark, "", "20", true},
			{source.Modified, "prod/a", "21", false},
			{source.Deleted, "prod/a", "22", false},
			{source.Bookmark, "", "30", false},
		} {
			e, err := w.Next()
			if err != nil || e.Type != want.typ || e.Err != nil || e.Object.Key != want.key || e.Object.Version != want.version ||
				e.InitialEventsEnd != want.end || e.GVK != pod || e.Name != "" {
				t.Fatalf("%s: %+v, %v, want %+v", media, e, err, want)
			}
			if want.typ == source.Deleted {
				v, err := e.Object.Decode()
				if err != nil || e.Object.Labels.Get("app") != "a" {
					t.Errorf("%s: decoded %v, %v", media, v, err)
				}
				wantPod := newPod("a", "22")
				wantPod.TypeMeta = metav1.TypeMeta{}
				if p, ok := v.(*corev1.Pod); ok && !cmp.Equal(wantPod, p) {
					t.Errorf("%s: decoded (-want +got):\n%s", media, cmp.Diff(wantPod, p))
				}
			}
		}
		if e, err := w.Next(); err != nil || e.Type != source.Unknown || e.Name != "RENAMED" {
			t.Errorf("%s: unknown event: %+v, %v", media, e, err)
		}
		e, err := w.Next()
		var se *apierrors.StatusError
		if err != nil || e.Type != source.Error || !apierrors.IsResourceExpired(e.Err) || !errors.As(e.Err, &se) || e.Err.Error() != "too old" {
			t.Errorf("%s: error event: %+v, %v", media, e, err)
		}
		if _, err := w.Next(); err != io.EOF {
			t.Errorf("%s: end: %v", media, err)
		}
	}
}

// Ensures that a watch asks the server for what the options say.
func TestSource_Watch_Request(t *testing.T) {
	var query url.Values
	var accept string
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		query, accept = r.URL.Query(), r.Header.Get("Accept")
		w.Header().Set("Content-Type", jsonMedia)
	})
	yes, timeout := true, int64(300)
	src := newSource(t, s, kube.Request{Resource: typedPods.Resource, MetadataOnly: true, LabelSelector: "a=b"})
	w, err := src.Watch(context.Background(), metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: "NotOlderThan", AllowWatchBookmarks: true, TimeoutSeconds: &timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := url.Values{
		"watch": {"true"}, "sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"},
		"allowWatchBookmarks": {"true"}, "timeoutSeconds": {"300"}, "labelSelector": {"a=b"},
	}
	const as = ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	if wantAccept := protobufMedia + as + "," + jsonMedia + as + "," + jsonMedia; !cmp.Equal(query, want) || accept != wantAccept {
		t.Errorf("%v %s, want %v %s", query, accept, want, wantAccept)
	}
}

// Ensures that an event with something else than the watched objects is reported and the next one still comes: cases 21
// and 25.
func TestWatch_Next_BadEvents(t *testing.T) {
	body := `{"type":"ADDED","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"5"},"rows":[]}}
{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{}}}
{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":[]}}}
{"type":"ADDED"}
{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":5}}
{"type":"ERROR","object":{"kind":"Status","code":"x"}}
{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","metadata":{"name":"b"}}}
`
	w := openWatch(t, newSource(t, startServer(t, serveBytes(200, jsonMedia, []byte(body))), byMedia[jsonMedia]))
	next := func() source.Event {
		e, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if e := next(); e.Type != source.Added || e.Err != source.ErrTable || e.Object != nil {
		t.Errorf("table: %+v", e)
	}
	if e := next(); e.Err == nil || e.Object != nil || !strings.Contains(e.Err.Error(), "without a name") {
		t.Errorf("no name: %+v", e)
	}
	if e := next(); e.Err != nil || e.Object == nil || e.Object.Key != "a" {
		t.Errorf("labels that unstructured objects tolerate: %+v", e)
	}
	if e := next(); e.Err == nil || e.Object != nil {
		t.Errorf("no object: %+v", e)
	}
	if e := next(); e.Type != source.Bookmark || e.Err == nil {
		t.Errorf("bad bookmark: %+v", e)
	}
	if e := next(); e.Type != source.Error || e.Err == nil {
		t.Errorf("bad error: %+v", e)
	}
	if e := next(); e.Err != nil || e.GVK.Kind != "Node" || e.Object.Key != "b" {
		t.Errorf("another kind: %+v", e)
	}
	if _, err := w.Next(); err != io.EOF {
		t.Errorf("end: %v", err)
	}
}

// Ensures that events with metadata only are of the resource's own kind.
func TestWatch_Next_MetadataOnly(t *testing.T) {
	partial := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: newPod("a", "3").ObjectMeta,
	}
	for _, media := range []string{protobufMedia, jsonMedia} {
		s := startServer(t, serveBytes(200, media+";stream=watch", frame(t, media, "ADDED", partial)))
		e, err := openWatch(t, newSource(t, s, kube.Request{Resource: kube.Named("po"), MetadataOnly: true})).Next()
		if err != nil || e.GVK != (schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) || e.Object.Key != "prod/a" {
			t.Fatalf("%s: %+v, %v", media, e, err)
		}
		if v, err := e.Object.Decode(); err != nil || v.(*metav1.PartialObjectMetadata).Name != "a" {
			t.Errorf("%s: decoded %v, %v", media, v, err)
		}
	}
}

// Ensures that Buffered tells whole events that have arrived from those that have not.
func TestWatch_Buffered(t *testing.T) {
	for media, req := range byMedia {
		first := frame(t, media, "ADDED", newPod("a", "1"))
		second := frame(t, media, "ADDED", newPod("b", "2"))
		more := make(chan struct{})
		s := startServer(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			_, _ = w.Write(append(append(append([]byte{}, first...), second...), first[:20]...))
			_ = http.NewResponseController(w).Flush()
			<-more
			_, _ = w.Write(first[20:])
		})
		w := openWatch(t, newSource(t, s, req))
		if w.Buffered() {
			t.Errorf("%s: buffered before the first", media)
		}
		for i, want := range []bool{true, false} {
			if _, err := w.Next(); err != nil || w.Buffered() != want {
				t.Errorf("%s: after event %d: buffered is %v, want %v (%v)", media, i, !want, want, err)
			}
		}
		close(more)
		if e, err := w.Next(); err != nil || e.Object.Key != "prod/a" {
			t.Errorf("%s: third: %+v, %v", media, e, err)
		}
	}
}

// Ensures that a stream that is cut off inside an event is not taken for one that ended.
func TestWatch_Next_CutOff(t *testing.T) {
	for media, req := range byMedia {
		body := frame(t, media, "ADDED", newPod("a", "1"))
		body = append(body, body[:len(body)-7]...)
		w := openWatch(t, newSource(t, startServer(t, serveBytes(200, media, body)), req))
		if _, err := w.Next(); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", media, err)
		}
	}
}

// silent answers a watch with a head and then says nothing.
func silent(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", protobufMedia)
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// Ensures that Close, and the end of the context, end a Next that waits.
func TestWatch_Next_Unblocks(t *testing.T) {
	src := newSource(t, startServer(t, silent), typedPods)
	why := errors.New("enough")
	for name, end := range map[string]func(source.Watch, context.CancelCauseFunc) error{
		"close":   func(w source.Watch, _ context.CancelCauseFunc) error { w.Close(); return net.ErrClosed },
		"context": func(_ source.Watch, cancel context.CancelCauseFunc) error { cancel(why); return why },
	} {
		ctx, cancel := context.WithCancelCause(context.Background())
		w, err := src.Watch(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan error)
		go func() {
			_, err := w.Next()
			got <- err
		}()
		want := end(w, cancel)
		if err := <-got; !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
		if _, err := w.Next(); !errors.Is(err, want) {
			t.Errorf("%s: then %v", name, err)
		}
		for range 2 {
			if err := w.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
		cancel(nil)
	}
}

// Ensures that a watch that is not answered ends with its context.
func TestSource_Watch_ContextEndsCall(t *testing.T) {
	asked := make(chan struct{})
	src := newSource(t, startServer(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}), typedPods)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	go func() {
		<-asked
		cancel(why)
	}()
	if _, err := src.Watch(ctx, metav1.ListOptions{}); err != why {
		t.Errorf("%v, want %v", err, why)
	}
}

// Ensures that a watch's objects do not share memory that a later event overwrites.
func TestWatch_Next_ObjectsAreKept(t *testing.T) {
	for media, req := range byMedia {
		var body []byte
		for _, name := range []string{"a", "b", "c"} {
			body = append(body, frame(t, media, "ADDED", newPod(name, "1"))...)
		}
		w := openWatch(t, newSource(t, startServer(t, serveBytes(200, media, body)), req))
		var kept []*object.Object
		for range 3 {
			e, err := w.Next()
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, e.Object)
		}
		for i, name := range []string{"a", "b", "c"} {
			v, err := kept[i].Decode()
			if err != nil || kept[i].Key != "prod/"+name {
				t.Fatalf("%s: %v, %v", media, kept[i].Meta, err)
			}
			if o := v.(metav1.Object); o.GetName() != name {
				t.Errorf("%s: decoded %s, want %s", media, o.GetName(), name)
			}
		}
	}
}
