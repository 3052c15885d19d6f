package kube_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	protobufMedia = "application/vnd.kubernetes.protobuf"
	jsonMedia     = "application/json"
)

// envelope encodes an object as a server does for this media type.
func envelope(t testing.TB, media string, o runtime.Object) []byte {
	t.Helper()
	if media == jsonMedia {
		return append(asJSON(t, o), '\n')
	}
	var b bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(o, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// frame encodes a watch event as a server does.
func frame(t testing.TB, media, name string, o runtime.Object) []byte {
	t.Helper()
	event := metav1.WatchEvent{Type: name, Object: runtime.RawExtension{Raw: envelope(t, media, o)}}
	if media == jsonMedia {
		return append(asJSON(t, event), '\n')
	}
	raw, err := event.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...)
}

// newPod returns a pod as it stands in a watch event.
func newPod(name, version string) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}
	p.Namespace, p.Name, p.ResourceVersion, p.UID = "prod", name, version, "u"
	p.Labels = map[string]string{"app": name}
	p.Spec.NodeName = "n7"
	return p
}

// podList returns a list of n pods, as it stands in an answer.
func podList(n int) *corev1.PodList {
	l := &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}}
	l.ResourceVersion = "77"
	for i := range n {
		p := newPod(fmt.Sprintf("web-%d", i), fmt.Sprint(i+1))
		p.TypeMeta = metav1.TypeMeta{}
		l.Items = append(l.Items, *p)
	}
	return l
}

// serveList answers every request with the list, in the first media type that was asked for, and gzip if that was.
func serveList(t testing.TB, list runtime.Object) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		media, _, _ := strings.Cut(r.Header.Get("Accept"), ",")
		media, _, _ = strings.Cut(media, ";")
		w.Header().Set("Content-Type", media)
		body := envelope(t, media, list)
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write(body)
			_ = z.Close()
			return
		}
		_, _ = w.Write(body)
	}
}

// serveBytes answers every request with these bytes.
func serveBytes(code int, contentType string, body []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = w.Write(body)
	}
}

// status encodes a refusal.
func status(t testing.TB, media string, s metav1.Status) []byte {
	s.Kind, s.APIVersion = "Status", "v1"
	if media == jsonMedia {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	return envelope(t, media, &s)
}
