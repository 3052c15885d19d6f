package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/controller"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/queue"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/tarntest"
)

// What is there comes as initial adds, what happens then as it happens; the store is ahead of the handler.
func TestInformer_Subscribe_Events(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		src.Add(widget("b/two", "n1", 2))
		i := newInformer(t, src)
		r, s := subscribe(t, i)
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/one 1 initial, added b/two 2 initial")
		expect(t, "informer synced", i.HasSynced(), true)
		expect(t, "handler synced", s.HasSynced(), true)

		src.Update(widget("a/one", "n1", 10))
		src.Add(widget("c/three", "n2", 3))
		src.Delete("b/two")
		expect(t, "events", r.take(), "updated a/one 1>10, added c/three 3, deleted b/two 2")
		w, ok, err := i.Get("a/one")
		if err != nil || !ok || w.Spec.Size != 10 {
			t.Errorf("Get: %v %v %v", w, ok, err)
		}
		if _, ok, _ := i.Get("b/two"); ok {
			t.Error("the deleted object is still there")
		}
		stop()
	})
}

// Case 32: with a slow handler the informer is synced early, the handler only after its last initial add has returned.
func TestInformer_HasSynced_Case32(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		for _, n := range []string{"1", "2", "3", "4", "5"} {
			src.Add(widget("a/"+n, "n1", 1))
		}
		i := newInformer(t, src)
		r := &recorder{block: make(chan struct{})}
		defer close(r.block) // or a failure would hang
		s, _ := i.Subscribe(r)
		stop := run(t, i)
		for n := range 5 {
			synctest.Wait()
			if !i.HasSynced() || s.HasSynced() {
				t.Fatalf("after %d calls: informer %v, handler %v", n, i.HasSynced(), s.HasSynced())
			}
			r.block <- struct{}{}
		}
		synctest.Wait()
		select {
		case <-s.Synced():
		default:
			t.Error("not synced after the fifth add returned")
		}
		if got := r.take(); strings.Count(got, "initial") != 5 {
			t.Errorf("all five are initial: %s", got)
		}
		stop()
	})
}

// An empty collection syncs informer and handlers, and a handler's panic in the last initial add counts as returned.
func TestInformer_HasSynced_EmptyAndPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newInformer(t, newSource())
		_, s := subscribe(t, i)
		stop := run(t, i)
		synctest.Wait()
		expect(t, "synced", i.HasSynced() && s.HasSynced(), true)
		stop()

		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		var reported []error
		i = newInformer(t, src, tarn.OnError(func(err error) { reported = append(reported, err) }))
		var calls []string
		s, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) {
			calls = append(calls, e.Key)
			if e.Key == "a/one" {
				panic("oh")
			}
		}), tarn.SubscriberName("fragile"))
		stop = run(t, i)
		synctest.Wait()
		expect(t, "synced after the panic", s.HasSynced(), true)
		src.Add(widget("a/two", "n1", 1))
		synctest.Wait()
		expect(t, "the next event still comes", calls, []string{"a/one", "a/two"})
		expect(t, "reported with its name", reported, []string{"fragile: handler: panic: oh"})
		expect(t, "counted", s.Status().Panics, 1)
		stop()
	})
}

// Case 36: no right to list, or no such resource: waiting for sync says so and why, in one line; it syncs by itself when
// that changes.
func TestInformer_WaitSynced_Case36(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New("no rights,\nsays the\nproxy"))
		src.OnRequest(func(context.Context, tarntest.Request) error { return forbidden })
		i := newInformer(t, src)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := i.WaitSynced(ctx)
		cancel()
		if err == nil || !strings.Contains(err.Error(), "call Run") {
			t.Errorf("before Run: %v", err)
		}
		stop := run(t, i)
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
		err = i.WaitSynced(ctx)
		cancel()
		if !apierrors.IsForbidden(err) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not a 403 and a deadline: %v", err)
		}
		for _, part := range []string{"not synced: widgets", "no rights", "attempts", "retrying in"} {
			if err == nil || !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
				t.Errorf("no %q in one line: %v", part, err)
			}
		}
		src.OnRequest(nil)
		if err := tarn.WaitSynced(t.Context(), i, i); err != nil {
			t.Error(err)
		}
		expect(t, "objects", i.Len(), 1)
		stop()
	})
}

// Run may be called again: what is stored is kept and brought up to date, subscriptions go on from where they were. Two
// runs at once are an error.
func TestInformer_Run_Again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/gone", "n1", 1))
		src.Add(widget("a/kept", "n1", 1))
		src.Add(widget("a/same", "n1", 1))
		i := newInformer(t, src)
		r, s := subscribe(t, i)
		stop := run(t, i)
		r.take()
		if err := i.Run(t.Context()); !errors.Is(err, tarn.ErrRunning) {
			t.Errorf("a second Run: %v", err)
		}
		stop()
		src.Update(widget("a/kept", "n1", 2))
		src.Delete("a/gone")
		expect(t, "still stored", i.Len(), 3)
		stop = run(t, i)
		if err := i.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
		expect(t, "the difference", r.take(), "deleted a/gone 1 unknown, updated a/kept 1>2")
		expect(t, "handler synced", s.HasSynced(), true)
		stop()
	})
}

// A configuration or a hub that is not there is an error that says so, not a panic.
func TestNewHub_Nil(t *testing.T) {
	if _, err := tarn.NewHub(nil); err == nil || !strings.Contains(err.Error(), "no configuration") {
		t.Errorf("NewHub: %v", err)
	}
	if _, err := tarn.For[*Widget](nil); err == nil || !strings.Contains(err.Error(), "no hub") {
		t.Errorf("For: %v", err)
	}
}

// Ensures that a type that no informer can be of is refused, with what to use instead.
func TestFor_WrongType(t *testing.T) {
	hub, err := tarn.NewHub(&rest.Config{Host: "https://127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	_, err = tarn.For[corev1.Pod](hub)
	refused("a struct", err, "use *v1.Pod")
	_, err = tarn.For[*corev1.PodList](hub)
	refused("a list", err, "of the type of its items")
	_, err = tarn.For[metav1.Object](hub)
	refused("an interface", err, "no tarn.Codec that makes it")
}

// Mistakes in the options are errors that say what is wrong, before anything runs.
func TestNew_Errors(t *testing.T) {
	codec := tarntest.JSON[Widget]()
	for name, tc := range map[string]struct {
		option tarn.Option
		want   string
	}{
		"wrong path":       {tarn.IndexField("node", "spec.nodeName"), "nodeName"},
		"function of type": {tarn.IndexFunc("x", func(string) ([]string, error) { return nil, nil }), "takes string"},
		"predicate":        {tarn.Only(func(int) bool { return true }), "takes int"},
		"hub options":      {tarn.Namespace("a"), "hub"},
		"no function":      {tarn.IndexFunc[*Widget]("x", nil), "neither function, label nor path"},
		"no path":          {tarn.IndexField("x", ""), "neither function, label nor path"},
		"index twice":      {func() tarn.Option { return nil }(), ""},
	} {
		options := []tarn.Option{tc.option}
		if tc.option == nil {
			options = []tarn.Option{tarn.IndexLabel("a", "x"), tarn.IndexLabel("a", "y")}
			tc.want = "exists"
		}
		_, err := tarn.New[*Widget](newSource(), codec, options...)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := tarn.New[*Widget](nil, codec); err == nil || !strings.Contains(err.Error(), "no source") {
		t.Errorf("no source: %v", err)
	}
	i := newInformer(t, newSource())
	if _, err := i.Subscribe(nil); err == nil {
		t.Error("no handler is an error")
	}
	if _, err := i.Subscribe(&recorder{}, tarn.WhereLabels("a b")); err == nil {
		t.Error("a selector that cannot be read is an error")
	}
	if _, err := i.Subscribe(&recorder{}, tarn.Where(func(int) bool { return true })); err == nil {
		t.Error("a filter of another type is an error")
	}
}

// Ensures that the sync state is that of a run: after the end of one nobody takes its sync for that of the next.
func TestInformer_Run_SyncOfEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		_, s := subscribe(t, i)
		stop := run(t, i)
		synctest.Wait()
		expect(t, "synced", i.HasSynced() && s.HasSynced(), true)
		stop()
		expect(t, "synced after the end", i.HasSynced() || s.HasSynced(), false)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := i.WaitSynced(ctx); err == nil || !strings.Contains(err.Error(), "call Run") {
			t.Errorf("after the end: %v", err)
		}
		src.Add(widget("a/two", "n1", 2))
		waited := make(chan int)
		go func() {
			_, _ = i.WaitSynced(t.Context()), s.WaitSynced(t.Context())
			waited <- i.Len()
		}()
		synctest.Wait() // who waits is there before the next run
		stop = run(t, i)
		expect(t, "objects when the wait is over", <-waited, 2)
		stop()

		ended, end := context.WithCancel(t.Context())
		end()
		if err := i.Run(ended); err != nil {
			t.Errorf("a context that has ended: %v", err)
		}
		expect(t, "and it may run again", i.HasSynced(), false)
	})
}

// Ensures that waiting for several informers ends the moment the last is synced, and names those that are not.
func TestWaitSynced_Several(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quick, slow := newSource(), newSource()
		held := make(chan struct{})
		slow.OnRequest(func(ctx context.Context, _ tarntest.Request) error {
			select {
			case <-held:
			case <-ctx.Done():
			}
			return nil
		})
		a, b := newInformer(t, quick), newInformer(t, slow, tarn.Name("slow ones"))
		defer run(t, a)()
		defer run(t, b)()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := tarn.WaitSynced(ctx, a, b)
		if err == nil || !strings.Contains(err.Error(), "slow ones") || strings.Contains(err.Error(), "widgets") {
			t.Errorf("not synced: %v", err)
		}
		began := time.Now()
		time.AfterFunc(7*time.Second, func() { close(held) })
		if err := tarn.WaitSynced(t.Context(), b, a); err != nil {
			t.Error(err)
		}
		expect(t, "waited", time.Since(began), 7*time.Second)
	})
}

// Case 33: what other libraries have setters for is an option here, taken when the informer is made. So it holds from the
// first object on and cannot race with Run: there is no setter.
func TestCase33_OptionsAreSetBeforeRun(t *testing.T) {
	for _, runs := range []reflect.Type{
		reflect.TypeFor[*tarn.Informer[*Widget]](), reflect.TypeFor[*tarn.Subscription](), reflect.TypeFor[*tarn.Hub](),
		reflect.TypeFor[*reflector.Reflector](), reflect.TypeFor[*controller.Controller](),
		reflect.TypeFor[*queue.FIFO[*Widget]](), reflect.TypeFor[*queue.DeltaFIFO[*Widget]](),
	} {
		for m := range runs.Methods() {
			if strings.HasPrefix(m.Name, "Set") {
				t.Errorf("%s of %s would race with Run", m.Name, runs)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/bad", "n1", 13))
		src.Add(widget("a/good", "n1", 1))
		var seen, reported int
		i := newInformer(t, src, tarn.Transform(func(w *Widget) (*Widget, error) {
			if seen++; w.Spec.Size == 13 {
				return nil, errors.New("thirteen")
			}
			w.Spec.Size *= 100
			return w, nil
		}), tarn.OnError(func(error) { reported++ }))
		r, _ := subscribe(t, i)
		stop := run(t, i)
		expect(t, "transformed from the first on", r.take(), "added a/bad 13 initial, added a/good 100 initial")
		expect(t, "calls", fmt.Sprint(seen, reported), "2 1")
		stop()
	})
}

// Case 23: a fake client's events without versions are applied, always as a change, and the position is kept.
func TestInformer_NoVersions_Case23(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource(tarntest.StartAt(5))
		i := newInformer(t, src)
		r, _ := subscribe(t, i)
		stop := run(t, i)
		r.take()
		fake := &object.Object{
			Meta: object.Meta{Key: "a/one"}, Encoding: object.JSON,
			Raw: []byte(`{"metadata":{"namespace":"a","name":"one"},"spec":{"size":1}}`),
		}
		for _, event := range []source.EventType{source.Added, source.Modified, source.Modified, source.Deleted} {
			src.Send(source.Event{Type: event, Object: fake})
		}
		expect(t, "events", r.take(), "added a/one 1, updated a/one 1>1, updated a/one 1>1, deleted a/one 1")
		expect(t, "version", i.Status().Scopes[0].Version, "5")
		stop()
	})
}

// Ensures that the zero value of each option, and an option that is nil, is as good as leaving it out.
func TestNew_ZeroOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i, err := tarn.New[*Widget](src, tarntest.JSON[Widget](), tarn.Name(""), tarn.Only[*Widget](nil), tarn.Transform[*Widget](nil),
			tarn.Logger(nil), tarn.ReportTo(nil), tarn.OnError(nil), tarn.Backoff(nil), tarn.Codec(nil), tarn.PageSize(0),
			tarn.WatchTimeout(0, 0), tarn.RetryInternalErrors(0), nil)
		if err != nil {
			t.Fatal(err)
		}
		r, s := subscribe(t, i, tarn.Where[*Widget](nil), tarn.WhereLabels(""), tarn.Resync(0), tarn.Backlog(0, 0), tarn.SubscriberName(""), nil)
		if err := i.AddIndexes(nil); err != nil {
			t.Errorf("AddIndexes of nothing: %v", err)
		}
		stop := run(t, i)
		expect(t, "events", r.take(), "added a/one 1 initial")
		expect(t, "synced", s.HasSynced(), true)
		expect(t, "named", i.Name() != "" && s.Name() != "", true)
		stop()
	})
}
