package tarn

import (
	"runtime"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/store"
)

type viewed struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

// stored returns a reference to an object of one version, in a store of its own.
func stored(t testing.TB, version string) store.Ref {
	t.Helper()
	codec, err := kube.CodecFor(&viewed{})
	if err != nil {
		t.Fatal(err)
	}
	s := store.New(store.Options{})
	err = s.Add(&object.Object{
		Meta:     object.Meta{Key: "a/one", UID: "u", Version: version},
		Encoding: object.JSON, Codec: codec, Derived: true,
		Raw: []byte(`{"metadata":{"name":"one","namespace":"a","uid":"u","resourceVersion":"` + version + `"},"size":7}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Snapshot().Ref("a/one")
}

// Ensures that all who look at one version share one value, and that another version is another value.
func TestViews_Get_Shared(t *testing.T) {
	v := newViews[*viewed](0)
	one, two := stored(t, "1"), stored(t, "2")
	first, err := v.get(one)
	if err != nil || first.Size != 7 {
		t.Fatalf("%+v %v", first, err)
	}
	again, _ := v.get(one)
	if again != first {
		t.Error("two values of one version")
	}
	if other, _ := v.get(two); other == first {
		t.Error("one value of two versions")
	}
	runtime.KeepAlive(first)
}

// Ensures that what is looked at again and again is kept while nobody has it, as far as there is room, and that the
// memory for it counts.
func TestViews_Get_Hot(t *testing.T) {
	collected := func(limit int64) bool {
		v, ref := newViews[*viewed](limit), stored(t, "1")
		gone := make(chan struct{})
		func() {
			for range 3 {
				value, err := v.get(ref)
				if err != nil {
					t.Fatal(err)
				}
				if v.hot.Size() > limit {
					t.Errorf("%d bytes in %d", v.hot.Size(), limit)
				}
				runtime.GC()
				runtime.KeepAlive(value)
			}
			value, _ := v.get(ref)
			runtime.AddCleanup(value, func(c chan struct{}) { close(c) }, gone)
		}()
		for range 10 {
			runtime.GC()
		}
		select {
		case <-gone:
			return true
		case <-time.After(100 * time.Millisecond):
		}
		runtime.KeepAlive(v)
		return false
	}
	if collected(1 << 20) {
		t.Error("a hot value was let go")
	}
	if !collected(100) {
		t.Error("a value is kept without room for it")
	}
}

// Ensures that the sharing ends when nobody has the value any more: nothing stays behind, and the next one is decoded anew.
func TestViews_Get_LetGo(t *testing.T) {
	v, one := newViews[*viewed](0), stored(t, "1")
	func() {
		for range 100 {
			if _, err := v.get(one); err != nil {
				t.Fatal(err)
			}
		}
	}()
	count := func() int {
		v.mu.Lock()
		defer v.mu.Unlock()
		return len(v.shared)
	}
	for deadline := time.Now().Add(10 * time.Second); count() > 0; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d are kept", count())
		}
		runtime.Gosched()
	}
	if again, err := v.get(one); err != nil || again.Size != 7 {
		t.Errorf("%+v %v", again, err)
	}
}

// Ensures that concurrent first looks end with one value, while the collector runs.
func TestViews_Get_Concurrent(t *testing.T) {
	v, one := newViews[*viewed](0), stored(t, "1")
	for range 50 {
		var group sync.WaitGroup
		got := make([]*viewed, 8)
		for n := range got {
			group.Go(func() { got[n], _ = v.get(one) })
		}
		group.Go(runtime.GC)
		group.Wait()
		for _, g := range got {
			if g == nil || g != got[0] || g.Size != 7 {
				t.Fatalf("%p and %p", g, got[0])
			}
		}
	}
}
