package kube_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
)

// canned is a transport that answers discovery with pods and all else with the bytes.
type canned struct {
	contentType string
	body        []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	body, contentType := string(c.body), c.contentType
	switch r.URL.Path {
	case "/api":
		body, contentType = `{"kind":"APIVersions","versions":["v1"]}`, jsonMedia
	case "/apis":
		body, contentType = `{"kind":"APIGroupList","groups":[]}`, jsonMedia
	case "/api/v1":
		body = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["list","watch"]}]}`
		contentType = jsonMedia
	}
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {contentType}}, Request: r,
		Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// CloseIdleConnections is what kube.Client.Close looks for.
func (canned) CloseIdleConnections() {}

// cannedSource returns a source whose server always answers with the bytes.
func cannedSource(t testing.TB, media string, body []byte, req kube.Request) *kube.Source {
	t.Helper()
	client, err := kube.New(&rest.Config{Host: "http://unused", Transport: canned{media, body}, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	src, err := client.Source(req)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// checkObject panics or fails where an object made of arbitrary bytes is not usable, or marked as bad.
func checkObject(t *testing.T, o *object.Object) {
	t.Helper()
	if o.Key == "" && o.Err == nil {
		t.Error("an object without key and error")
	}
	v, err := o.Decode()
	if err == nil && o.Err == nil {
		if _, err := o.Codec.Meta(v); err != nil {
			t.Errorf("decoded value has no metadata: %v", err)
		}
		o.Codec.Copy(v)
	}
}

// Ensures that no answer to a list makes the reader panic or go on for ever.
func FuzzList(f *testing.F) {
	for _, media := range []string{protobufMedia, jsonMedia} {
		body := envelope(f, media, podList(2))
		f.Add(media == jsonMedia, body)
		f.Add(media == jsonMedia, body[:len(body)/2])
	}
	f.Add(true, []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","rows":[]}`))
	f.Fuzz(func(t *testing.T, json bool, body []byte) {
		media, req := protobufMedia, typedPods
		if json {
			media, req.Resource = jsonMedia, kube.Named("pods")
		}
		l, err := cannedSource(t, media, body, req).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return
		}
		defer l.Close()
		for range len(body) + 1 {
			o, err := l.Next()
			if err != nil {
				l.Meta()
				return
			}
			checkObject(t, o)
		}
		t.Error("more items than bytes")
	})
}

// Ensures that no stream makes a watch panic or go on for ever.
func FuzzWatch(f *testing.F) {
	for _, media := range []string{protobufMedia, jsonMedia} {
		body := frame(f, media, "ADDED", newPod("a", "1"))
		body = append(body, frame(f, media, "BOOKMARK", newPod("a", "2"))...)
		f.Add(media == jsonMedia, body)
		f.Add(media == jsonMedia, body[:len(body)-9])
		s := &metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 410}
		f.Add(media == jsonMedia, frame(f, media, "ERROR", s))
	}
	f.Fuzz(func(t *testing.T, json bool, body []byte) {
		media, req := protobufMedia, typedPods
		if json {
			media, req.Resource = jsonMedia, kube.Named("pods")
		}
		w, err := cannedSource(t, media, body, req).Watch(context.Background(), metav1.ListOptions{})
		if err != nil {
			return
		}
		defer w.Close()
		for range len(body) + 1 {
			e, err := w.Next()
			w.Buffered()
			if err != nil {
				return
			}
			if e.Object == nil && e.Err == nil && e.Name == "" {
				t.Errorf("an event of nothing: %+v", e)
			}
			if e.Object != nil && e.Object.Raw != nil {
				checkObject(t, e.Object)
			}
		}
		t.Error("more events than bytes")
	})
}

// Ensures that what the full decoder makes of bytes is also what the object says of itself.
func FuzzObject(f *testing.F) {
	raw, err := newPod("a", "1").Marshal()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(false, raw)
	f.Add(true, asJSON(f, newPod("a", "1")))
	f.Add(true, []byte(`{"metadata":{"name":"a","name":"b","labels":{"x":"1","x":"2"}}}`))
	f.Fuzz(func(t *testing.T, json bool, raw []byte) {
		enc := object.Protobuf
		if json {
			enc = object.JSON
		}
		codec := codecFor(t, &corev1.Pod{})
		o := kube.NewObject(enc, raw, codec)
		checkObject(t, o)
		v, err := o.Decode()
		if err != nil || o.Err != nil {
			return
		}
		if m, _ := codec.Meta(v); m.Key != o.Key || m.Version != o.Version || m.UID != o.UID {
			t.Errorf("%+v, decoded %+v", o.Meta, m)
		}
	})
}

// Ensures that what a proxy sends instead of an answer always becomes a short piece of one line.
func FuzzPageTitle(f *testing.F) {
	f.Add("<html><title>502\nBad Gateway</title></html>")
	f.Add("<h1 class=x>no</h1>")
	f.Add("<title>")
	f.Fuzz(func(t *testing.T, page string) {
		got := kube.PageTitle(page)
		if strings.ContainsAny(got, "\n\r") || len([]rune(got)) > 103 {
			t.Errorf("%q", got)
		}
	})
}
