package mirror_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

// feed is a scope that the test fills in place of a reflector.
type feed struct {
	t testing.TB
	m *mirror.Mirror
	sink
	scope *mirror.Scope
}

type sink interface {
	reflector.Sink
	reflector.Bookmarker
	reflector.Flusher
	reflector.Stager
}

// nowhere is a source that is never asked.
type nowhere struct{ source.ListerWatcher }

func (nowhere) List(context.Context, metav1.ListOptions) (source.List, error) { return nil, io.EOF }

func newFeed(t testing.TB, m *mirror.Mirror, namespace string) *feed {
	f := &feed{t: t, m: m}
	f.scope = m.AddScope(namespace, func(s reflector.Sink) *reflector.Reflector {
		f.sink = s.(sink)
		return reflector.New(nowhere{}, s, reflector.Options{Name: "feed"})
	})
	return f
}

func (f *feed) do(errs ...error) {
	f.t.Helper()
	for _, err := range errs {
		if err != nil {
			f.t.Fatal(err)
		}
	}
}

// list replaces the scope.
func (f *feed) list(version string, objects ...*object.Object) {
	f.t.Helper()
	f.do(f.Replace(objects, version))
}

// listEpoch replaces the scope with objects of a new epoch.
func (f *feed) listEpoch(version string, objects ...*object.Object) {
	f.t.Helper()
	stage := f.Stage(true)
	for _, o := range objects {
		f.do(stage.Add(o))
	}
	f.do(stage.Commit(version, true))
}

// obj returns a version of an object; size is the length of its payload.
func obj(key, uid string, version any, size int) *object.Object {
	namespace, name := object.SplitKey(key)
	return &object.Object{
		Meta: object.Meta{Key: key, UID: uid, Version: fmt.Sprint(version)}, Encoding: object.JSON, Codec: tarntest.JSON[value](),
		Raw: fmt.Appendf(nil, `{"metadata":{"namespace":%q,"name":%q},"data":%q}`, namespace, name, strings.Repeat("x", size)),
	}
}

type value struct {
	metav1.ObjectMeta `json:"metadata"`
	Data              string `json:"data"`
}

// bad returns a version of an object that is marked by the source.
func bad(key, uid string, version any) *object.Object {
	o := obj(key, uid, version, 1)
	o.Err = fmt.Errorf("%s is bad", key)
	return o
}

// marks returns the marked objects.
func (f *feed) marks() string {
	var s []string
	for _, key := range []string{"a/x", "a/y", "a/z"} {
		if failure, ok := f.m.Failures()[key]; ok {
			s = append(s, key+"@"+failure.Version)
		}
	}
	return strings.Join(s, " ")
}

// deliver runs a subscription until the returned function is called.
func deliver(s *mirror.Subscription) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.Run(ctx) }()
	return func() { cancel(); <-done }
}

// within fails the test if f does not return.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func newTestSource() *tarntest.Source { return tarntest.NewSource(nil) }
