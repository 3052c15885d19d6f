package command

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
)

// lines passes on what is written.
type lines chan string

func (l lines) Write(b []byte) (int, error) { l <- string(b); return len(b), nil }

// wait returns when something with the text has been written.
func (l lines) wait(t testing.TB, text string) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case s := <-l:
			if strings.Contains(s, text) {
				return
			}
		case <-limit:
			t.Fatalf("%q does not come", text)
		}
	}
}

// Ensures that a terminal is told of a server that takes the connection and says nothing, both while the resource is asked
// for and while it is loaded.
func TestWatching_Run_NoAnswer(t *testing.T) {
	for name, silent := range map[string]string{"resource": "/api", "list": "/api/v1/pods"} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Path == silent:
					<-r.Context().Done()
				case r.URL.Path == "/api":
					_, _ = w.Write([]byte(`{"kind":"APIVersions","versions":["v1"]}`))
				case r.URL.Path == "/apis":
					_, _ = w.Write([]byte(`{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`))
				default:
					_, _ = w.Write([]byte(`{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
						`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["list","watch"]}]}`))
				}
			}))
			defer server.Close()
			o := &watchOptions{
				streams: genericiooptions.IOStreams{}, names: []string{"pods"}, allNamespaces: true, output: "table", maxChanges: 5,
				conn: &connection{config: &rest.Config{Host: server.URL}, place: place{server: server.URL}},
			}
			out := make(lines, 1000)
			w, err := newWatching(o, screen{Writer: out}, screen{Writer: out, fd: -1, terminal: true})
			if err != nil {
				t.Fatal(err)
			}
			defer w.hub.Close()
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			defer running.Wait()
			defer cancel()
			running.Go(func() {
				if err := w.run(ctx); err != nil {
					t.Error(err)
				}
			})
			out.wait(t, "still waiting for an answer from "+server.URL)
		})
	}
}
