package reflector_test

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// table is a sink that keeps the version of each object.
type table map[string]string

func (t table) Add(o *object.Object) error    { t[o.Key] = o.Version; return nil }
func (t table) Update(o *object.Object) error { t[o.Key] = o.Version; return nil }
func (t table) Delete(o *object.Object) error { delete(t, o.Key); return nil }
func (t table) Resync() error                 { return nil }

func (t table) Replace(list []*object.Object, version string) error {
	clear(t)
	for _, o := range list {
		t[o.Key] = o.Version
	}
	fmt.Println("listed at", version)
	return nil
}

// A reflector keeps a map in step with a source that lists two objects, changes one and deletes the other.
func ExampleReflector() {
	server := &script{
		start: time.Now(),
		onList: func(int, metav1.ListOptions) (source.List, error) {
			return listAt("10", pod("prod/a", "4"), pod("prod/b", "9"))
		},
		onWatch: func(int, metav1.ListOptions) ([]step, error) {
			return steps(modified("prod/a", "11"), deleted("prod/b", "12"), bookmark("20"), hang())
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	kept := table{}
	r := reflector.New(server, kept, reflector.Options{
		StreamingList: reflector.StreamingOff,
		Metrics:       untilVersion{"20", cancel},
	})
	if err := r.Run(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println(kept, "at", r.LastSyncResourceVersion())
	// Output:
	// listed at 10
	// map[prod/a:11] at 20
}

// untilVersion ends the example when the version is reached.
type untilVersion struct {
	version string
	cancel  func()
}

func (u untilVersion) Version(v string) {
	if v == u.version {
		u.cancel()
	}
}
func (untilVersion) Event(source.EventType)                               {}
func (untilVersion) ListDone(reflector.Outcome, bool, time.Duration, int) {}
func (untilVersion) WatchDone(reflector.Outcome, time.Duration, int)      {}
