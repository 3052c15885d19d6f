package kube_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

func restClient(t testing.TB, s *apiServer, path string, gv schema.GroupVersion) *rest.RESTClient {
	t.Helper()
	client, err := rest.RESTClientFor(&rest.Config{
		Host: s.URL, APIPath: path, QPS: -1,
		ContentConfig: rest.ContentConfig{GroupVersion: &gv, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return client
}

// Ensures that a ListWatch over a REST client reads the namespace and the selectors that it was made for, in whatever
// encoding the answer has, into the types that client-go knows.
func TestNewListWatch_KnownKind(t *testing.T) {
	var request *http.Request
	list := serveList(t, podList(3))
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		request = r
		if r.URL.Query().Get("watch") == "true" {
			media, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
			w.Header().Set("Content-Type", media)
			_, _ = w.Write(frame(t, media, "ADDED", newPod("a", "4")))
			return
		}
		list(w, r)
	})
	client := restClient(t, s, "/api", schema.GroupVersion{Version: "v1"})
	byField := kube.NewListWatch(client, "pods", "prod", fields.OneTermEqualSelector("spec.nodeName", "n7"))
	byLabel := kube.NewFilteredListWatch(client, "pods", "prod", func(o *metav1.ListOptions) { o.LabelSelector = "a=b" })
	for query, lw := range map[string]*source.ListWatch{"fieldSelector=spec.nodeName%3Dn7": byField, "labelSelector=a%3Db": byLabel} {
		objs, meta := readAll(t, lw, metav1.ListOptions{})
		if request.URL.Path != "/api/v1/namespaces/prod/pods" || request.URL.RawQuery != query {
			t.Errorf("%s asked for %s", query, request.URL)
		}
		if v, err := objs[2].Decode(); err != nil || v.(*corev1.Pod).Spec.NodeName != "n7" || meta.Version != "77" || len(objs) != 3 {
			t.Errorf("%d objects at %s, decoded %v, %v", len(objs), meta.Version, v, err)
		}
		e, err := openWatch(t, lw).Next()
		if err != nil || e.Object.Key != "prod/a" || request.URL.RawQuery != query+"&watch=true" {
			t.Fatalf("watch: %+v, %v, asked for %s", e, err, request.URL)
		}
		if v, err := e.Object.Decode(); err != nil || v.(*corev1.Pod).Name != "a" {
			t.Errorf("watch: decoded %v, %v", v, err)
		}
	}
	if got := byField.Describe(); got != `pods in "prod"` {
		t.Errorf("described as %s", got)
	}
	if got := kube.NewListWatch(client, "pods", "", nil).Describe(); got != "pods" {
		t.Errorf("described as %s", got)
	}
}

// Ensures that a ListWatch over a REST client gives custom resources as unstructured objects, also where the list names
// its kind only behind the items, as servers do.
func TestNewListWatch_CustomKind(t *testing.T) {
	var accept string
	s := startServer(t, func(w http.ResponseWriter, r *http.Request) {
		accept = r.Header.Get("Accept")
		w.Header().Set("Content-Type", jsonMedia)
		_, _ = io.WriteString(w, `{"apiVersion":"shop.example.com/v1","items":[{"apiVersion":"shop.example.com/v1","kind":"Widget",
			"metadata":{"name":"w"}}],"kind":"WidgetList","metadata":{"resourceVersion":"8"}}`)
	})
	lw := kube.NewListWatch(restClient(t, s, "/apis", schema.GroupVersion{Group: "shop.example.com", Version: "v1"}), "widgets", "", nil)
	objs, meta := readAll(t, lw, metav1.ListOptions{})
	v, err := objs[0].Decode()
	if err != nil || v.(*unstructured.Unstructured).GetKind() != "Widget" || meta.Version != "8" || accept != jsonMedia {
		t.Errorf("%v, %v, %+v, asked for %s", v, err, meta, accept)
	}
}

// Ensures that without a content type in sight, an answer that is neither encoding is an error.
func TestNewListWatch_NeitherEncoding(t *testing.T) {
	client := restClient(t, startServer(t, serveBytes(200, "text/html", []byte("<html>"))), "/api", schema.GroupVersion{Version: "v1"})
	lw := kube.NewListWatch(client, "pods", "", nil)
	if _, err := lw.List(context.Background(), metav1.ListOptions{}); err == nil || !strings.Contains(err.Error(), `"<"`) {
		t.Errorf("List: %v", err)
	}
	if _, err := openWatch(t, lw).Next(); err == nil || err == io.EOF {
		t.Errorf("Next: %v", err)
	}
}
