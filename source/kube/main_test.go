package kube_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn/internal/devcluster"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(devcluster.Sharing(m)) }

// apiServer answers discovery with what it is told to offer, and everything else with answer.
type apiServer struct {
	*httptest.Server
	answer http.HandlerFunc

	mu          sync.Mutex
	groups      []metav1.APIGroup // without the core group
	lists       map[string][]metav1.APIResource
	discoveries int
	down        map[string]bool // group versions whose discovery fails
}

// startServer starts a server that offers pods, deployments and a few more.
func startServer(t testing.TB, answer http.HandlerFunc) *apiServer {
	t.Helper()
	s := &apiServer{answer: answer, lists: map[string][]metav1.APIResource{}, down: map[string]bool{}}
	all := metav1.Verbs{"get", "list", "watch", "create"}
	s.offer("v1",
		metav1.APIResource{Name: "pods", SingularName: "pod", ShortNames: []string{"po"}, Kind: "Pod", Namespaced: true, Verbs: all},
		metav1.APIResource{Name: "pods/status", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		metav1.APIResource{Name: "nodes", SingularName: "node", ShortNames: []string{"no"}, Kind: "Node", Verbs: all},
		metav1.APIResource{Name: "events", SingularName: "event", ShortNames: []string{"ev"}, Kind: "Event", Namespaced: true, Verbs: all},
	)
	s.offer("apps/v1",
		metav1.APIResource{Name: "deployments", SingularName: "deployment", ShortNames: []string{"deploy"}, Kind: "Deployment", Namespaced: true, Verbs: all},
	)
	s.offer("events.k8s.io/v1",
		metav1.APIResource{Name: "events", SingularName: "event", ShortNames: []string{"ev"}, Kind: "Event", Namespaced: true, Verbs: all},
	)
	s.offer("authentication.k8s.io/v1",
		metav1.APIResource{Name: "tokenreviews", SingularName: "tokenreview", Kind: "TokenReview", Verbs: metav1.Verbs{"create"}},
	)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// offer adds resources; the first version of a group is its preferred one.
func (s *apiServer) offer(groupVersion string, resources ...metav1.APIResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists[groupVersion] = append(s.lists[groupVersion], resources...)
	group, version, ok := strings.Cut(groupVersion, "/")
	if !ok {
		return
	}
	gv := metav1.GroupVersionForDiscovery{GroupVersion: groupVersion, Version: version}
	for i := range s.groups {
		if s.groups[i].Name == group {
			s.groups[i].Versions = append(s.groups[i].Versions, gv)
			return
		}
	}
	s.groups = append(s.groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
}

// withdraw takes a group version away.
func (s *apiServer) withdraw(groupVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lists, groupVersion)
}

func (s *apiServer) discovered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.discoveries
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v := s.discovery(strings.TrimSuffix(r.URL.Path, "/")); v != nil {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
		return
	}
	if s.answer == nil {
		http.NotFound(w, r)
		return
	}
	s.answer(w, r)
}

func (s *apiServer) discovery(path string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch path {
	case "/api":
		s.discoveries++
		return metav1.APIVersions{Versions: []string{"v1"}}
	case "/apis":
		return metav1.APIGroupList{Groups: s.groups}
	}
	gv, ok := strings.CutPrefix(path, "/apis/")
	if !ok {
		gv, ok = strings.CutPrefix(path, "/api/")
	}
	list, known := s.lists[gv]
	if !ok || !known || s.down[gv] {
		return nil
	}
	return metav1.APIResourceList{GroupVersion: gv, APIResources: list}
}

// newClient returns a client that is closed with the test.
func newClient(t testing.TB, s *apiServer) *kube.Client {
	t.Helper()
	c, err := kube.New(&rest.Config{Host: s.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// newSource returns a source of a new client.
func newSource(t testing.TB, s *apiServer, req kube.Request) *kube.Source {
	t.Helper()
	src, err := newClient(t, s).Source(req)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// readAll reads a list to its end.
func readAll(t testing.TB, lw source.ListerWatcher, options metav1.ListOptions) ([]*object.Object, source.ListMeta) {
	t.Helper()
	l, err := lw.List(context.Background(), options)
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	defer l.Close()
	var all []*object.Object
	for {
		o, err := l.Next()
		if err == io.EOF {
			return all, l.Meta()
		}
		if err != nil {
			t.Fatalf("Next: %v", err)
		}
		all = append(all, o)
	}
}
