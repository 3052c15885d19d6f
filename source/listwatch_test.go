package source_test

import (
	"context"
	"errors"
	"io"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// eventWatch is a watch that has its events and then ends.
type eventWatch []source.Event

func (w *eventWatch) Next() (source.Event, error) {
	if len(*w) == 0 {
		return source.Event{}, io.EOF
	}
	ev := (*w)[0]
	*w = (*w)[1:]
	return ev, nil
}
func (w *eventWatch) Buffered() bool { return len(*w) > 0 }
func (w *eventWatch) Close() error   { return nil }

// recorder is a pair of functions that keep the options they get.
type recorder struct{ lists, watches []metav1.ListOptions }

func (r *recorder) list(_ context.Context, o metav1.ListOptions) (source.List, error) {
	r.lists = append(r.lists, o)
	return source.ListOf(source.ListMeta{Version: "7"}), nil
}

func (r *recorder) watch(_ context.Context, o metav1.ListOptions) (source.Watch, error) {
	r.watches = append(r.watches, o)
	return &eventWatch{}, nil
}

func TestListWatch_Functions(t *testing.T) {
	// List and Watch call the functions with the options as they are; one that is missing is an error.
	var r recorder
	lw := source.NewListWatch(r.list, r.watch)
	options := metav1.ListOptions{ResourceVersion: "5", Limit: 3, LabelSelector: "a=b"}
	l, err := lw.List(t.Context(), options)
	if err != nil || l.Meta().Version != "7" || r.lists[0] != options {
		t.Errorf("list: %v, options %+v", err, r.lists)
	}
	if _, err := lw.Watch(t.Context(), options); err != nil || r.watches[0] != options {
		t.Errorf("watch: %v, options %+v", err, r.watches)
	}
	empty := &source.ListWatch{}
	if _, err := empty.List(t.Context(), options); err == nil {
		t.Error("list without a function")
	}
	if _, err := empty.Watch(t.Context(), options); err == nil {
		t.Error("watch without a function")
	}
}

func TestListWatch_DisablePaging(t *testing.T) {
	// With paging disabled a list has no limit, also when it is read through a pager.
	var r recorder
	lw := source.NewListWatch(r.list, r.watch)
	lw.DisablePaging = true
	if _, err := (source.Pager{List: lw.List}).Read(t.Context(), metav1.ListOptions{ResourceVersion: "0"}); err != nil {
		t.Fatal(err)
	}
	if o := r.lists[0]; o.Limit != 0 || o.ResourceVersion != "0" {
		t.Errorf("options %+v", o)
	}
}

func TestListWatch_Interfaces(t *testing.T) {
	// It says what it reads and whether it supports streaming lists; what wraps it says the same.
	for _, disabled := range []bool{false, true} {
		lw := source.NewListWatch(nil, nil)
		lw.Description, lw.DisableStreamingList = "pods", disabled
		for _, lw := range []source.ListerWatcher{lw, source.WithOptions(lw, func(*metav1.ListOptions) {})} {
			if source.Describe(lw) != "pods" || source.SupportsStreamingList(lw) == disabled {
				t.Errorf("%T: %q, streaming %v", lw, source.Describe(lw), source.SupportsStreamingList(lw))
			}
		}
	}
	var bare struct{ source.ListerWatcher }
	if source.Describe(bare) != "" || !source.SupportsStreamingList(bare) {
		t.Error("a source without the optional interfaces")
	}
}

func TestWithOptions(t *testing.T) {
	// The modifier sets selectors on every list, page and watch, and not in the caller's options.
	var r recorder
	lw := source.WithOptions(source.NewListWatch(r.list, r.watch), func(o *metav1.ListOptions) {
		o.LabelSelector, o.FieldSelector = "app=web", "spec.nodeName=n7"
	})
	options := metav1.ListOptions{ResourceVersion: "5"}
	_, err1 := lw.List(t.Context(), options)
	_, err2 := lw.Watch(t.Context(), options)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	want := metav1.ListOptions{ResourceVersion: "5", LabelSelector: "app=web", FieldSelector: "spec.nodeName=n7"}
	if r.lists[0] != want || r.watches[0] != want || options.LabelSelector != "" {
		t.Errorf("got %+v and %+v", r.lists[0], r.watches[0])
	}
}

func TestListOf(t *testing.T) {
	// The items come in order, then io.EOF, again and again.
	l := source.ListOf(source.ListMeta{Version: "7"}, obj("a"), obj("b"))
	defer l.Close()
	for _, want := range []string{"a", "b"} {
		if o, err := l.Next(); err != nil || o.Key != want {
			t.Errorf("got %v, %v, want %s", o, err, want)
		}
	}
	for range 2 {
		if _, err := l.Next(); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}

func obj(key string) *object.Object { return &object.Object{Meta: object.Meta{Key: key}} }
