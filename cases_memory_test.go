package tarn_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/internal/race"
	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/source"
	"github.com/tarn-dev/tarn/source/kube"
	"github.com/tarn-dev/tarn/wire"
)

// crowd is a source of many realistic pods that are made one by one as they are read, so that none of the memory is the
// source's. It is read by one goroutine, and changed while nobody reads.
type crowd struct {
	n         int
	codec     object.Codec
	templates [][]byte
	changed   func(i int) bool // which pods the next list has in another version
	version   int
	expire    chan struct{}  // each value ends a watch with a 410
	probe     func(read int) // called now and then, while a list is read
}

// What is the pod's own, as it stands in a template.
const nameMark, uidMark, versionMark = "pod-00000000", "aaaaaaaaaaaa", "17171717"

func newCrowd(t *testing.T, n int) *crowd {
	t.Helper()
	codec, err := kube.CodecFor(&corev1.Pod{})
	must(t, err)
	c := &crowd{n: n, codec: codec, version: 10_000_001, expire: make(chan struct{}), changed: func(int) bool { return true }, probe: func(int) {}}
	for o := range workload.New(workload.Options{Pods: 200}).All(workload.Pods) {
		pod := o.(*corev1.Pod).DeepCopy()
		pod.Namespace, pod.Name, pod.ResourceVersion, pod.UID = "prod", nameMark, versionMark, "0d5ba34e-1b8c-4a52-9e3f-"+uidMark
		raw, err := pod.Marshal()
		must(t, err)
		c.templates = append(c.templates, raw)
	}
	return c
}

// pod makes the i-th pod. Those that did not change have the version of the first list.
func (c *crowd) pod(i int) *object.Object {
	raw := bytes.ReplaceAll(c.templates[i*len(c.templates)/c.n], []byte(nameMark), fmt.Appendf(nil, "pod-%08d", i))
	version := 10_000_001
	if c.changed(i) {
		version = c.version
	}
	raw = bytes.ReplaceAll(raw, []byte(uidMark), fmt.Appendf(nil, "%012d", i))
	raw = bytes.ReplaceAll(raw, []byte(versionMark), strconv.AppendInt(nil, int64(version), 10))
	meta, err := wire.Meta(object.Protobuf, raw)
	if err != nil {
		panic(err)
	}
	if i%(c.n/8) == 0 {
		c.probe(i)
	}
	return &object.Object{Meta: meta, Encoding: object.Protobuf, Raw: raw, Codec: c.codec, Derived: true}
}

func (c *crowd) SupportsStreamingList() bool { return true }

func (c *crowd) List(_ context.Context, o metav1.ListOptions) (source.List, error) {
	from, _ := strconv.Atoi(o.Continue)
	l := &crowdList{c: c, at: from, to: c.n}
	if o.Limit > 0 {
		l.to = min(c.n, from+int(o.Limit))
	}
	return l, nil
}

type crowdList struct {
	c      *crowd
	at, to int
}

func (l *crowdList) Next() (*object.Object, error) {
	if l.at == l.to {
		return nil, io.EOF
	}
	l.at++
	return l.c.pod(l.at - 1), nil
}

func (l *crowdList) Meta() source.ListMeta {
	m := source.ListMeta{Version: strconv.Itoa(l.c.version)}
	if l.to < l.c.n {
		m.Continue = strconv.Itoa(l.to)
	}
	return m
}
func (*crowdList) Close() error { return nil }

func (c *crowd) Watch(ctx context.Context, o metav1.ListOptions) (source.Watch, error) {
	w := &crowdWatch{c: c, ctx: ctx, at: c.n + 1}
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		w.at = 0
	}
	return w, nil
}

type crowdWatch struct {
	c   *crowd
	ctx context.Context
	at  int
}

func (w *crowdWatch) Next() (source.Event, error) {
	w.at++
	switch i := w.at - 1; {
	case i < w.c.n:
		return source.Event{Type: source.Added, Object: w.c.pod(i)}, nil
	case i == w.c.n:
		version := object.Meta{Version: strconv.Itoa(w.c.version)}
		return source.Event{Type: source.Bookmark, InitialEventsEnd: true, Object: &object.Object{Meta: version}}, nil
	}
	select {
	case <-w.c.expire:
		return source.Event{Type: source.Error, Err: apierrors.NewResourceExpired("too old")}, nil
	case <-w.ctx.Done():
		return source.Event{}, w.ctx.Err()
	}
}
func (w *crowdWatch) Buffered() bool { return w.at < w.c.n }
func (*crowdWatch) Close() error     { return nil }

// crowdSize returns how many pods a test of memory has: fewer where everything takes ten times as long.
func crowdSize() int {
	if race.Enabled {
		return 3_000
	}
	return 10_000
}

// crowdCases runs a test for each way to list, each layout, transformed or not.
func crowdCases(t *testing.T, test func(t *testing.T, n int, options []tarn.Option)) {
	change := tarn.Transform(func(p *corev1.Pod) (*corev1.Pod, error) { p.ManagedFields = nil; return p, nil })
	run := func(name string, n int, options []tarn.Option) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, n, options) }) // so that the time before a relist passes at once
		})
	}
	for list, listed := range map[string][]tarn.Option{
		"list": {tarn.NoStreamingList(), tarn.PageSize(-1)}, "paged": {tarn.NoStreamingList(), tarn.PageSize(500)}, "streaming": nil,
	} {
		run(list+"/lean", crowdSize(), listed)
		run(list+"/live", crowdSize()/5, append(listed, tarn.Live()))
		run(list+"/lean, transformed", crowdSize()/5, append(listed, change))
		run(list+"/live, transformed", crowdSize()/10, append(listed, tarn.Live(), change))
	}
}

// Ensures (case 37) that memory rises by a few per cent while a list is read again of which one in a hundred objects
// changed, and that objects of the old list that somebody holds keep nothing but themselves alive.
func TestCase37_RelistMemory(t *testing.T) {
	crowdCases(t, func(t *testing.T, n int, options []tarn.Option) {
		c := newCrowd(t, n)
		before := heap()
		pods, err := tarn.New[*corev1.Pod](c, c.codec, append(options, tarn.Logger(slog.New(slog.DiscardHandler)))...)
		seen := make(chan string, 1)
		_, subscribeErr := pods.Subscribe(tarn.HandlerFunc[*corev1.Pod](func(_ context.Context, e tarn.Event[*corev1.Pod]) {
			if e.Key == lastOf(n) {
				seen <- e.Version()
			}
		}))
		must(t, subscribeErr)
		pods = inSync(t, pods, err)
		<-seen
		steady := heap() - before

		relist := func(changed func(i int) bool) {
			c.version++
			c.changed = changed
			c.expire <- struct{}{}
			if got := <-seen; got != strconv.Itoa(c.version) {
				t.Fatalf("version %s, want %d", got, c.version)
			}
		}
		peak := 0
		c.probe = func(int) { peak = max(peak, heap()-before) }
		relist(func(i int) bool { return i%100 == 99 })
		c.probe = func(int) {}
		if after := heap() - before; max(peak, after) > steady+steady/20+slack {
			t.Errorf("%d KB in use, at most %d KB while the list was read, %d KB after it", steady>>10, peak>>10, after>>10)
		}

		var held []*object.Object
		var values []*corev1.Pod
		for i := 0; i < n; i += n / 20 {
			o, _ := pods.Object(keyOf(i))
			v, _, err := pods.View(keyOf(i))
			must(t, err)
			held, values = append(held, o), append(values, v)
		}
		relist(func(int) bool { return true })
		if after := heap() - before; after > steady+steady/10+slack {
			t.Errorf("%d KB in use, %d KB after all changed and %d old ones are held", steady>>10, after>>10, len(held))
		}
		runtime.KeepAlive(held)
		runtime.KeepAlive(values)
		runtime.KeepAlive(pods)
	})
}

// Ensures (case 38) that a list, and a streaming list before all, holds no second copy of the set while it starts: memory
// only grows by what has come.
func TestCase38_StartMemory(t *testing.T) {
	crowdCases(t, func(t *testing.T, n int, options []tarn.Option) {
		c := newCrowd(t, n)
		before := heap()
		grown := map[int]int{}
		c.probe = func(read int) { grown[read] = heap() - before }
		pods, err := tarn.New[*corev1.Pod](c, c.codec, append(options, tarn.Logger(slog.New(slog.DiscardHandler)))...)
		pods = inSync(t, pods, err)
		steady := heap() - before
		for read, bytes := range grown {
			if share := steady * read / n; bytes > share+share/10+steady/20+slack {
				t.Errorf("%d KB after %d of %d objects, of which all take %d KB", bytes>>10, read, n, steady>>10)
			}
		}
		if len(grown) < 8 || pods.Len() != n {
			t.Errorf("%d looks, %d objects", len(grown), pods.Len())
		}
	})
}

// slack is for what does not go by the number of objects: the dictionary that a collection learns, buffers, pools, views.
const slack = 2 << 20

func keyOf(i int) string  { return fmt.Sprintf("prod/pod-%08d", i) }
func lastOf(n int) string { return keyOf(n - 1) }
