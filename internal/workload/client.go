package workload

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// client sends the generator's objects to a server: one REST client per API group on one HTTP client.
type client struct {
	http   *http.Client
	groups map[schema.GroupVersion]*rest.RESTClient
}

var crdGroup = schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}

// newClient returns a client for cfg, which it does not change. close must be called.
func newClient(cfg *rest.Config) (*client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = -1, 0
	cfg.UserAgent = "tarn-workload"
	cfg.WarningHandler = rest.NoWarnings{} // of deprecations in what exists only to look real
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	h, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	c := &client{http: h, groups: map[schema.GroupVersion]*rest.RESTClient{}}
	groups := map[schema.GroupVersion]bool{crdGroup: true}
	for _, kind := range Kinds() {
		groups[kind.GVR().GroupVersion()] = true
	}
	for gv := range groups {
		g := rest.CopyConfig(cfg)
		g.GroupVersion, g.APIPath = &gv, "/apis"
		g.ContentType = "application/json"
		if gv.Group == "" {
			g.APIPath = "/api"
		}
		if scheme.Scheme.IsVersionRegistered(gv) {
			g.ContentType = "application/vnd.kubernetes.protobuf"
			g.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
		}
		if c.groups[gv], err = rest.RESTClientForConfigAndClient(g, h); err != nil {
			c.close()
			return nil, fmt.Errorf("client for %s: %w", gv, err)
		}
	}
	return c, nil
}

// close ends idle connections, whose goroutines would otherwise stay. The HTTP client's own method does not reach through
// the transports that add credentials.
func (c *client) close() { utilnet.CloseIdleConnectionsFor(c.http.Transport) }

func (c *client) request(verb string, gvr schema.GroupVersionResource, obj metav1.Object) *rest.Request {
	r := c.groups[gvr.GroupVersion()].Verb(verb).Resource(gvr.Resource)
	if ns := obj.GetNamespace(); ns != "" {
		r.Namespace(ns)
	}
	if verb != http.MethodPost {
		r.Name(obj.GetName())
	}
	return r
}

// body adds obj to the request; custom objects are not in the scheme and go as JSON.
func body(r *rest.Request, obj Object) *rest.Request {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return r.Body(obj)
	}
	raw, err := json.Marshal(u.Object)
	if err != nil {
		// Made of maps, strings and numbers only: it always marshals.
		panic(err)
	}
	return r.SetHeader("Content-Type", "application/json").Body(raw)
}

func (c *client) create(ctx context.Context, gvr schema.GroupVersionResource, obj Object, manager string) error {
	r := c.request(http.MethodPost, gvr, obj).Param("fieldManager", manager)
	return body(r, obj).Do(ctx).Error()
}

func (c *client) updateStatus(ctx context.Context, gvr schema.GroupVersionResource, obj Object, manager string) error {
	r := c.request(http.MethodPut, gvr, obj).SubResource("status").Param("fieldManager", manager)
	return body(r, obj).Do(ctx).Error()
}

func (c *client) patch(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object, as types.PatchType, raw []byte, manager string, subresource ...string) error {
	r := c.groups[gvr.GroupVersion()].Patch(as).Resource(gvr.Resource).Name(obj.GetName())
	if ns := obj.GetNamespace(); ns != "" {
		r.Namespace(ns)
	}
	return r.SubResource(subresource...).Param("fieldManager", manager).Body(raw).Do(ctx).Error()
}

func (c *client) delete(ctx context.Context, gvr schema.GroupVersionResource, obj metav1.Object) error {
	return c.request(http.MethodDelete, gvr, obj).Param("gracePeriodSeconds", "0").Do(ctx).Error()
}

// createCRD creates the custom resource's definition where it is missing and waits until the server serves it.
func (c *client) createCRD(ctx context.Context, crd *unstructured.Unstructured) error {
	gvr := crdGroup.WithResource("customresourcedefinitions")
	if err := c.create(ctx, gvr, crd, "terraform"); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s: %w", crd.GetName(), err)
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		g := CustomObjects.GVR()
		err := c.groups[g.GroupVersion()].Get().Resource(g.Resource).Param("limit", "1").Do(ctx).Error()
		if err == nil || !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s is not served", crd.GetName()), context.Cause(ctx))
		case <-tick.C:
		}
	}
}
