package kube_test

import (
	"context"
	"errors"
	"fmt"
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
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

var typedPods = kube.Request{Resource: kube.Type(scheme.Scheme, &corev1.Pod{})}

// Ensures that a list in either encoding, compressed or not, gives every object with its metadata, its bytes and the
// value they decode into, and the list's own metadata.
func TestSource_List_Encodings(t *testing.T) {
	list := podList(300)
	remaining := int64(12)
	list.Continue, list.RemainingItemCount = "token", &remaining
	s := startServer(t, serveList(t, list))
	for _, compress := range []bool{false, true} {
		client, err := kube.New(&rest.Config{Host: s.URL, DisableCompression: !compress, QPS: -1})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		asJSON := typedPods
		asJSON.Resource = kube.Named("po")
		for enc, req := range map[object.Encoding]kube.Request{object.Protobuf: typedPods, object.JSON: asJSON} {
			src, err := client.Source(req)
			if err != nil {
				t.Fatal(err)
			}
			objs, meta := readAll(t, src, metav1.ListOptions{})
			want := source.ListMeta{Version: "77", Continue: "token", Remaining: 12, GVK: corev1.SchemeGroupVersion.WithKind("PodList")}
			if meta != want {
				t.Errorf("%s: list says %+v, want %+v", enc, meta, want)
			}
			if len(objs) != len(list.Items) {
				t.Fatalf("%s: %d objects, want %d", enc, len(objs), len(list.Items))
			}
			for i, o := range objs {
				pod := &list.Items[i]
				if o.Encoding != enc || o.Err != nil || o.Key != "prod/"+pod.Name || o.Version != pod.ResourceVersion ||
					o.Labels.Get("app") != pod.Name || len(o.Raw) == 0 || cap(o.Raw) > len(o.Raw)+len(o.Raw)/8+16 {
					t.Fatalf("%s: item %d is %+v", enc, i, o.Meta)
				}
			}
			v, err := objs[7].Decode()
			if err != nil {
				t.Fatal(err)
			}
			if p, ok := v.(*corev1.Pod); ok {
				if diff := cmp.Diff(&list.Items[7], p); diff != "" {
					t.Errorf("decoded (-want +got):\n%s", diff)
				}
			} else if u := fmt.Sprint(v); !strings.Contains(u, "kind:Pod") || !strings.Contains(u, "nodeName:n7") {
				t.Errorf("decoded %s", u)
			}
		}
	}
}

// Ensures that a request asks the server for the right path, selectors, options and encodings.
func TestSource_List_Request(t *testing.T) {
	var path, accept string
	var query url.Values
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		path, query, accept = r.URL.Path, r.URL.Query(), r.Header.Get("Accept")
		w.Header().Set("Content-Type", jsonMedia)
		_, _ = io.WriteString(w, `{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`)
	})
	offerWidgets(s)
	const pb, as = protobufMedia, ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	yes := true
	for _, c := range []struct {
		name         string
		req          kube.Request
		options      metav1.ListOptions
		path, accept string
		query        url.Values
	}{
		{"all pods", typedPods, metav1.ListOptions{}, "/api/v1/pods", pb + "," + jsonMedia, url.Values{}},
		{
			"a page of a namespace", kube.Request{Resource: typedPods.Resource, Namespace: "prod"},
			metav1.ListOptions{Limit: 5, Continue: "c"}, "/api/v1/namespaces/prod/pods", pb + "," + jsonMedia,
			url.Values{"limit": {"5"}, "continue": {"c"}},
		},
		{
			"selectors add up", kube.Request{Resource: kube.Named("deploy"), LabelSelector: "a=b", FieldSelector: "x=y"},
			metav1.ListOptions{LabelSelector: "c", ResourceVersion: "9", ResourceVersionMatch: "NotOlderThan", Watch: yes},
			"/apis/apps/v1/deployments", jsonMedia,
			url.Values{
				"labelSelector": {"c,a=b"}, "fieldSelector": {"x=y"}, "resourceVersion": {"9"},
				"resourceVersionMatch": {"NotOlderThan"},
			},
		},
		{
			"a namespace means nothing to nodes", kube.Request{Resource: kube.Named("no"), Namespace: "prod"},
			metav1.ListOptions{}, "/api/v1/nodes", jsonMedia, url.Values{},
		},
		{
			"metadata of custom resources", kube.Request{Resource: kube.Named("wd"), MetadataOnly: true}, metav1.ListOptions{},
			"/apis/shop.example.com/v1/widgets", pb + as + "," + jsonMedia + as + "," + jsonMedia, url.Values{},
		},
		{
			"a codec without protobuf", kube.Request{Resource: typedPods.Resource, Codec: codecFor(t, &gadget{})},
			metav1.ListOptions{}, "/api/v1/pods", jsonMedia, url.Values{},
		},
	} {
		readAll(t, newSource(t, s, c.req), c.options)
		if path != c.path || accept != c.accept || !cmp.Equal(query, c.query) {
			t.Errorf("%s:\n%s %s\n%s, want\n%s %s\n%s", c.name, path, query.Encode(), accept, c.path, c.query.Encode(), c.accept)
		}
	}
}

// Ensures that a list with metadata only gives objects of the resource's kind that decode into partial ones.
func TestSource_List_MetadataOnly(t *testing.T) {
	list := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
	list.ResourceVersion = "5"
	for _, p := range podList(3).Items {
		list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
	}
	src := newSource(t, startServer(t, serveList(t, list)), kube.Request{Resource: kube.Named("po"), MetadataOnly: true})
	objs, meta := readAll(t, src, metav1.ListOptions{})
	if len(objs) != 3 || meta.Version != "5" || objs[0].Encoding != object.Protobuf {
		t.Fatalf("%d objects, %+v", len(objs), meta)
	}
	v, err := objs[1].Decode()
	if err != nil || !cmp.Equal(&list.Items[1], v) {
		t.Errorf("decoded: %v\n%s", err, cmp.Diff(&list.Items[1], v))
	}
}

// Ensures that an item that does not fit its Go type, or has no readable metadata, is that item's error and no other's:
// case 39.
func TestSource_List_BadItems(t *testing.T) {
	body := `{"kind":"WidgetList","apiVersion":"shop.example.com/v1","metadata":{"resourceVersion":"7"},"items":[
		{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"good","namespace":"prod"},"spec":{"size":1}},
		{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"text","namespace":"prod"},"spec":{"size":"1"}},
		{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"twice","name":"last","namespace":"prod"},"spec":{"size":2}},
		{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"labels","labels":{"a":5}},"spec":{"size":3}},
		{"kind":"Widget","apiVersion":"shop.example.com/v1","spec":{"size":4}},
		{"kind":"Widget","apiVersion":"shop.example.com/v1","metadata":{"name":"end","namespace":"prod"},"spec":{"size":5}}]}`
	s := startServer(t, serveBytes(200, jsonMedia, []byte(body)))
	offerWidgets(s)
	src := newSource(t, s, kube.Request{Resource: kube.Named("wd"), Codec: codecFor(t, &gadget{})})
	objs, _ := readAll(t, src, metav1.ListOptions{})
	for i, want := range []struct {
		key           string
		bad, decodeOK bool
	}{
		{"prod/good", false, true}, {"prod/text", false, false}, {"prod/last", false, true},
		{"labels", true, false}, {"", true, true}, {"prod/end", false, true},
	} {
		o := objs[i]
		v, err := o.Decode()
		if o.Key != want.key || (o.Err != nil) != want.bad || (err == nil) != want.decodeOK {
			t.Errorf("item %d: key %q, Err %v, decoded %v, %v, want %+v", i, o.Key, o.Err, v, err, want)
		}
		if err != nil && !strings.Contains(err.Error(), o.Key) {
			t.Errorf("item %d: error %q does not name %s", i, err, o.Key)
		}
	}
}

// Ensures that an answer that is no list is an error that says what it is: case 21.
func TestSource_List_NotAList(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		is                error
		says              string
	}{
		{jsonMedia + ";as=Table;g=meta.k8s.io;v=v1", `{"kind":"Table"}`, source.ErrTable, ""},
		{jsonMedia, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{},"rows":[]}`, source.ErrTable, ""},
		{jsonMedia, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`, nil, "Status"},
		{"text/html; charset=utf-8", "<html>log in</html>", nil, "text/html"},
		{"cbor/;", "", nil, "content type"},
		{jsonMedia, "", nil, "EOF"},
	} {
		src := newSource(t, startServer(t, serveBytes(200, c.contentType, []byte(c.body))), typedPods)
		l, err := src.List(context.Background(), metav1.ListOptions{})
		if err == nil {
			_, err = l.Next()
			if _, again := l.Next(); again != err {
				t.Errorf("%s: then %v", c.body, again)
			}
			l.Close()
		}
		if err == nil || err == io.EOF || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", c.body, err)
		}
	}
}

// Ensures that a list whose connection breaks, at any place, never looks complete.
func TestSource_List_CutOff(t *testing.T) {
	for _, media := range []string{protobufMedia, jsonMedia} {
		body := envelope(t, media, podList(3))
		if media == jsonMedia {
			body = body[:len(body)-1] // without the newline it is complete
		}
		req := typedPods
		for cut := 1; cut < len(body); cut += 1 + cut/20 {
			s := startServer(t, serveBytes(200, media, body[:cut]))
			l, err := newSource(t, s, req).List(context.Background(), metav1.ListOptions{})
			for err == nil {
				_, err = l.Next()
			}
			if err == io.EOF {
				t.Errorf("%s cut after %d of %d bytes looks complete", media, cut, len(body))
			}
			l.Close()
			s.Close()
		}
	}
}

// Ensures that the context ends the reading of a list with its cause, and Close with an error of its own.
func TestSource_List_Ends(t *testing.T) {
	body := envelope(t, protobufMedia, podList(2))
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", protobufMedia)
		_, _ = w.Write(body[:len(body)-10])
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(context.Background())
	l, err := newSource(t, s, typedPods).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if o, err := l.Next(); err != nil || o.Key != "prod/web-0" {
		t.Fatalf("first item: %v, %v", o, err)
	}
	why := errors.New("enough")
	cancel(why)
	if _, err := l.Next(); err != why {
		t.Errorf("context over: %v, want %v", err, why)
	}
	l.Close()
	if l, err = newSource(t, s, typedPods).List(context.Background(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if _, err := l.Next(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// Ensures that a source is named as it is on the server, once that is known.
func TestSource_Describe(t *testing.T) {
	s := startServer(t, serveList(t, podList(0)))
	for _, c := range []struct {
		req           kube.Request
		before, after string
	}{
		{kube.Request{Resource: kube.Named("po"), Namespace: "prod"}, `po in "prod"`, `pods in "prod"`},
		{kube.Request{Resource: typedPods.Resource}, "Pod", "pods"},
		{kube.Request{Resource: kube.GVR(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})}, "deployments.v1.apps", "deployments.apps"},
		{kube.Request{Resource: kube.Named("no"), Namespace: "prod"}, `no in "prod"`, "nodes"},
	} {
		src := newSource(t, s, c.req)
		if got := src.Describe(); got != c.before {
			t.Errorf("before: %s, want %s", got, c.before)
		}
		readAll(t, src, metav1.ListOptions{})
		if got := src.Describe(); got != c.after {
			t.Errorf("after: %s, want %s", got, c.after)
		}
		if !src.SupportsStreamingList() {
			t.Error("no streaming lists")
		}
	}
}

// Ensures that refusals of the server come out as the API's typed errors, whatever their encoding, and are not retried.
func TestSource_List_Refused(t *testing.T) {
	refusal := func(code int32, reason metav1.StatusReason, details *metav1.StatusDetails) metav1.Status {
		return metav1.Status{Status: "Failure", Code: code, Reason: reason, Message: "no", Details: details}
	}
	for _, c := range []struct {
		name string
		s    metav1.Status
		is   func(error) bool
	}{
		{"forbidden", refusal(403, metav1.StatusReasonForbidden, nil), apierrors.IsForbidden},
		{"unauthorized", refusal(401, metav1.StatusReasonUnauthorized, nil), apierrors.IsUnauthorized},
		{"not found", refusal(404, metav1.StatusReasonNotFound, nil), apierrors.IsNotFound},
		{"expired", refusal(410, metav1.StatusReasonExpired, nil), apierrors.IsResourceExpired},
		{"gone", refusal(410, metav1.StatusReasonGone, nil), apierrors.IsGone},
		{"invalid", refusal(422, metav1.StatusReasonInvalid, nil), apierrors.IsInvalid},
		{"internal", refusal(500, metav1.StatusReasonInternalError, nil), apierrors.IsInternalError},
		{
			"too large", refusal(504, metav1.StatusReasonTimeout, &metav1.StatusDetails{
				Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}, RetryAfterSeconds: 1,
			}),
			func(err error) bool {
				return apierrors.IsTimeout(err) && apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
			},
		},
	} {
		for _, media := range []string{protobufMedia, jsonMedia} {
			requests := 0
			serve := serveBytes(int(c.s.Code), media, status(t, media, c.s))
			src := newSource(t, startServer(t, func(w http.ResponseWriter, r *http.Request) { requests++; serve(w, r) }), typedPods)
			_, err := src.List(context.Background(), metav1.ListOptions{})
			_, watchErr := src.Watch(context.Background(), metav1.ListOptions{})
			if !c.is(err) || !c.is(watchErr) || requests != 2 {
				t.Errorf("%s as %s: List %v, Watch %v, %d requests", c.name, media, err, watchErr, requests)
			}
		}
	}
}

// Ensures that Retry-After arrives in the error, from the header or the body, and that nobody waits for it here.
func TestSource_List_RetryAfter(t *testing.T) {
	told := status(t, jsonMedia, metav1.Status{
		Status: "Failure", Code: 429, Reason: metav1.StatusReasonTooManyRequests, Details: &metav1.StatusDetails{RetryAfterSeconds: 9},
	})
	for _, c := range []struct {
		code              int
		contentType, body string
		want              int
	}{
		{429, jsonMedia, string(told), 9},
		{429, jsonMedia, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429,"reason":"TooManyRequests"}`, 17},
		{429, "text/plain", "Too many requests, please try again later.", 17},
		{503, "text/plain", "starting", 17},
	} {
		requests := 0
		serve := serveBytes(c.code, c.contentType, []byte(c.body))
		src := newSource(t, startServer(t, func(w http.ResponseWriter, r *http.Request) {
			requests++
			w.Header().Set("Retry-After", "17")
			serve(w, r)
		}), typedPods)
		_, err := src.List(context.Background(), metav1.ListOptions{})
		var se *apierrors.StatusError
		if !errors.As(err, &se) || int(se.ErrStatus.Code) != c.code || se.ErrStatus.Details == nil ||
			int(se.ErrStatus.Details.RetryAfterSeconds) != c.want || requests != 1 {
			t.Errorf("%d %s: %#v after %d requests, want %d seconds", c.code, c.body, err, requests, c.want)
		}
	}
}

// Ensures that a proxy's page becomes one line that says so, and keeps the status code's meaning.
func TestSource_List_ProxyPage(t *testing.T) {
	page := "<!DOCTYPE html><html><head><title>502 Bad\n Gateway</title></head><body>" + strings.Repeat("x", 5000) + "</body></html>"
	src := newSource(t, startServer(t, serveBytes(502, "text/html", []byte(page))), typedPods)
	_, err := src.List(context.Background(), metav1.ListOptions{})
	want := `502 Bad Gateway: a web page ("502 Bad Gateway") instead of an answer from the Kubernetes API: is there a proxy in between?`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	src = newSource(t, startServer(t, serveBytes(403, "text/html", []byte("<p>no</p>"))), typedPods)
	if _, err = src.List(context.Background(), metav1.ListOptions{}); !apierrors.IsForbidden(err) || len(err.Error()) > 300 {
		t.Errorf("403 page: %v", err)
	}
}

// Ensures that warnings of the server reach the handler of the configuration, and its user agent the server.
func TestClient_New_KeepsConfig(t *testing.T) {
	agents := make(chan string, 1)
	list := serveList(t, podList(1))
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		w.Header().Set("Warning", `299 - "pods are going away"`)
		list(w, r)
	})
	warnings := &warned{}
	cfg := &rest.Config{Host: s.URL, UserAgent: "me/1", WarningHandler: warnings}
	client, err := kube.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	src, err := client.Source(typedPods)
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, src, metav1.ListOptions{})
	if got := <-agents; got != "me/1" || len(warnings.texts) != 1 || warnings.texts[0] != "pods are going away" {
		t.Errorf("agent %q, warnings %q", got, warnings.texts)
	}
	if cfg.NegotiatedSerializer != nil {
		t.Error("the caller's configuration was changed")
	}
	if _, err := kube.New(&rest.Config{Host: "::"}); err == nil {
		t.Error("a client for no host")
	}
}

type warned struct{ texts []string }

func (w *warned) HandleWarningHeader(_ int, _ string, text string) { w.texts = append(w.texts, text) }
