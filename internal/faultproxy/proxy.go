package faultproxy

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options say how clients reach the proxy.
type Options struct {
	// TLS serves HTTPS with HTTP/2, as an API server does: all of a client's requests share one connection. Default: plain
	// HTTP/1.1, one connection for each watch.
	TLS bool
}

// Proxy is a reverse proxy on loopback. Its methods may be called from any goroutine.
type Proxy struct {
	l      *listener
	server *httptest.Server
	config *rest.Config

	mu       sync.Mutex
	backend  *backend
	requests []Request
	rules    []*Active
	changed  chan struct{} // closed and made anew whenever requests grows
}

// backend is where the requests go.
type backend struct {
	url       *url.URL
	transport http.RoundTripper
	base      *http.Transport
}

// Request is a request that the proxy has seen.
type Request struct {
	At     time.Time
	Method string
	Path   string
	Query  url.Values
	Header http.Header
}

// New returns a proxy in front of the server that cfg leads to, with the rights of cfg.
func New(cfg *rest.Config, options Options) (*Proxy, error) {
	p := &Proxy{changed: make(chan struct{})}
	if err := p.SetBackend(cfg); err != nil {
		return nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, fmt.Errorf("fault proxy: %w", err)
	}
	p.l = l
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.server.Listener.Close()
	p.server.Listener = l
	p.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.config = &rest.Config{
		Host: "http://" + l.addr.String(), APIPath: cfg.APIPath, ContentConfig: cfg.ContentConfig,
		UserAgent: cfg.UserAgent, QPS: cfg.QPS, Burst: cfg.Burst, RateLimiter: cfg.RateLimiter, Timeout: cfg.Timeout,
	}
	if !options.TLS {
		p.server.Start()
		return p, nil
	}
	p.server.EnableHTTP2 = true
	p.server.StartTLS()
	p.config.Host = "https://" + l.addr.String()
	p.config.CAData = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	return p, nil
}

// Config returns a new configuration that leads through the proxy. It carries no credentials: the proxy adds those it
// was made with to requests that have none. A bearer token or an impersonation that is set in it is passed on.
func (p *Proxy) Config() *rest.Config { return rest.CopyConfig(p.config) }

// SetBackend sends what follows to another server, such as one that was restarted on another port.
func (p *Proxy) SetBackend(cfg *rest.Config) error {
	u, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	tlsConfig, err := rest.TLSConfigFor(cfg)
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	base := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16}
	transport, err := rest.HTTPWrappersForConfig(cfg, base)
	if err != nil {
		return fmt.Errorf("fault proxy: %w", err)
	}
	p.mu.Lock()
	old := p.backend
	p.backend = &backend{url: u, transport: transport, base: base}
	p.mu.Unlock()
	if old != nil {
		old.base.CloseIdleConnections()
	}
	return nil
}

// Close cuts every connection and ends the proxy. No goroutine is left.
func (p *Proxy) Close() {
	p.l.Close()
	p.l.cut()
	p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backend.base.CloseIdleConnections()
}

// Cut resets every connection now. New ones are taken.
func (p *Proxy) Cut() { p.l.cut() }

// BlackHole makes every connection dead: it stays open, and what either side sends is dropped. New connections are dead,
// too, until Heal; those that are dead stay so.
func (p *Proxy) BlackHole() { p.l.blackHole(true) }

// Refuse refuses new connections until Heal. Those that are open go on.
func (p *Proxy) Refuse() { p.l.refuse() }

// Slow waits before each write towards a client, and limits each connection to so many bytes per second; 0 = no limit.
func (p *Proxy) Slow(delay time.Duration, bytesPerSecond int) { p.l.slow(delay, bytesPerSecond) }

// Heal ends BlackHole, Refuse and Slow for new connections.
func (p *Proxy) Heal() error {
	p.l.blackHole(false)
	p.l.slow(0, 0)
	return p.l.listenAgain()
}

// Connections returns how many connections are open.
func (p *Proxy) Connections() int { return len(p.l.open()) }

// Requests returns the requests so far, oldest first, that match fits; nil fits all.
func (p *Proxy) Requests(match func(Request) bool) []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requestsLocked(match)
}

func (p *Proxy) requestsLocked(match func(Request) bool) []Request {
	var found []Request
	for _, r := range p.requests {
		if match == nil || match(r) {
			found = append(found, r)
		}
	}
	return found
}

// Wait waits until n requests that match fits have come.
func (p *Proxy) Wait(ctx context.Context, n int, match func(Request) bool) error {
	for {
		p.mu.Lock()
		got, changed := len(p.requestsLocked(match)), p.changed
		p.mu.Unlock()
		if got >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("fault proxy: %d of %d requests came: %w", got, n, context.Cause(ctx))
		}
	}
}

// serve is the handler.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	req := Request{time.Now(), r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone()}
	p.mu.Lock()
	p.requests = append(p.requests, req)
	rule := p.pickLocked(req)
	to := p.backend
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()

	if rule != nil && rule.Answer != nil {
		rule.Answer(w, r)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.SetURL(to.url)
			if rule != nil {
				// Servers compress streams, too, and the rule has to look into this one.
				pr.Out.Header.Set("Accept-Encoding", "identity")
			}
		},
		Transport:     to.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		// The client is to see what it would without a proxy: a broken connection, not a 502.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ModifyResponse: func(resp *http.Response) error {
			if rule != nil {
				return rule.rewrite(resp)
			}
			return nil
		},
	}
	proxy.ServeHTTP(w, r)
}

// pickLocked returns the first rule that matches and is not used up, and uses it once.
func (p *Proxy) pickLocked(req Request) *Active {
	for _, a := range p.rules {
		if (a.Times == 0 || a.hits < a.Times) && (a.Match == nil || a.Match(req)) {
			a.hits++
			return a
		}
	}
	return nil
}

// Add adds a rule behind those that are there. The first that matches a request is used.
func (p *Proxy) Add(rule Rule) *Active {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &Active{Rule: rule, p: p}
	p.rules = append(p.rules, a)
	return a
}

// Active is a rule in a proxy.
type Active struct {
	Rule
	p    *Proxy
	hits int // guarded by p.mu
}

// Hits returns how many requests the rule was used for.
func (a *Active) Hits() int {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	return a.hits
}

// Wait waits until the rule was used n times.
func (a *Active) Wait(ctx context.Context, n int) error {
	for {
		a.p.mu.Lock()
		hits, changed := a.hits, a.p.changed
		a.p.mu.Unlock()
		if hits >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("fault proxy: rule used %d of %d times: %w", hits, n, context.Cause(ctx))
		}
	}
}

// Remove takes the rule out. What it has begun goes on.
func (a *Active) Remove() {
	a.p.mu.Lock()
	defer a.p.mu.Unlock()
	a.p.rules = slices.DeleteFunc(a.p.rules, func(other *Active) bool { return other == a })
}
