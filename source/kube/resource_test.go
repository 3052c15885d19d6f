package kube_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/tarn-dev/tarn/source/kube"
)

// offerWidgets makes the server offer a custom resource in two versions.
func offerWidgets(s *apiServer) {
	for _, v := range []string{"v1", "v1beta1"} {
		s.offer("shop.example.com/"+v, metav1.APIResource{
			Name: "widgets", SingularName: "widget", ShortNames: []string{"wd"}, Kind: "Widget", Namespaced: true,
			Verbs: metav1.Verbs{"list", "watch"},
		})
	}
}

// Ensures that each way to name a resource leads to the one that is meant.
func TestClient_Resolve_Names(t *testing.T) {
	s := startServer(t, nil)
	offerWidgets(s)
	s.offer("v1", metav1.APIResource{Name: "reports", Kind: "Report", Verbs: metav1.Verbs{"create"}})
	s.offer("apps/v1", metav1.APIResource{Name: "reports", Kind: "Report", Verbs: metav1.Verbs{"list"}})
	client := newClient(t, s)
	widget := &unstructured.Unstructured{}
	widget.SetGroupVersionKind(schema.GroupVersionKind{Group: "shop.example.com", Version: "v1beta1", Kind: "Widget"})
	partial := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}}

	const pods, deployments, widgets = "/v1, Resource=pods", "apps/v1, Resource=deployments", "shop.example.com/v1, Resource=widgets"
	const beta = "shop.example.com/v1beta1, Resource=widgets"
	for _, c := range []struct {
		resource kube.Resource
		want     string
	}{
		{kube.Named("pods"), pods},
		{kube.Named("pod"), pods},
		{kube.Named("po"), pods},
		{kube.Named("Pod"), pods},
		{kube.Named(" PODS "), pods},
		{kube.Named("pods.v1."), pods},
		{kube.Named("deploy"), deployments},
		{kube.Named("deploy.apps"), deployments},
		{kube.Named("Deployment.apps"), deployments},
		{kube.Named("deployments.v1.apps"), deployments},
		{kube.Named("deploy.app"), deployments},
		{kube.Named("events"), "/v1, Resource=events"},
		{kube.Named("ev.events.k8s.io"), "events.k8s.io/v1, Resource=events"},
		{kube.Named("ev.v1.events.k8s.io"), "events.k8s.io/v1, Resource=events"},
		{kube.Named("reports"), "apps/v1, Resource=reports"}, // the core one cannot be listed
		{kube.Named("wd"), widgets},
		{kube.Named("widgets.shop.example.com"), widgets},
		{kube.Named("widgets.v1beta1.shop.example.com"), beta},
		{kube.GVR(schema.GroupVersionResource{Version: "v1", Resource: "pods"}), pods},
		{kube.GVR(schema.GroupVersionResource{Group: "shop.example.com", Resource: "widgets"}), widgets},
		{kube.GVK(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}), deployments},
		{kube.GVK(schema.GroupVersionKind{Group: "shop.example.com", Kind: "Widget"}), widgets},
		{kube.Type(scheme.Scheme, &corev1.Pod{}), pods},
		{kube.Type(scheme.Scheme, &appsv1.Deployment{}), deployments},
		{kube.Type(scheme.Scheme, widget), beta},
		{kube.Type(scheme.Scheme, partial), pods},
	} {
		m, err := client.Resolve(context.Background(), c.resource)
		if err != nil || m.Resource.String() != c.want {
			t.Errorf("%s: %s, %v, want %s", c.resource, m.Resource, err, c.want)
		}
	}
	if n := s.discovered(); n != 1 {
		t.Errorf("%d discoveries for names that are all known, want 1", n)
	}
}

// Ensures that a mapping says what the resource's objects are, whether they have namespaces, and how a person calls it.
func TestClient_Resolve_Mapping(t *testing.T) {
	client := newClient(t, startServer(t, nil))
	for name, want := range map[string]kube.Mapping{
		"no": {
			Resource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"},
			Kind:     schema.GroupVersionKind{Version: "v1", Kind: "Node"},
		},
		"deploy": {
			Resource:   schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Kind:       schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Namespaced: true,
		},
	} {
		if got, err := client.Resolve(context.Background(), kube.Named(name)); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
}

// Ensures that without a version the one that the server prefers is taken, wherever it stands.
func TestClient_Resolve_PreferredVersion(t *testing.T) {
	s := startServer(t, nil)
	offerWidgets(s)
	for i, g := range s.groups {
		if g.Name == "shop.example.com" {
			s.groups[i].PreferredVersion = g.Versions[1]
		}
	}
	m, err := newClient(t, s).Resolve(context.Background(), kube.Named("wd"))
	if err != nil || m.Kind.Version != "v1beta1" {
		t.Errorf("%+v, %v", m, err)
	}
}

// Ensures that a name that the server does not know gives one clear line, with a suggestion where one is close.
func TestClient_Resolve_NoMatch(t *testing.T) {
	s := startServer(t, nil)
	offerWidgets(s)
	client := newClient(t, s)
	for _, c := range []struct {
		resource kube.Resource
		want     string
	}{
		{kube.Named("foo"), `no resource "foo" on the server`},
		{kube.Named("pdos"), `no resource "pdos" on the server (did you mean "pods"?)`},
		{kube.Named("deploymets"), `no resource "deploymets" on the server (did you mean "deployments.apps"?)`},
		{kube.Named("deploy.extensions"), `no resource "deploy.extensions" on the server (did you mean "deployments.v1.apps"?)`},
		{kube.Named("evnts"), `no resource "evnts" on the server (did you mean "events", or "events.events.k8s.io"?)`},
		{
			kube.GVK(schema.GroupVersionKind{Group: "shop.example.com", Version: "v2", Kind: "Widget"}),
			`no resource "Widget.v2.shop.example.com" on the server (did you mean "widgets.v1.shop.example.com", or "widgets.v1beta1.shop.example.com"?)`,
		},
		{
			kube.GVR(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "pods"}),
			`no resource "pods.v1.apps" on the server (did you mean "pods"?)`,
		},
	} {
		_, err := client.Resolve(context.Background(), c.resource)
		var none *kube.NoMatchError
		if !errors.As(err, &none) || !meta.IsNoMatchError(err) || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.resource, err, c.want)
		}
	}
}

// Ensures that a resource that cannot be listed is told apart from one that does not exist.
func TestClient_Resolve_NotListable(t *testing.T) {
	_, err := newClient(t, startServer(t, nil)).Resolve(context.Background(), kube.Named("tokenreviews"))
	if !errors.Is(err, kube.ErrNotListable) || err.Error() != "tokenreviews.authentication.k8s.io: the resource cannot be listed" {
		t.Errorf("error %v", err)
	}
}

// Ensures that requests that can never work are refused at once.
func TestClient_Source_BadRequest(t *testing.T) {
	client := newClient(t, startServer(t, nil))
	pods := kube.Named("pods")
	for want, req := range map[string]kube.Request{
		"without a resource":   {},
		"empty resource name":  {Resource: kube.Named(" ")},
		"resource without":     {Resource: kube.GVR(schema.GroupVersionResource{})},
		"kind without":         {Resource: kube.GVK(schema.GroupVersionKind{})},
		"no kind is registere": {Resource: kube.Type(runtime.NewScheme(), &corev1.Pod{})},
		"no object":            {Resource: kube.Type(runtime.NewScheme(), nil)},
		"Unstructured":         {Resource: kube.Type(runtime.NewScheme(), &unstructured.Unstructured{})},
		"label selector":       {Resource: pods, LabelSelector: "a in"},
		"field selector":       {Resource: pods, FieldSelector: "a"},
		"namespace":            {Resource: pods, Namespace: "a/b"},
	} {
		if src, err := client.Source(req); src != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want an error with %q", req, err, want)
		}
	}
}
