package faultproxy_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/faultproxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const protobufWatch = "application/vnd.kubernetes.protobuf;stream=watch"

// bookmarkEnd is the event that ends a streaming list.
const bookmarkEnd = `{"type":"BOOKMARK","object":{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}}`

// serveAPI is a tiny API: a list is "LIST <token>", a watch is three events, one of them the end bookmark, and then
// stays open.
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
	for _, e := range events {
		if binaryFrames {
			w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(e))))
			io.WriteString(w, e)
		} else {
			fmt.Fprintln(w, e)
		}
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

func TestRule_Answer(t *testing.T) {
	// A rule answers the requests that it matches, as often as it says; the rest goes to the server.
	const list, next, watch, stream = "", "continue=x", "watch=true", "watch=true&sendInitialEvents=true"
	tests := map[string]struct {
		match   func(faultproxy.Request) bool
		answer  http.HandlerFunc
		matches string
		other   string
		code    int
		body    string
	}{
		"throttled":    {faultproxy.Lists("pods"), faultproxy.Throttled(3), list, "", 429, `"retryAfterSeconds":3`},
		"first page":   {faultproxy.FirstPages("pods"), faultproxy.Expired(), list, next, 410, `"reason":"Expired"`},
		"next page":    {faultproxy.NextPages("pods"), faultproxy.Expired(), next, list, 410, `"reason":"Expired"`},
		"forbidden":    {faultproxy.Lists(""), faultproxy.Forbidden(), next, "", 403, `"reason":"Forbidden"`},
		"watch":        {faultproxy.Watches("pods"), faultproxy.EmptyWatch(), watch, list, 200, ""},
		"stream":       {faultproxy.StreamingLists("pods"), faultproxy.Expired(), stream, list, 410, "Expired"},
		"version":      {faultproxy.At("7", faultproxy.Lists("")), faultproxy.Expired(), "resourceVersion=7", list, 410, "Expired"},
		"other":        {faultproxy.Lists("nodes"), faultproxy.Expired(), "", list, 0, ""},
		"table":        {faultproxy.Lists("pods"), faultproxy.Table(), list, "", 200, `"kind":"Table"`},
		"table event":  {faultproxy.Watches("pods"), faultproxy.Table(), watch, list, 200, `"type":"ADDED"`},
		"cause type":   {nil, faultproxy.TooLarge(faultproxy.CauseType), list, "", 504, `"reason":"ResourceVersionTooLarge"`},
		"cause text":   {nil, faultproxy.TooLarge(faultproxy.CauseMessage), list, "", 504, `"causes":[{"message":"Too large`},
		"message text": {nil, faultproxy.TooLarge(faultproxy.MessageText), list, "", 504, `"message":"Timeout: Too large`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p, c := start(t, faultproxy.Options{})
			rule := p.Add(faultproxy.Rule{Match: test.match, Times: 1, Answer: test.answer})
			if code, body, err := c.body(test.other); test.other != "" && (err != nil || code != 200 || !strings.HasPrefix(body, "LIST")) {
				t.Errorf("%q: %d %q %v", test.other, code, body, err)
			}
			if test.code == 0 {
				return
			}
			if test.other == "" {
				rule.Remove()
				rule = p.Add(faultproxy.Rule{Match: test.match, Times: 1, Answer: test.answer})
			}
			code, body, err := c.body(test.matches)
			if err != nil || code != test.code || !strings.Contains(body, test.body) {
				t.Errorf("%q: %d %q %v", test.matches, code, body, err)
			}
			if err := rule.Wait(t.Context(), 1); err != nil || rule.Hits() != 1 {
				t.Errorf("hits %d, %v", rule.Hits(), err)
			}
			if code, body, err := c.body(list); err != nil || code != 200 || !strings.HasPrefix(body, "LIST") {
				t.Errorf("used up: %d %q %v", code, body, err)
			}
		})
	}
}

func TestRule_Remove(t *testing.T) {
	// A rule without Times stays until it is removed; 429 has its Retry-After header.
	p, c := start(t, faultproxy.Options{})
	rule := p.Add(faultproxy.Rule{Answer: faultproxy.Throttled(3)})
	for range 3 {
		resp, err := c.get("", "")
		if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "3" {
			t.Errorf("got %v, %v", resp, err)
		}
	}
	rule.Remove()
	if code, _, _ := c.body(""); code != 200 {
		t.Errorf("got %d", code)
	}
}

func TestRule_Watch(t *testing.T) {
	// Watch streams are ended, cut, stripped of the end bookmark, and given an ERROR event.
	internal := faultproxy.InternalStatus("no leader")
	one, two := `{"type":"ADDED","n":1}`+"\n", `{"type":"ADDED","n":2}`+"\n"
	tests := map[string]struct {
		rule   faultproxy.Rule
		want   string // what comes, to the end, or its beginning
		broken bool   // it does not end normally
	}{
		"end":            {faultproxy.Rule{EndAfterEvents: 2}, one + bookmarkEnd + "\n", false},
		"cut":            {faultproxy.Rule{CutAfterBytes: 10}, one[:10], true},
		"drop":           {faultproxy.Rule{DropEndBookmark: true, EndAfterEvents: 2}, one + two, false},
		"drop and cut":   {faultproxy.Rule{DropEndBookmark: true, CutAfterBytes: int64(len(one) + 3)}, one + two[:3], true},
		"inject":         {faultproxy.Rule{Inject: &internal}, `{"object":{"kind":"Status","apiVersion":"v1",`, false},
		"inject after 1": {faultproxy.Rule{Inject: &internal, InjectAfter: 1}, one + `{"object":{"kind":"Status"`, false},
	}
	modes(t, func(t *testing.T, p *faultproxy.Proxy, c *client) {
		for name, test := range tests {
			test.rule.Times = 1
			p.Add(test.rule)
			_, body, err := c.body("watch=true")
			if test.rule.Inject != nil {
				var last struct {
					Type   string
					Object metav1.Status
				}
				lines := strings.Split(strings.TrimSpace(body), "\n")
				if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
					t.Error(err)
				}
				if last.Type != "ERROR" || last.Object.Code != 500 || last.Object.Message != "no leader" {
					t.Errorf("%s: %+v", name, last)
				}
				body = body[:len(test.want)]
			}
			if body != test.want || (err != nil) != test.broken {
				t.Errorf("%s: %q, %v; want %q", name, body, err, test.want)
			}
		}
	})
}

func TestRule_WatchProtobuf(t *testing.T) {
	// The same in protobuf: frames are passed on whole, and the ERROR event is one that a client can decode.
	p, c := start(t, faultproxy.Options{})
	expired := faultproxy.ExpiredStatus()
	p.Add(faultproxy.Rule{DropEndBookmark: true, Inject: &expired, InjectAfter: 2})
	resp, err := c.get("watch=true", protobufWatch)
	if err != nil {
		t.Fatal(err)
	}
	var frames [][]byte
	for {
		var size uint32
		if err := binary.Read(resp.Body, binary.BigEndian, &size); err != nil {
			if err != io.EOF {
				t.Error(err)
			}
			break
		}
		frame := make([]byte, size)
		if _, err := io.ReadFull(resp.Body, frame); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, frame)
	}
	if len(frames) != 3 || string(frames[0]) != `{"type":"ADDED","n":1}` || string(frames[1]) != `{"type":"ADDED","n":2}` {
		t.Fatalf("frames %q", frames)
	}
	var event metav1.WatchEvent
	if err := event.Unmarshal(frames[2]); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, metav1.SchemeGroupVersion)
	metav1.AddToGroupVersion(scheme, metav1.Unversioned)
	object, _, err := protobuf.NewSerializer(scheme, scheme).Decode(event.Object.Raw, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := object.(*metav1.Status); !ok || event.Type != "ERROR" || s.Code != http.StatusGone || s.Reason != metav1.StatusReasonExpired {
		t.Errorf("event %s %+v", event.Type, object)
	}
}
