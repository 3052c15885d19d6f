package kube_test

import (
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/source/kube"
)

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
