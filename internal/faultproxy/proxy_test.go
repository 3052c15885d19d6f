package faultproxy_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const protobufWatch = "application/vnd.kubernetes.protobuf;stream=watch"

// bookmarkEnd is the event that ends a streaming list.
const bookmarkEnd = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}`

// serveAPI is a tiny API: a list is "LIST <token>", a watch is three events, one of them the end bookmark, and then
// stays open. As a real server does, it compresses a watch for a client that can take it.
func serveAPI(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") == "" {
		fmt.Fprintf(w, "LIST %s as %s", r.URL.Query().Get("continue"), r.Header.Get("Authorization"))
		return
	}
	events := []string{`{"type":"ADDED","n":1}`, bookmarkEnd, `{"type":"ADDED","n":2}`}
	binaryFrames := strings.Contains(r.Header.Get("Accept"), "protobuf")
	if binaryFrames {
		w.Header().Set("Content-Type", protobufWatch)
	}
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		out = gzip.NewWriter(w)
	}
	for _, e := range events {
		if binaryFrames {
			out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(e))))
			io.WriteString(out, e)
		} else {
			fmt.Fprintln(out, e)
		}
	}
	if z, ok := out.(*gzip.Writer); ok {
		z.Flush()
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// start starts the API and a proxy in front of it, and returns a client that goes through it.
func start(t *testing.T, options faultproxy.Options) (*faultproxy.Proxy, *client) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(serveAPI))
	p, err := faultproxy.New(&rest.Config{Host: server.URL, BearerToken: "secret"}, options)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig, err := rest.TLSConfigFor(p.Config())
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: tlsConfig, ForceAttemptHTTP2: true}
	t.Cleanup(func() {
		p.Close()
		transport.CloseIdleConnections()
		server.Close()
	})
	return p, &client{t, p.Config().Host, &http.Client{Transport: transport}}
}

type client struct {
	t    *testing.T
	host string
	http *http.Client
}

// get asks for pods; the test ends it.
func (c *client) get(query, accept string) (*http.Response, error) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	c.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+"/api/v1/pods?"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := c.http.Do(req)
	if err == nil {
		c.t.Cleanup(func() { resp.Body.Close() })
	}
	return resp, err
}

// body asks and reads to the end.
func (c *client) body(query string) (code int, body string, err error) {
	c.t.Helper()
	resp, err := c.get(query, "")
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// watch opens a watch and reads its first lines.
func (c *client) watch(lines int) *bufio.Reader {
	c.t.Helper()
	resp, err := c.get("watch=true", "")
	if err != nil {
		c.t.Fatal(err)
	}
	r := bufio.NewReader(resp.Body)
	for range lines {
		if _, err := r.ReadString('\n'); err != nil {
			c.t.Fatal(err)
		}
	}
	return r
}

// modes runs a test over HTTP/1.1 and over HTTP/2 with TLS.
func modes(t *testing.T, test func(t *testing.T, p *faultproxy.Proxy, c *client)) {
	for name, options := range map[string]faultproxy.Options{"http": {}, "tls": {TLS: true}} {
		t.Run(name, func(t *testing.T) {
			p, c := start(t, options)
			test(t, p, c)
		})
	}
}

func TestProxy_Passes(t *testing.T) {
	// Requests go through, with the proxy's credentials unless they have their own, and are recorded.
	modes(t, func(t *testing.T, p *faultproxy.Proxy, c *client) {
		if _, body, err := c.body("continue=x"); body != "LIST x as Bearer secret" {
			t.Errorf("got %q, %v", body, err)
		}
		c.watch(3)
		if err := p.Wait(t.Context(), 1, faultproxy.Watches("pods")); err != nil {
			t.Error(err)
		}
		seen := p.Requests(nil)
		if len(seen) != 2 || seen[0].Path != "/api/v1/pods" || seen[0].Query.Get("continue") != "x" {
			t.Errorf("recorded %+v", seen)
		}
	})
}

func TestProxy_Wait(t *testing.T) {
	// Waiting for requests that do not come ends with the context.
	p, _ := start(t, faultproxy.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := p.Add(faultproxy.Rule{}).Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestProxy_Cut(t *testing.T) {
	// Every open connection breaks; new ones work.
	modes(t, func(t *testing.T, p *faultproxy.Proxy, c *client) {
		w := c.watch(3)
		p.Cut()
		if _, err := w.ReadByte(); err == nil || err == io.EOF {
			t.Errorf("after Cut: %v", err)
		}
		if n := p.Connections(); n != 0 {
			t.Errorf("%d connections are open", n)
		}
		c.watch(3)
	})
}

func TestProxy_Refuse(t *testing.T) {
	// Dials are refused, what is open goes on; after Heal dials work at the same address.
	p, c := start(t, faultproxy.Options{})
	c.watch(3)
	p.Refuse()
	if _, _, err := c.body(""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
	if p.Connections() != 1 {
		t.Errorf("%d connections", p.Connections())
	}
	if err := errors.Join(p.Heal(), p.Heal()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.body(""); err != nil {
		t.Error(err)
	}
}

func TestProxy_BlackHole(t *testing.T) {
	// A dead connection stays open and brings nothing, a new one neither; after Heal new ones work, the dead stay dead.
	modes(t, func(t *testing.T, p *faultproxy.Proxy, c *client) {
		w := c.watch(3)
		p.BlackHole()
		open := p.Connections()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.host+"/api/v1/pods", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := c.http.Do(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, %v", resp, err)
		}
		if p.Connections() < open {
			t.Errorf("%d of %d connections are open", p.Connections(), open)
		}
		if err := p.Heal(); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() {
			_, err := w.ReadByte()
			read <- err
		}()
		// HTTP/2 would go on using the dead connection, as it should: take another.
		other := &client{t, c.host, &http.Client{Transport: c.http.Transport.(*http.Transport).Clone()}}
		t.Cleanup(other.http.CloseIdleConnections)
		if _, body, err := other.body(""); err != nil || body == "" {
			t.Errorf("after Heal: %q, %v", body, err)
		}
		select {
		case err := <-read:
			t.Errorf("the dead connection woke up: %v", err)
		default:
		}
		p.Cut()
		<-read
	})
}

func TestProxy_Slow(t *testing.T) {
	// Answers take as long as delay and rate say.
	p, c := start(t, faultproxy.Options{})
	p.Slow(50*time.Millisecond, 2000)
	begin := time.Now()
	if _, _, err := c.body(""); err != nil {
		t.Fatal(err)
	}
	// Head and body are more than 100 bytes: 50 ms each at this rate.
	if took := time.Since(begin); took < 100*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

func TestProxy_SetBackend(t *testing.T) {
	// A backend that is gone is a broken connection to the client; another one takes its place at the same address.
	p, c := start(t, faultproxy.Options{})
	gone := httptest.NewServer(nil)
	gone.Close()
	if err := p.SetBackend(&rest.Config{Host: gone.URL}); err != nil {
		t.Fatal(err)
	}
	if code, _, err := c.body(""); err == nil {
		t.Errorf("got %d", code)
	}
	server := httptest.NewServer(http.HandlerFunc(serveAPI))
	t.Cleanup(server.Close)
	if err := p.SetBackend(&rest.Config{Host: server.URL, BearerToken: "new"}); err != nil {
		t.Fatal(err)
	}
	if _, body, err := c.body(""); body != "LIST  as Bearer new" {
		t.Errorf("got %q, %v", body, err)
	}
}
