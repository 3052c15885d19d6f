package tarn_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
)

// flood is a source of keys objects whose watch modifies them in turn, changes times in all, as fast as it is read, and
// remembers nothing.
type flood struct {
	ctx           context.Context
	keys, changes int
	sent          int
}

func (f *flood) object(n int) *object.Object {
	return &object.Object{
		Meta:     object.Meta{Key: fmt.Sprintf("a/%04d", n%f.keys), UID: "u", Version: strconv.Itoa(n + 1)},
		Encoding: object.JSON, Raw: []byte(strings.Repeat(" ", 1000)),
	}
}

func (f *flood) lw() source.ListerWatcher {
	return &source.ListWatch{
		DisableStreamingList: true,
		ListFunc: func(context.Context, metav1.ListOptions) (source.List, error) {
			items := make([]*object.Object, f.keys)
			for n := range items {
				items[n] = f.object(n)
			}
			return source.ListOf(source.ListMeta{Version: strconv.Itoa(f.keys)}, items...), nil
		},
		WatchFunc: func(ctx context.Context, _ metav1.ListOptions) (source.Watch, error) {
			return &flood{ctx: ctx, keys: f.keys, changes: f.changes}, nil
		},
	}
}

func (f *flood) Next() (source.Event, error) {
	if f.sent < f.changes {
		f.sent++
		return source.Event{Type: source.Modified, Object: f.object(f.keys + f.sent - 1)}, nil
	}
	<-f.ctx.Done()
	return source.Event{}, io.EOF
}

func (f *flood) Buffered() bool { return f.sent > 0 && f.sent < f.changes }
func (f *flood) Close() error   { return nil }

// Ensures the whole of case 35: a handler blocks for ever while 1,000,000 changes on 1,000 keys arrive; the others get
// theirs, memory stays bounded, the backlog shows, and once released the handler gets the newest state of every key, each
// change from what it saw last.
func TestInformer_Blocked_Case35_Million(t *testing.T) {
	const keys, changes, limit = 1000, 1_000_000, 5000
	const batch = 512 // so many changes may have been published and not yet been looked at
	f := &flood{keys: keys, changes: changes}
	i, err := tarn.New[*object.Object](f.lw(), nil, tarn.Logger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	newest := map[string]string{} // of the blocked handler's goroutine, until it has caught up
	caughtUp := make(chan struct{})
	blocked, err := i.Subscribe(tarn.HandlerFunc[*object.Object](func(_ context.Context, e tarn.Event[*object.Object]) {
		<-release
		if last := newest[e.Key]; (e.Type == tarn.Added) != (last == "") || e.Type == tarn.Updated && e.Before().Version != last {
			t.Errorf("%s of %s, which it saw at %q last", e.Type, e.Key, last)
		}
		newest[e.Key] = e.Object().Version
		if e.Object().Version == strconv.Itoa(keys+changes) {
			close(caughtUp)
		}
	}), tarn.Backlog(limit, 0))
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	var peak int
	all := make(chan struct{})
	// It waits for the writer now and then, or it would fall behind too: a handler this quick still is slower than nothing.
	_, err = i.Subscribe(tarn.HandlerFunc[*object.Object](func(_ context.Context, e tarn.Event[*object.Object]) {
		n := seen.Add(1)
		if n%100_000 == 0 {
			peak = max(peak, heap())
			if b := blocked.Status().Backlog; b < keys || b > limit+keys+batch {
				t.Errorf("after %d changes the backlog shows %d", n, b)
			}
		}
		if e.Object().Version == strconv.Itoa(keys+changes) {
			close(all)
		}
	}), tarn.Backlog(2*changes, 1<<40))
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	before := heap()
	run(t, i)
	<-all
	if n := seen.Load(); n != keys+changes {
		t.Errorf("the other handler got %d of %d", n, keys+changes)
	}
	// All changes together are 1 GB; 1,000 objects, twice, and a backlog of 5,000 are 10 MB. The rest is what the quick
	// handler still had before it.
	t.Logf("at most %d MB more than before; %d conflated", (peak-before)>>20, blocked.Status().Conflated)
	after := heap()
	if after > before+30<<20 {
		t.Errorf("%d MB are held when all is done but the blocked handler", (after-before)>>20)
	}
	close(release)
	<-caughtUp
	if len(newest) != keys {
		t.Errorf("the released handler saw %d keys", len(newest))
	}
	for key, version := range newest {
		if o, ok := i.Object(key); !ok || o.Version != version {
			t.Errorf("%s ended at %s", key, version)
		}
	}
}
