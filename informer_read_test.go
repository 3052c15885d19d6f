package tarn_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Several conditions are answered from one state; a label selector and a namespace need no decoding.
func TestInformer_List_Conditions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1, "app", "web"))
		src.Add(widget("a/two", "n2", 1, "app", "web"))
		src.Add(widget("b/one", "n1", 1, "app", "db"))
		i := newInformer(t, src, tarn.IndexField("node", "spec.node"), tarn.IndexLabel("app", "app"))
		stop := run(t, i)
		synctest.Wait()
		expect(t, "two indexes", collect(t, i.List(tarn.Indexed("node", "n1"), tarn.Indexed("app", "web"))), []string{"one"})
		expect(t, "namespace", collect(t, i.List(tarn.InNamespace("a"))), []string{"one", "two"})
		expect(t, "labels", collect(t, i.List(tarn.HasLabels("app!=web"))), []string{"one"})
		for _, err := range i.List(tarn.HasLabels("a b")) {
			if err == nil {
				t.Error("a selector that cannot be read is an error")
			}
		}
		values, err := i.IndexValues("node")
		expect(t, "index values", values, []string{"n1", "n2"})
		expect(t, "no error", err, nil)
		field, ok, err := i.Field("b/one", "spec.node")
		if !ok || err != nil || !slices.Equal(field, []string{"n1"}) {
			t.Errorf("Field: %v %v %v", field, ok, err)
		}
		l := i.Lister()
		if _, err := l.Namespace("a").Get("three"); !apierrors.IsNotFound(err) {
			t.Errorf("lister: %v", err)
		}
		got, err := l.Namespace("a").List(nil)
		expect(t, "lister", len(got), 2)
		expect(t, "no error", err, nil)
		old := i.Snapshot()
		src.Delete("a/one")
		synctest.Wait()
		if _, ok := old.Object("a/one"); !ok {
			t.Error("a snapshot changed")
		}
		stop()
	})
}

// Ensures that an object which flips between (a, y) and (x, b) is never read as (a, b), by whichever conditions, and always
// as one of the two: case 30.
func TestInformer_List_NeverMixed_Case30(t *testing.T) {
	src := newSource()
	states := []*Widget{widget("n/flips", "a", 1, "app", "y"), widget("n/flips", "x", 1, "app", "b")}
	src.Add(states[0])
	i := newInformer(t, src, tarn.IndexField("node", "spec.node"), tarn.IndexLabel("app", "app"))
	defer run(t, i)()
	if err := i.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	var writer sync.WaitGroup
	writer.Go(func() {
		for n := 1; ; n++ {
			select {
			case <-read:
				return
			default:
				src.Update(states[n%2])
				runtime.Gosched()
			}
		}
	})
	mixed := [][]tarn.Cond{
		{tarn.Indexed("node", "a"), tarn.Indexed("app", "b")},
		{tarn.Indexed("app", "b"), tarn.Indexed("node", "a")},
		{tarn.Indexed("node", "a"), tarn.HasLabels("app=b")},
		{tarn.Indexed("node", "x"), tarn.InNamespace("n"), tarn.HasLabels("app=y")},
	}
	seen := map[int]bool{}
	for range 3000 {
		for _, conds := range mixed {
			if names := collect(t, i.List(conds...)); len(names) > 0 {
				t.Error("read what never was")
			}
		}
		s := i.Snapshot()
		first := collect(t, s.List(tarn.Indexed("node", "a"), tarn.Indexed("app", "y")))
		second := collect(t, s.List(tarn.Indexed("node", "x"), tarn.Indexed("app", "b")))
		if len(first)+len(second) != 1 {
			t.Errorf("in one state found %d and %d times", len(first), len(second))
		}
		seen[len(first)] = true
	}
	close(read)
	writer.Wait()
	expect(t, "states seen", len(seen), 2)
}

// Case 29: indexes can be added while the informer runs; what is stored already appears. A name that exists is a
// conflict, an option of another kind a mistake, and then nothing is added.
func TestInformer_AddIndexes_Case29(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1, "app", "web"))
		i := newInformer(t, src, tarn.IndexLabel("app", "app"))
		stop := run(t, i)
		synctest.Wait()
		if err := i.AddIndexes(tarn.IndexField("node", "spec.node")); err != nil {
			t.Fatal(err)
		}
		expect(t, "stored already", collect(t, i.By("node", "n1")), []string{"one"})
		src.Add(widget("a/two", "n1", 1))
		synctest.Wait()
		expect(t, "stored since", collect(t, i.By("node", "n1")), []string{"one", "two"})
		if err := i.AddIndexes(tarn.IndexLabel("other", "x"), tarn.IndexLabel("app", "y")); !errors.Is(err, store.ErrIndexExists) {
			t.Errorf("a name that exists: %v", err)
		}
		if _, err := i.IndexValues("other"); !errors.Is(err, store.ErrUnknownIndex) {
			t.Errorf("half of what failed was added: %v", err)
		}
		for _, option := range []tarn.Option{tarn.Live(), tarn.IndexField("bad", "spec.none")} {
			if err := i.AddIndexes(option); err == nil {
				t.Error("a mistake is not noticed")
			}
		}
		stop()
	})
}

// Values that are read are private: changing one changes nothing that others see.
func TestInformer_Get_Private(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, layout := range [][]tarn.Option{nil, {tarn.Live()}} {
			src := newSource()
			src.Add(widget("a/one", "n1", 1, "app", "web"))
			i := newInformer(t, src, layout...)
			stop := run(t, i)
			synctest.Wait()
			w, _, _ := i.Get("a/one")
			w.Spec.Size, w.Labels["app"] = 99, "changed"
			w, _, _ = i.Get("a/one")
			if w.Spec.Size != 1 || w.Labels["app"] != "web" {
				t.Errorf("the cache was changed: %+v", w)
			}
			stop()
		}
	})
}

// Only decides what is kept: an object that stops to qualify is deleted.
func TestInformer_Only(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/big", "n1", 10))
		src.Add(widget("a/small", "n1", 1))
		i := newInformer(t, src, tarn.Only(func(w *Widget) bool { return w.Spec.Size >= 10 }))
		r, _ := subscribe(t, i)
		stop := run(t, i)
		expect(t, "initial", r.take(), "added a/big 10 initial")
		src.Update(widget("a/big", "n1", 2))
		src.Update(widget("a/small", "n1", 12))
		expect(t, "transitions", r.take(), "deleted a/big 2, added a/small 12")
		expect(t, "stored", i.Len(), 1)
		stop()
	})
}

func collect(t *testing.T, seq func(func(*Widget, error) bool)) (names []string) {
	t.Helper()
	for w, err := range seq {
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, w.Name)
	}
	return names
}

// Ensures that a lister gets by name and namespace, lists by label selector and namespace, says NotFound as the API does,
// and hands out values that are the caller's own.
func TestLister(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1, "app", "web"))
		src.Add(widget("a/two", "n1", 2, "app", "db"))
		src.Add(widget("b/one", "n1", 3, "app", "web"))
		src.Add(widget("ab/one", "n1", 4))
		src.Add(widget("cluster", "n1", 5))
		i := newInformer(t, src)
		stop := run(t, i)
		synctest.Wait()
		web := labels.SelectorFromSet(labels.Set{"app": "web"})
		for what, tc := range map[string]struct {
			lister   tarn.Lister[*Widget]
			selector labels.Selector
			want     string
		}{
			"all":                     {i.Lister(), labels.Everything(), "[2 4 1 3 5]"},
			"by selector":             {i.Lister(), web, "[1 3]"},
			"by namespace":            {i.Lister().Namespace("a"), nil, "[1 2]"},
			"by both":                 {i.Lister().Namespace("a"), web, "[1]"},
			"nothing matches":         {i.Lister(), labels.Nothing(), "[]"},
			"no such namespace":       {i.Lister().Namespace("c"), nil, "[]"},
			"the last one counts":     {i.Lister().Namespace("a").Namespace("b"), nil, "[3]"},
			"a prefix of a namespace": {i.Lister().Namespace("ab"), nil, "[4]"},
		} {
			widgets, err := tc.lister.List(tc.selector)
			sizes := []int{}
			for _, w := range widgets {
				sizes = append(sizes, w.Spec.Size)
				w.Spec.Size = 99
			}
			slices.Sort(sizes)
			want := strings.Fields(strings.Trim(tc.want, "[]"))
			slices.Sort(want)
			expect(t, what, sizes, want)
			expect(t, what, err, nil)
		}
		w, err := i.Lister().Namespace("b").Get("one")
		if err != nil || w.Spec.Size != 3 {
			t.Errorf("Get: %v %v", w, err)
		}
		if w, err := i.Lister().Get("cluster"); err != nil || w.Spec.Size != 5 {
			t.Errorf("Get of a cluster-scoped object: %v %v", w, err)
		}
		if _, err := i.Lister().Namespace("b").Get("two"); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), i.Name()+` "two"`) {
			t.Errorf("Get of what is not there: %v", err)
		}
		stop()
	})
}

// Ensures that a condition on an index that has no such name, the empty one included, is an error and not all objects.
func TestInformer_List_UnknownIndex(t *testing.T) {
	i := newInformer(t, newSource(), tarn.IndexLabel("app", "app"))
	for _, name := range []string{"", "other"} {
		if _, err := i.Objects(tarn.Indexed(name, "web")); !errors.Is(err, store.ErrUnknownIndex) {
			t.Errorf("%q: %v", name, err)
		}
		if _, err := i.IndexValues(name); !errors.Is(err, store.ErrUnknownIndex) || !strings.Contains(err.Error(), `there are: ["app"]`) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := newInformer(t, newSource()).IndexValues("app"); !errors.Is(err, store.ErrUnknownIndex) || !strings.Contains(err.Error(), "there are none: give IndexField") {
		t.Errorf("no index at all: %v", err)
	}
}

// Ensures that readers which iterate over 50,000 objects while 10,000 changes a second arrive hold up neither the changes
// nor each other, and that each sees one state: all objects, none newer than the state, and the one that made it.
func TestSnapshot_All_WhileChanging(t *testing.T) {
	const objects, perSecond, seconds = 50_000, 10_000, 2
	src := newSource()
	for n := range objects {
		src.Add(&object.Object{Meta: object.Meta{Key: fmt.Sprintf("a/%05d", n)}})
	}
	i := newInformer(t, src)
	defer run(t, i)()
	if err := i.WaitSynced(t.Context()); err != nil {
		t.Fatal(err)
	}
	var iterations atomic.Int64
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := i.Snapshot()
				all, err := s.Objects()
				if err != nil {
					t.Error(err)
					return
				}
				count, newest := 0, "1"
				for o := range all {
					if order, ok := object.CompareVersions(o.Version, newest); ok && order > 0 {
						newest = o.Version
					}
					count++
				}
				if count != objects || newest != s.Version() {
					t.Errorf("%d objects up to %s in the state of %s", count, newest, s.Version())
					return
				}
				iterations.Add(1)
			}
		})
	}
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for sent := 0; sent < perSecond*seconds; <-tick.C {
		due := min(perSecond*seconds, int(time.Since(began).Seconds()*perSecond)+1)
		for ; sent < due; sent++ {
			src.Update(&object.Object{Meta: object.Meta{Key: fmt.Sprintf("a/%05d", sent*7%objects)}})
		}
	}
	sent := time.Since(began)
	for deadline := time.Now().Add(30 * time.Second); i.Snapshot().Version() != src.Version(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("at %s, 30 s after the source came to %s", i.Snapshot().Version(), src.Version())
		}
	}
	lag := time.Since(began) - sent
	close(done)
	readers.Wait()
	t.Logf("%d changes sent in %s, applied %s later, beside %d iterations over %d objects",
		perSecond*seconds, sent.Round(time.Millisecond), lag.Round(time.Millisecond), iterations.Load(), objects)
	if lag > 10*time.Second {
		t.Errorf("the readers held the changes up by %s", lag)
	}
}
