package tarn_test

import (
	"slices"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tarn-dev/tarn"
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
