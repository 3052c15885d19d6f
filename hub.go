package tarn

import (
	"fmt"
	"log/slog"
	"sync"
	"weak"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/source/kube"
)

// Hub is the way to one server. There is one per process and server: it holds the connections and what is known of the
// server's resources, and informers for the same resource and scope share one mirror through it. Its methods may be
// called concurrently.
//
// A shared mirror is kept in step while one of its informers runs, is in sync for all of them, and reports its lists and
// watches under the name of the first. It lives as long as one of its informers is referenced, and so do the index
// functions of all of them. Informers with a predicate, a transform, a codec, a backoff, an error handler, a logger or
// metrics of their own share nothing.
type Hub struct {
	client  *kube.Client
	scheme  *runtime.Scheme
	logger  *slog.Logger
	metrics Metrics

	mu      sync.Mutex
	mirrors map[sharedKey]weak.Pointer[mirror.Mirror]
	names   map[string]int
}

// HubOption configures a [Hub].
type HubOption func(*Hub)

// WithScheme names the Go types of resources; the default is client-go's, with all built-in kinds.
func WithScheme(s *runtime.Scheme) HubOption { return func(h *Hub) { h.scheme = s } }

// WithLogger is where the hub's informers log; the default is slog.Default().
func WithLogger(l *slog.Logger) HubOption { return func(h *Hub) { h.logger = l } }

// WithMetrics is what the hub's informers report to; by default nothing.
func WithMetrics(m Metrics) HubOption { return func(h *Hub) { h.metrics = m } }

// NewHub returns a hub for the server of cfg, which is copied. It sends nothing yet; a server that does not answer is
// seen by the informers, which wait for it and say so.
func NewHub(cfg *rest.Config, options ...HubOption) (*Hub, error) {
	client, err := kube.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("hub: %w", err)
	}
	h := &Hub{
		client:  client,
		mirrors: map[sharedKey]weak.Pointer[mirror.Mirror]{}, names: map[string]int{},
	}
	apply(h, options)
	if h.scheme == nil {
		h.scheme = scheme.Scheme
	}
	if h.logger == nil {
		h.logger = slog.Default()
	}
	return h, nil
}

// Client returns the hub's client, for who wants a source of it.
func (h *Hub) Client() *kube.Client { return h.client }

// Close closes idle connections. Call it when all informers have ended.
func (h *Hub) Close() { h.client.Close() }

// mirror returns the mirror for key, made by build if nobody has it. It lives as long as an informer holds it.
func (h *Hub) mirror(key sharedKey, build func() (*mirror.Mirror, error)) (*mirror.Mirror, error) {
	if key == (sharedKey{}) {
		return build()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := h.mirrors[key].Value(); m != nil {
		return m, nil
	}
	m, err := build()
	if err != nil {
		return nil, err
	}
	for k, p := range h.mirrors {
		if p.Value() == nil {
			delete(h.mirrors, k)
		}
	}
	h.mirrors[key] = weak.Make(m)
	return m, nil
}

// name returns the name, told apart from those that were given out before.
func (h *Hub) name(name string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names[name]++
	if n := h.names[name]; n > 1 {
		return fmt.Sprintf("%s #%d", name, n)
	}
	return name
}
