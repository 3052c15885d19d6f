package tarn

import (
	"runtime"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source/kube"
)

type viewed struct {
	metav1.ObjectMeta `json:"metadata"`
	Size              int `json:"size"`
}

func viewedAt(t *testing.T, version string) *object.Object {
	t.Helper()
	codec, err := kube.CodecFor(&viewed{})
	if err != nil {
		t.Fatal(err)
	}
	return &object.Object{
		Meta:     object.Meta{Key: "a/one", UID: "u", Version: version},
		Encoding: object.JSON, Raw: []byte(`{"metadata":{"name":"one","namespace":"a"},"size":7}`), Codec: codec,
	}
}

// Ensures that all who look at one version share one value, that another version is another value, and that what has no
// version is not shared.
func TestViews_Get_Shared(t *testing.T) {
	var v views[*viewed]
	first, err := v.get(viewedAt(t, "1"))
	if err != nil || first.Size != 7 {
		t.Fatalf("%+v %v", first, err)
	}
	again, _ := v.get(viewedAt(t, "1"))
	if again != first {
		t.Error("two values of one version")
	}
	if other, _ := v.get(viewedAt(t, "2")); other == first {
		t.Error("one value of two versions")
	}
	a, _ := v.get(viewedAt(t, ""))
	if b, _ := v.get(viewedAt(t, "")); a == b {
		t.Error("a value without a version is shared")
	}
	runtime.KeepAlive(first)
}

// Ensures that the sharing ends when nobody has the value any more: nothing stays behind, and the next one is decoded anew.
func TestViews_Get_LetGo(t *testing.T) {
	var v views[*viewed]
	func() {
		for range 100 {
			if _, err := v.get(viewedAt(t, "1")); err != nil {
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
	if again, err := v.get(viewedAt(t, "1")); err != nil || again.Size != 7 {
		t.Errorf("%+v %v", again, err)
	}
}

// Ensures that concurrent first looks end with one value, while the collector runs.
func TestViews_Get_Concurrent(t *testing.T) {
	var v views[*viewed]
	for range 50 {
		var group sync.WaitGroup
		got := make([]*viewed, 8)
		for n := range got {
			group.Go(func() { got[n], _ = v.get(viewedAt(t, "1")) })
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
