package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that a snapshot shows one state for ever, through each of its reads.
func TestSnapshot_Get_Frozen(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue}})
		must(t, s.Add(obj("a/x", "1", "p")))
		must(t, s.Add(obj("b/y", "2", "p", "q")))
		snap := s.Snapshot()
		must(t, s.Update(obj("a/x", "3", "r")))
		must(t, s.Delete(named("b/y")))
		must(t, s.Add(obj("a/z", "4", "p")))

		want(t, "All", showSeq(snap.All()), "a/x@1[p] b/y@2[p,q]")
		want(t, "Keys", fmt.Sprint(slices.Collect(snap.Keys())), "[a/x b/y]")
		want(t, "Namespace", showSeq(snap.Namespace("a")), "a/x@1[p]")
		by, err := snap.By("v", "p")
		must(t, err)
		want(t, "By", showSeq(by), "a/x@1[p] b/y@2[p,q]")
		want(t, "By, once more", showSeq(by), "a/x@1[p] b/y@2[p,q]")
		values, err := snap.ListIndexValues("v")
		must(t, err)
		want(t, "ListIndexValues", fmt.Sprint(values), "[p q]")
		got, _ := snap.Get("a/x")
		want(t, "Get", show(got), "a/x@1[p]")
		want(t, "version", snap.Version(), "2")
		if snap.Len() != 2 || snap.Scope(0).Len != 2 {
			t.Errorf("Len() = %d, Scope(0).Len = %d, want 2", snap.Len(), snap.Scope(0).Len)
		}
		refs := ""
		for key, ref := range snap.Refs() {
			refs += key + "=" + ref.Version() + "=" + show(ref.Object()) + " "
		}
		want(t, "Refs", refs, "a/x=1=a/x@1[p] b/y=2=b/y@2[p,q] ")
		want(t, "Ref", show(snap.Ref("b/y").Object()), "b/y@2[p,q]")
		if none := snap.Ref("nope"); !none.IsZero() || none.Object() != nil || none.Version() != "" {
			t.Error("a reference to nothing refers to something")
		}
		if seq := s.Snapshot().Seq(); seq != snap.Seq()+3 {
			t.Errorf("Seq went from %d to %d by three changes", snap.Seq(), seq)
		}
	})
}

// Ensures that every iterator stops when its loop does.
func TestSnapshot_All_Break(t *testing.T) {
	s := store.New(store.Options{Indexers: store.Indexers{"ns": byNamespace, "v": byValue}})
	for i := range 200 {
		must(t, s.Add(obj(fmt.Sprintf("n/%03d", i), "1", "all")))
	}
	snap := s.Snapshot()
	by, _ := snap.By("v", "all")
	both, _ := snap.Where(store.Equals("v", "all"), store.Equals("ns", "n"))
	n := 0
	for range snap.All() {
		n++
		break
	}
	for range snap.Namespace("n") {
		n++
		break
	}
	for range by {
		n++
		break
	}
	for range both {
		n++
		break
	}
	for range snap.Keys() {
		n++
		break
	}
	for range snap.Refs() {
		n++
		break
	}
	if n != 6 {
		t.Errorf("%d items from six loops that break", n)
	}
}

// Ensures that Where intersects index values, namespace and label selectors.
func TestSnapshot_Where_Intersects(t *testing.T) {
	eachLayout(t, func(t *testing.T, layout store.Layout) {
		s := store.New(store.Options{Layout: layout, Indexers: store.Indexers{"v": byValue, "node": byNode}})
		add := func(key, node, app string, values ...string) {
			o := encoded(key, "1", thing{Values: values, Node: node})
			o.Labels = object.Labels{{Key: "app", Value: app}}
			must(t, s.Add(o))
		}
		add("a/1", "n1", "web", "x", "y")
		add("a/2", "n1", "db", "x")
		add("a/3", "n2", "web", "x", "y")
		add("ab/1", "n1", "web", "y")
		add("b/1", "n1", "web", "x", "y")
		add("cluster", "n1", "web", "x")
		web, err := labels.Parse("app=web,app!=db")
		must(t, err)
		absent, err := labels.Parse("!zone")
		must(t, err)
		for name, c := range map[string]struct {
			conds []store.Cond
			want  string
		}{
			"nothing":              {nil, "a/1 a/2 a/3 ab/1 b/1 cluster"},
			"one":                  {[]store.Cond{store.Equals("v", "x")}, "a/1 a/2 a/3 b/1 cluster"},
			"none there":           {[]store.Cond{store.Equals("v", "z")}, ""},
			"two":                  {[]store.Cond{store.Equals("v", "x"), store.Equals("node", "n1")}, "a/1 a/2 b/1 cluster"},
			"three":                {[]store.Cond{store.Equals("v", "x"), store.Equals("node", "n1"), store.Equals("v", "y")}, "a/1 b/1"},
			"same twice":           {[]store.Cond{store.Equals("v", "y"), store.Equals("v", "y")}, "a/1 a/3 ab/1 b/1"},
			"two, one empty":       {[]store.Cond{store.Equals("v", "x"), store.Equals("node", "n9")}, ""},
			"namespace":            {[]store.Cond{store.InNamespace("a")}, "a/1 a/2 a/3"},
			"every namespace":      {[]store.Cond{store.InNamespace("")}, "a/1 a/2 a/3 ab/1 b/1 cluster"},
			"two namespaces":       {[]store.Cond{store.InNamespace("a"), store.InNamespace("b")}, ""},
			"namespace and one":    {[]store.Cond{store.InNamespace("a"), store.Equals("v", "y")}, "a/1 a/3"},
			"namespace and two":    {[]store.Cond{store.InNamespace("b"), store.Equals("v", "y"), store.Equals("node", "n1")}, "b/1"},
			"labels":               {[]store.Cond{store.Matches(web)}, "a/1 a/3 ab/1 b/1 cluster"},
			"absent label":         {[]store.Cond{store.Matches(absent), store.Matches(nil)}, "a/1 a/2 a/3 ab/1 b/1 cluster"},
			"labels and namespace": {[]store.Cond{store.Matches(web), store.InNamespace("a")}, "a/1 a/3"},
			"labels and two":       {[]store.Cond{store.Matches(web), store.Equals("v", "x"), store.Equals("node", "n1")}, "a/1 b/1 cluster"},
		} {
			objs, err := s.Snapshot().Where(c.conds...)
			must(t, err)
			var keys []string
			for o := range objs {
				keys = append(keys, o.Key)
			}
			want(t, name, strings.Join(keys, " "), c.want)
		}
	})
}
