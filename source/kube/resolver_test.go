package kube_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/source/kube"
)

// Ensures that a resource whose definition does not exist yet is an error of List that goes away by itself, and comes
// back when the definition is deleted: case 36.
func TestSource_List_DefinitionAppears(t *testing.T) {
	var s *apiServer
	s = startServer(t, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		_, known := s.lists["shop.example.com/v1"]
		s.mu.Unlock()
		if !known {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"WidgetList","apiVersion":"shop.example.com/v1","metadata":{"resourceVersion":"7"},"items":[]}`))
	})
	src := newSource(t, s, kube.Request{Resource: kube.Named("widgets")})
	list := func() error {
		l, err := src.List(context.Background(), metav1.ListOptions{})
		if err == nil {
			l.Close()
		}
		return err
	}
	var none *kube.NoMatchError
	for range 2 {
		if err := list(); !errors.As(err, &none) {
			t.Fatalf("without the definition: %v", err)
		}
	}
	offerWidgets(s)
	if err := list(); err != nil {
		t.Fatalf("with the definition: %v", err)
	}
	n := s.discovered()
	if err := list(); err != nil || s.discovered() != n {
		t.Fatalf("again: %v, %d more discoveries", err, s.discovered()-n)
	}
	s.withdraw("shop.example.com/v1")
	s.withdraw("shop.example.com/v1beta1")
	if err := list(); !apierrors.IsNotFound(err) {
		t.Fatalf("definition deleted: %v", err)
	}
	if err := list(); !errors.As(err, &none) {
		t.Fatalf("after that: %v", err)
	}
	offerWidgets(s)
	if err := list(); err != nil {
		t.Fatalf("definition created again: %v", err)
	}
}

// Ensures that an API group that is down does not hide the others, and is named where it could be the reason.
func TestClient_Resolve_GroupDown(t *testing.T) {
	s := startServer(t, http.NotFound)
	offerWidgets(s)
	s.down["shop.example.com/v1"] = true
	client := newClient(t, s)
	if _, err := client.Resolve(context.Background(), kube.Named("po")); err != nil {
		t.Errorf("pods: %v", err)
	}
	_, err := client.Resolve(context.Background(), kube.Named("gadgets"))
	var none *kube.NoMatchError
	if !errors.As(err, &none) || none.Discovery == nil || !strings.Contains(err.Error(), "shop.example.com/v1") {
		t.Errorf("gadgets: %v", err)
	}
}

// Ensures that a server that cannot be reached is not taken for one without the resource, and that waiting for it ends
// with the context.
func TestClient_Resolve_ServerDown(t *testing.T) {
	s := startServer(t, nil)
	client := newClient(t, s)
	s.Close()
	_, err := client.Resolve(context.Background(), kube.Named("po"))
	var none *kube.NoMatchError
	if err == nil || errors.As(err, &none) || !strings.Contains(err.Error(), "connect") {
		t.Errorf("server down: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("enough")
	cancel(why)
	if _, err := client.Resolve(ctx, kube.Named("po")); !errors.Is(err, why) && !errors.Is(err, context.Canceled) {
		t.Errorf("context over: %v", err)
	}
}
