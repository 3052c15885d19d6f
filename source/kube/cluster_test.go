//go:build devcluster

package kube_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

// Ensures that a list comes compressed where that is not switched off, and reads the same.
func TestCluster_List_Gzip(t *testing.T) {
	c := filledCluster(t)
	var counts []int
	for _, off := range []bool{false, true} {
		cfg := c.Config()
		cfg.DisableCompression = off
		var unzipped atomic.Int32
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil && resp.Uncompressed && r.URL.Path == "/api/v1/pods" {
					unzipped.Add(1)
				}
				return resp, err
			})
		})
		objs, _ := readAll(t, clusterSource(t, cfg, typedPods), metav1.ListOptions{})
		counts = append(counts, len(objs))
		if (unzipped.Load() == 1) == off {
			t.Errorf("compression off: %v, unzipped answers: %d", off, unzipped.Load())
		}
	}
	if counts[0] != counts[1] || counts[0] < 1000 {
		t.Errorf("%d objects", counts)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// CloseIdleConnections is what kube.Client.Close looks for; the cluster cuts its connections itself.
func (roundTripper) CloseIdleConnections() {}

// Ensures that a watch reports what is done to objects, in either encoding, from the version of a list on.
func TestCluster_Watch_Changes(t *testing.T) {
	c := devcluster.Shared(t)
	client := kubernetes.NewForConfigOrDie(c.Config())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i, req := range []kube.Request{
		{Resource: kube.Type(scheme.Scheme, &corev1.ConfigMap{})},
		{Resource: kube.Named("cm")},
		{Resource: kube.Named("cm"), MetadataOnly: true},
	} {
		req.Namespace, req.LabelSelector = "default", "watched=yes"
		src := clusterSource(t, c.Config(), req)
		_, m := readAll(t, src, metav1.ListOptions{})
		w, err := src.Watch(ctx, metav1.ListOptions{ResourceVersion: m.Version, AllowWatchBookmarks: true})
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("watched-%d", i)
		maps := client.CoreV1().ConfigMaps("default")
		made, err := maps.Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"watched": "yes"}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := maps.Patch(ctx, name, types.MergePatchType, []byte(`{"data":{"a":"b"}}`), metav1.PatchOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := maps.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []struct {
			typ     source.EventType
			version string
		}{{source.Added, made.ResourceVersion}, {source.Modified, changed.ResourceVersion}, {source.Deleted, ""}} {
			e, err := w.Next()
			if err != nil || e.Type != want.typ || e.Object.Key != "default/"+name || e.GVK.Kind != "ConfigMap" ||
				want.version != "" && e.Object.Version != want.version {
				t.Fatalf("%+v: %+v, %v, want %+v", req, e, err, want)
			}
			if _, err := e.Object.Decode(); err != nil {
				t.Error(err)
			}
		}
		w.Close()
	}
}

// Ensures that a watch that the server ends in time ends with EOF, and that bookmarks arrive on the way.
func TestCluster_Watch_EndsInTime(t *testing.T) {
	second := int64(1)
	w, err := clusterSource(t, devcluster.Shared(t).Config(), typedPods).Watch(t.Context(), metav1.ListOptions{
		TimeoutSeconds: &second, ResourceVersion: "0", AllowWatchBookmarks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for {
		e, err := w.Next()
		if err == io.EOF {
			return
		}
		if err != nil || e.Err != nil {
			t.Fatalf("%+v, %v", e, err)
		}
	}
}

// Ensures that the server's refusals arrive as what they are.
func TestCluster_Errors(t *testing.T) {
	c := devcluster.Shared(t)
	nobody := c.Config()
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody", Groups: []string{"system:authenticated"}}
	src := clusterSource(t, nobody, kube.Request{Resource: typedPods.Resource, Namespace: "default"})
	if _, err := src.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list as nobody: %v", err)
	}
	if _, err := src.Watch(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("watch as nobody: %v", err)
	}
	src = clusterSource(t, c.Config(), typedPods)
	future := metav1.ListOptions{ResourceVersion: "999999999999", TimeoutSeconds: new(int64)}
	if _, err := src.List(t.Context(), future); !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Errorf("list in the future: %v", err)
	}
	if _, err := src.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nothing=1"}); !apierrors.IsBadRequest(err) {
		t.Errorf("wrong field: %v", err)
	}
	if _, err := src.List(t.Context(), metav1.ListOptions{Continue: "nonsense", Limit: 1}); !apierrors.IsBadRequest(err) {
		t.Errorf("wrong token: %v", err)
	}
}

// Ensures that a source whose resource is not defined yet reads it once it is, with no one telling it.
func TestCluster_List_DefinitionAppears(t *testing.T) {
	c := devcluster.Shared(t)
	src := clusterSource(t, c.Config(), kube.Request{Resource: kube.Named("gizmos")})
	list := func() error {
		l, err := src.List(t.Context(), metav1.ListOptions{})
		if err == nil {
			defer l.Close()
			_, err = l.Next()
		}
		return err
	}
	if err := list(); !meta.IsNoMatchError(err) {
		t.Fatalf("without a definition: %v", err)
	}
	crd := &unstructured.Unstructured{}
	if err := crd.UnmarshalJSON([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
		"metadata":{"name":"gizmos.try.example.com"},"spec":{"group":"try.example.com","scope":"Namespaced",
		"names":{"plural":"gizmos","singular":"gizmo","kind":"Gizmo","listKind":"GizmoList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
		"x-kubernetes-preserve-unknown-fields":true}}}]}}`)); err != nil {
		t.Fatal(err)
	}
	crds := dynamic.NewForConfigOrDie(c.Config()).Resource(schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	})
	if _, err := crds.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the definition is served", func() bool { return list() == io.EOF })
	if err := crds.Delete(t.Context(), crd.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	until(t, "the definition is gone", func() bool { return meta.IsNoMatchError(list()) })
}

// until asks again and again, for a minute, until the condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// Ensures that a closed client leaves no connection behind, also after a list that was not read to its end and a watch.
func TestCluster_Close_LeavesNoConnection(t *testing.T) {
	cfg := devcluster.Shared(t).Config()
	var open atomic.Int32
	dial := cfg.Dial
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err == nil {
			open.Add(1)
			conn = &countedConn{Conn: conn, closed: sync.OnceFunc(func() { open.Add(-1) })}
		}
		return conn, err
	}
	client, err := kube.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	src, err := client.Source(kube.Request{Resource: kube.Named("namespaces")})
	if err != nil {
		t.Fatal(err)
	}
	readAll(t, src, metav1.ListOptions{})
	l, err := src.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := src.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(); err != nil {
		t.Fatal(err)
	}
	if open.Load() == 0 {
		t.Error("no connection to begin with")
	}
	l.Close()
	w.Close()
	until(t, "all connections are closed", func() bool { client.Close(); return open.Load() == 0 })
}

type countedConn struct {
	net.Conn
	closed func()
}

func (c *countedConn) Close() error { c.closed(); return c.Conn.Close() }
