package tarntest_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Widget is a plain struct, as a user would have one.
type Widget struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func widget(key string, size int, labels ...string) *Widget {
	namespace, name := object.SplitKey(key)
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Size: size}
	for i := 0; i < len(labels); i += 2 {
		metav1.SetMetaDataLabel(&w.ObjectMeta, labels[i], labels[i+1])
	}
	return w
}

func newSource(options ...tarntest.Option) *tarntest.Source {
	return tarntest.NewSource(tarntest.JSON[Widget](), options...)
}

// list reads a list to its end and returns "key@version" of each item.
func list(t *testing.T, s *tarntest.Source, o metav1.ListOptions) (string, source.ListMeta) {
	t.Helper()
	l, err := s.List(t.Context(), o)
	if err != nil {
		t.Fatalf("list: %v", err)
	}
	defer l.Close()
	var items []string
	for {
		o, err := l.Next()
		if err == io.EOF {
			return strings.Join(items, " "), l.Meta()
		}
		if err != nil {
			t.Fatalf("list item: %v", err)
		}
		items = append(items, o.Key+"@"+o.Version)
	}
}

func listError(t *testing.T, s *tarntest.Source, o metav1.ListOptions) error {
	t.Helper()
	l, err := s.List(t.Context(), o)
	if err == nil {
		l.Close()
		t.Fatalf("list %+v succeeded", o)
	}
	return err
}

// watch opens a watch that is closed with the test.
func watch(t *testing.T, s *tarntest.Source, o metav1.ListOptions) source.Watch {
	t.Helper()
	w, err := s.Watch(t.Context(), o)
	if err != nil {
		t.Fatalf("watch: %v", err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// read returns what a watch has received, without blocking: "TYPE key@version", an ERROR with its reason.
func read(t *testing.T, w source.Watch) string {
	t.Helper()
	var got []string
	for w.Buffered() {
		e, err := w.Next()
		if err != nil {
			t.Fatalf("buffered event: %v", err)
		}
		s := e.Type.String()
		if e.Object != nil {
			s += " " + e.Object.Key + "@" + e.Object.Version
		}
		if e.InitialEventsEnd {
			s += " end"
		}
		if e.Err != nil {
			s += " " + string(apierrors.ReasonForError(e.Err))
		}
		got = append(got, s)
	}
	return strings.Join(got, ", ")
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func ptr[T any](v T) *T { return &v }

// streaming are the options of a streaming list.
func streaming(version string) metav1.ListOptions {
	return metav1.ListOptions{
		ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		SendInitialEvents: ptr(true), AllowWatchBookmarks: true,
	}
}

var (
	errCut = errors.New("connection cut")

	_ source.ListerWatcher = (*tarntest.Source)(nil)
	_ source.Describer     = (*tarntest.Source)(nil)
)
