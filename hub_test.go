package tarn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
)

// podServer serves just enough of the Kubernetes API for informers of pods that use plain lists.
type podServer struct {
	*httptest.Server
	mu        sync.Mutex
	version   int
	pods      map[string]*corev1.Pod
	watches   map[chan []byte]string // their namespaces
	watched   int                    // watches ever
	forbidden string                 // a namespace that may not be read
}

func startPodServer(t *testing.T) *podServer {
	s := &podServer{version: 1, pods: map[string]*corev1.Pod{}, watches: map[chan []byte]string{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *podServer) add(namespace, name, node, app string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	p := &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: "u", Labels: map[string]string{"app": app}, ResourceVersion: fmt.Sprint(s.version),
		},
		Spec: corev1.PodSpec{NodeName: node},
	}
	s.pods[namespace+"/"+name] = p
	for w, ns := range s.watches {
		if ns == "" || ns == namespace {
			w <- added(p)
		}
	}
}

func added(p *corev1.Pod) []byte {
	event, _ := json.Marshal(map[string]any{"type": "ADDED", "object": p})
	return event
}

func (s *podServer) forbid(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden = namespace
}

// watchesEver returns how many watches were opened so far, once there are as many as wanted: being in sync is before the
// watch.
func (s *podServer) watchesEver(wanted int) int {
	for deadline := time.Now().Add(30 * time.Second); ; runtime.Gosched() {
		s.mu.Lock()
		watched := s.watched
		s.mu.Unlock()
		if watched >= wanted || time.Now().After(deadline) {
			return watched
		}
	}
}

func (s *podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	path := strings.TrimSuffix(r.URL.Path, "/")
	switch path {
	case "/api":
		answer(metav1.APIVersions{Versions: []string{"v1"}})
		return
	case "/apis":
		answer(metav1.APIGroupList{})
		return
	case "/api/v1":
		answer(metav1.APIResourceList{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", SingularName: "pod", Kind: "Pod", Namespaced: true, Verbs: metav1.Verbs{"list", "watch"}},
		}})
		return
	}
	namespace := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(path, "/api/v1/"), "namespaces/"), "pods")
	namespace = strings.TrimSuffix(namespace, "/")
	if r.URL.Query().Get("watch") == "" {
		list, refused := s.list(namespace)
		if refused != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(int(refused.Code))
			_ = json.NewEncoder(w).Encode(refused)
			return
		}
		answer(list)
		return
	}
	s.watch(w, r, namespace)
}

func (s *podServer) list(namespace string) (*corev1.PodList, *metav1.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forbidden != "" && namespace == s.forbidden {
		err := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("no rights"))
		err.ErrStatus.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		return nil, &err.ErrStatus
	}
	list := &corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	list.ResourceVersion = fmt.Sprint(s.version)
	for _, key := range slices.Sorted(maps.Keys(s.pods)) {
		p := s.pods[key]
		if namespace == "" || p.Namespace == namespace {
			list.Items = append(list.Items, *p)
		}
	}
	return list, nil
}

func (s *podServer) watch(w http.ResponseWriter, r *http.Request, namespace string) {
	events := make(chan []byte, 100)
	s.mu.Lock()
	for _, p := range s.pods { // what came since the list
		order, _ := object.CompareVersions(p.ResourceVersion, r.URL.Query().Get("resourceVersion"))
		if order > 0 && (namespace == "" || namespace == p.Namespace) {
			events <- added(p)
		}
	}
	s.watches[events] = namespace
	s.watched++
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watches, events)
	}()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := w.(http.Flusher).Flush
	for flush(); ; flush() {
		select {
		case e := <-events:
			_, _ = w.Write(e)
		case <-r.Context().Done():
			return
		}
	}
}

// podHub returns a hub for the server, closed with the test.
func podHub(t *testing.T, s *podServer) *tarn.Hub {
	hub, err := tarn.NewHub(&rest.Config{Host: s.URL, QPS: -1}, tarn.WithScheme(nil), tarn.WithMetrics(nil),
		tarn.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hub.Close)
	return hub
}

func podsOf(t *testing.T, hub *tarn.Hub, options ...tarn.Option) *tarn.Informer[*corev1.Pod] {
	t.Helper()
	i, err := tarn.For[*corev1.Pod](hub, append([]tarn.Option{tarn.NoStreamingList()}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// podNames is a handler that passes on what happens to which pod.
func podNames(t *testing.T, i *tarn.Informer[*corev1.Pod]) chan string {
	t.Helper()
	events := make(chan string, 100)
	_, err := i.Subscribe(tarn.HandlerFunc[*corev1.Pod](func(_ context.Context, e tarn.Event[*corev1.Pod]) {
		events <- e.Type.String() + " " + e.Key
	}))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func waitSynced(t *testing.T, informers ...*tarn.Informer[*corev1.Pod]) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, i := range informers {
		if err := i.WaitSynced(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// found returns the names that an index finds.
func found(t *testing.T, i *tarn.Informer[*corev1.Pod], index, value string) string {
	t.Helper()
	var names []string
	for p, err := range i.By(index, value) {
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, p.Name)
	}
	return strings.Join(names, " ")
}

// Ensures that two informers of one resource and scope read one mirror: with indexes of their own, also under one name;
// each may stop while the other goes on; and the handlers of one that runs again go on where they were.
func TestHub_SharedMirror(t *testing.T) {
	s := startPodServer(t)
	s.add("a", "one", "n1", "web")
	s.add("a", "two", "n2", "web")
	hub := podHub(t, s)
	byNode := podsOf(t, hub, tarn.IndexField("x", "spec.nodeName"))
	byApp := podsOf(t, hub, tarn.IndexLabel("x", "app"))
	byNodeEvents, byAppEvents := podNames(t, byNode), podNames(t, byApp)
	stopNode, stopApp := run(t, byNode), run(t, byApp)
	waitSynced(t, byNode, byApp)
	for _, events := range []chan string{byNodeEvents, byAppEvents} {
		expect(t, "initial", <-events+", "+<-events, "added a/one, added a/two")
	}
	expect(t, "index of one", found(t, byNode, "x", "n1"), "one")
	expect(t, "index of the other", found(t, byApp, "x", "web"), "one two")
	expect(t, "watches", s.watchesEver(1), 1)

	stopNode()
	s.add("a", "three", "n1", "db")
	expect(t, "the other goes on", <-byAppEvents, "added a/three")
	expect(t, "and keeps the stopped one's index in step", found(t, byNode, "x", "n1"), "one three")
	expect(t, "whose handler rests", len(byNodeEvents), 0)
	stopNode = run(t, byNode)
	expect(t, "and goes on where it was", <-byNodeEvents, "added a/three")
	stopApp()
	s.add("a", "four", "n1", "db")
	expect(t, "the other way round", <-byNodeEvents, "added a/four")
	expect(t, "still in sync", byNode.HasSynced(), true)
	stopNode()
	expect(t, "nobody runs", byNode.HasSynced() || byApp.HasSynced(), false)
	expect(t, "watches", s.watchesEver(1), 1)
}

// Ensures that informers which differ in what they read, or in functions that nobody can compare, have mirrors of their own.
func TestHub_SeparateMirrors(t *testing.T) {
	s := startPodServer(t)
	s.add("a", "one", "n1", "web")
	hub := podHub(t, s)
	informers := []*tarn.Informer[*corev1.Pod]{
		podsOf(t, hub),
		podsOf(t, hub, tarn.Namespace("a")),
		podsOf(t, hub, tarn.Labels("app=web")),
		podsOf(t, hub, tarn.Live()),
		podsOf(t, hub, tarn.Only(func(p *corev1.Pod) bool { return p.Name != "one" })),
		podsOf(t, hub, tarn.Namespace("a", "a")), // as the second
	}
	names := map[string]bool{}
	for _, i := range informers {
		names[i.Name()] = true
		defer run(t, i)()
	}
	waitSynced(t, informers...)
	events := podNames(t, informers[0])
	<-events
	expect(t, "all", informers[3].Len(), 1)
	expect(t, "predicate", informers[4].Len(), 0)
	expect(t, "names are told apart", len(names), len(informers))
	expect(t, "watches", s.watchesEver(5), 5)
}

// Ensures that a mirror that no informer refers to any more is let go, and the next informer begins anew.
func TestHub_MirrorIsLetGo(t *testing.T) {
	s := startPodServer(t)
	s.add("a", "one", "n1", "web")
	hub := podHub(t, s)
	func() {
		i := podsOf(t, hub)
		podNames(t, i)
		defer run(t, i)()
		waitSynced(t, i)
	}()
	for range 100 {
		if podsOf(t, hub).Len() == 0 {
			return
		}
		runtime.GC()
	}
	t.Error("the mirror is still there")
}

// Ensures that each namespace is a scope of its own: one that may not be read keeps the informer from being in sync, which
// says so, and no other from being stored.
func TestHub_Namespaces(t *testing.T) {
	s := startPodServer(t)
	s.add("a", "one", "n1", "web")
	s.add("b", "two", "n1", "web")
	s.add("c", "three", "n1", "web")
	s.forbid("b")
	i := podsOf(t, podHub(t, s), tarn.Namespace("b", "a"), tarn.Backoff(func() time.Duration { return 10 * time.Millisecond }))
	expect(t, "name", i.Name(), `pods in "a" and 1 more`)
	events := podNames(t, i)
	defer run(t, i)()
	expect(t, "one namespace", <-events, "added a/one")
	for i.Status().Scopes[1].LastError == nil {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := i.WaitSynced(ctx)
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `"b"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("why it is not synced: %v", err)
	}
	s.forbid("")
	waitSynced(t, i)
	expect(t, "the other", <-events, "added b/two")
	s.add("b", "four", "n1", "web")
	expect(t, "it is followed", <-events, "added b/four")
	expect(t, "stored", i.Len(), 3)
	for n, scope := range i.Status().Scopes {
		expect(t, scope.Namespace, scope.Objects, n+1)
	}
}
