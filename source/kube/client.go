package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Client is the way to one API server. There is one per process and server: it holds the connections, the client-side
// rate limit and what is known of the server's resources. Its methods may be called concurrently.
type Client struct {
	http     *http.Client
	rest     *rest.RESTClient
	resolver *resolver
}

// New returns a client for the server of cfg, which is copied. Everything that client-go's rest package understands
// holds: authentication, TLS, proxies, exec plugins, impersonation, user agent, warning handler, QPS and compression.
// Its Timeout ends every request, a watch included: leave it 0 unless that is wanted. Nothing is sent yet.
func New(cfg *rest.Config) (*Client, error) {
	if cfg == nil {
		return nil, errors.New("kube: no configuration of a server: the kubeconfig could not be read, or nobody looked at that error")
	}
	cfg = rest.CopyConfig(cfg)
	shared, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	disc, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, shared)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	client := heads(shared)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	cfg.ContentType, cfg.AcceptContentTypes = "", ""
	cfg.GroupVersion = nil
	rc, err := rest.UnversionedRESTClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return &Client{http: client, rest: rc, resolver: newResolver(disc)}, nil
}

// Close closes the idle connections. Lists and watches that are still read keep theirs until they are closed.
func (c *Client) Close() {
	// http.Client.CloseIdleConnections does not look below the transports that add credentials.
	for t := c.http.Transport; t != nil; {
		if closer, ok := t.(interface{ CloseIdleConnections() }); ok {
			closer.CloseIdleConnections()
			return
		}
		wrapper, ok := t.(utilnet.RoundTripperWrapper)
		if !ok {
			return
		}
		t = wrapper.WrappedRoundTripper()
	}
}

// Resolve returns what the server calls the resource. What the server said once is remembered; it is asked again when
// a resource is missing from that. Errors: a *[NoMatchError] where there is none, [ErrNotListable], or why the server
// could not be asked. All of them may pass: ask again.
func (c *Client) Resolve(ctx context.Context, r Resource) (Mapping, error) {
	return c.resolver.resolve(ctx, r)
}

// headTransport lets a request's context carry the answer's header back, which rest.Request keeps to itself.
type headTransport struct{ next http.RoundTripper }

type headKey struct{}

// heads returns a copy of client (nil: http.DefaultClient) that does so.
func heads(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	with := *client
	with.Transport = &headTransport{next: client.Transport}
	return &with
}

// withHead returns a context for a request, and where its answer's head will be once the request has returned.
func withHead(ctx context.Context) (context.Context, *http.Header) {
	head := new(http.Header)
	return context.WithValue(ctx, headKey{}, head), head
}

// RoundTrip implements http.RoundTripper.
func (t *headTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.WrappedRoundTripper().RoundTrip(req)
	if head, ok := req.Context().Value(headKey{}).(*http.Header); ok && resp != nil {
		*head = resp.Header
	}
	return resp, err
}

// WrappedRoundTripper lets apimachinery reach the transport below.
func (t *headTransport) WrappedRoundTripper() http.RoundTripper {
	if t.next == nil {
		return http.DefaultTransport
	}
	return t.next
}
