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
			"a page of a namespace",
			kube.Request{Resource: typedPods.Resource, Namespace: "prod"},
			metav1.ListOptions{Limit: 5, Continue: "c"},
			"/api/v1/namespaces/prod/pods", pb + "," + jsonMedia,
			url.Values{"limit": {"5"}, "continue": {"c"}},
		},
		{
			"selectors add up",
			kube.Request{Resource: kube.Named("deploy"), LabelSelector: "a=b", FieldSelector: "x=y"},
			metav1.ListOptions{LabelSelector: "c", ResourceVersion: "9", ResourceVersionMatch: "NotOlderThan", Watch: yes},
			"/apis/apps/v1/deployments", jsonMedia,
			url.Values{
				"labelSelector": {"c,a=b"}, "fieldSelector": {"x=y"}, "resourceVersion": {"9"},
				"resourceVersionMatch": {"NotOlderThan"},
			},
		},
		{
			"a namespace means nothing to nodes",
			kube.Request{Resource: kube.Named("no"), Namespace: "prod"},
			metav1.ListOptions{},
			"/api/v1/nodes", jsonMedia,
			url.Values{},
		},
		{
			"metadata of custom resources",
			kube.Request{Resource: kube.Named("wd"), MetadataOnly: true},
			metav1.ListOptions{},
			"/apis/shop.example.com/v1/widgets", pb + as + "," + jsonMedia + as + "," + jsonMedia,
			url.Values{},
		},
		{
			"a codec without protobuf",
			kube.Request{Resource: typedPods.Resource, Codec: codecFor(t, &gadget{})},
			metav1.ListOptions{},
			"/api/v1/pods", jsonMedia,
			url.Values{},
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
		{"prod/good", false, true},
		{"prod/text", false, false},
		{"prod/last", false, true},
		{"labels", true, false},
		{"", true, true},
		{"prod/end", false, true},
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
		{kube.Request{Resource: typedPods.Resource}, "pods", "pods"},
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
