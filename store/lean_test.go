package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/tarn-dev/tarn/internal/workload"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
	"github.com/tarn-dev/tarn/wire"
)

// encodedAs makes a stored object of what the workload makes.
func encodedAs(t testing.TB, o workload.Object) *object.Object {
	t.Helper()
	enc, raw, err := workload.Encode(o)
	must(t, err)
	meta, err := wire.Meta(enc, raw)
	must(t, err)
	return &object.Object{Meta: meta, Encoding: enc, Raw: raw, Derived: true}
}

// put stores objects as one change.
func put(t testing.TB, s *store.Store, objs ...*object.Object) {
	t.Helper()
	write(t, s, 0, objs)
}

// same fails the test unless got is the object want, byte for byte.
func same(t testing.TB, got, want *object.Object) {
	t.Helper()
	if got == nil || got.Encoding != want.Encoding || !bytes.Equal(got.Raw, want.Raw) || !reflect.DeepEqual(got.Meta, want.Meta) ||
		got.Codec != want.Codec || got.WireSize != want.WireSize {
		t.Fatalf("stored %s@%s, got back %+v", want.Key, want.Version, got)
	}
}

// Ensures that everything that is stored is read back byte for byte, with its metadata, whatever its kind, how alike the
// objects are and how often they change, and that a reference to an earlier state stays what it was.
func TestLean_Get_SameBytes(t *testing.T) {
	for _, drift := range []float64{0, 1, 3} {
		g := workload.New(workload.Options{Pods: 600, CustomObjects: 300, Drift: &drift})
		for _, kind := range workload.Kinds() {
			t.Run(fmt.Sprint(kind, "/", drift), func(t *testing.T) {
				s := store.New(store.Options{})
				want, held := map[string]*object.Object{}, map[*object.Object]store.Ref{}
				note := func(o *object.Object) {
					o.WireSize = len(o.Key) % 3 * 100
					want[o.Key] = o
					put(t, s, o)
					held[o] = s.Snapshot().Ref(o.Key)
				}
				for o := range g.All(kind) {
					note(encodedAs(t, o))
				}
				if kind == workload.Pods || kind == workload.CustomObjects {
					for n := 1; n <= 6; n++ {
						for i := n; i < g.Count(kind); i += 7 {
							note(encodedAs(t, g.Change(kind, i, n).Object))
						}
					}
				}
				for key, o := range want {
					got, _ := s.GetByKey(key)
					same(t, got, o)
				}
				for o, ref := range held {
					same(t, ref.Object(), o)
					if ref.UID() != o.UID || ref.Version() != o.Version || ref.Size() != o.Size() || !reflect.DeepEqual(ref.Labels(), o.Labels) {
						t.Fatalf("%s: uid %s, version %s, %d bytes, labels %v", o.Key, ref.UID(), ref.Version(), ref.Size(), ref.Labels())
					}
				}
			})
		}
	}
}

// Ensures that what cannot be made again from its bytes is kept as it came: a marked object, one with metadata that the
// bytes do not have, one without bytes, and one that is larger than any server takes.
func TestLean_Get_KeptAsItCame(t *testing.T) {
	s := store.New(store.Options{})
	marked := obj("a/marked", "1")
	marked.Err = errFunc
	other := obj("a/other", "1")
	other.Labels = object.Labels{{Key: "not", Value: "in the bytes"}}
	huge := obj("a/huge", "1", string(bytes.Repeat([]byte("x"), 17<<20)))
	value := &object.Object{Meta: object.Meta{Key: "a/value", Version: "1"}, Value: &thing{Node: "n"}, Codec: codec{}}
	for _, o := range []*object.Object{marked, other, huge, value} {
		put(t, s, o)
		if got, _ := s.GetByKey(o.Key); got != o {
			t.Errorf("%s: got another object", o.Key)
		}
	}
}

// Ensures that the figures about what is kept follow what is stored, back to nothing.
func TestStore_Stats(t *testing.T) {
	g := workload.New(workload.Options{Pods: 2000})
	s := store.New(store.Options{})
	fillPods(t, s, g, 0, 2000)
	marked := obj("a/marked", "1")
	marked.Err = errFunc
	put(t, s, marked)
	st := s.Stats()
	records := st.Siblings + st.Alone
	if records != 2000 || st.Siblings < 1500 || st.AsIs != 1 || st.Bases < 50 || st.Bases > 500 {
		t.Errorf("%+v", st)
	}
	if st.Kept < 2000*300 || st.Kept > 2000*1500 || st.Dictionary < 10<<10 || st.Dictionary > 512<<10 {
		t.Errorf("%+v", st)
	}
	_, _ = s.GetByKey("a/marked")
	must(t, s.Replace(nil, "2"))
	if st := s.Stats(); st.Siblings+st.Alone+st.AsIs+st.Bases != 0 || st.Kept != 0 {
		t.Errorf("of nothing: %+v", st)
	}
	if st := store.New(store.Options{Layout: store.Raw}).Stats(); st != (store.Stats{}) {
		t.Errorf("raw: %+v", st)
	}
}

// podsOf returns pods from the i-th on.
func podsOf(t testing.TB, g *workload.Generator, from, to int) (pods []*object.Object) {
	for i := from; i < to; i++ {
		pods = append(pods, encodedAs(t, g.Object(workload.Pods, i)))
	}
	return pods
}

// fillPods stores pods, of which nothing but the store is left.
func fillPods(t testing.TB, s *store.Store, g *workload.Generator, from, to int) {
	for i := from; i < to; i += 500 {
		put(t, s, podsOf(t, g, i, min(i+500, to))...)
	}
}

// Ensures that pods take a fifth of their bytes at most, and that after ten full turnovers of objects the memory is what
// a fresh store takes.
func TestLean_Heap_Turnover(t *testing.T) {
	const n = 1500
	g := workload.New(workload.Options{Pods: n})
	measure := func(turnovers int) int64 {
		before := heap()
		s := store.New(store.Options{})
		fillPods(t, s, g, turnovers*n, (turnovers+1)*n) // what is there at the end
		fresh := heap() - before
		for round := range turnovers {
			gone := s.ListKeys()
			for i := 0; i < n; i += 500 {
				now := (round+turnovers+1)*n + i
				must(t, s.Write(nil, func(tx *store.Txn) error {
					for _, key := range gone[i : i+500] {
						tx.Delete(key)
					}
					return nil
				}))
				fillPods(t, s, g, now, now+500)
			}
		}
		after := heap() - before
		if s.Snapshot().Len() != n {
			t.Fatalf("%d objects", s.Snapshot().Len())
		}
		if turnovers > 0 && after > fresh*5/4 {
			t.Errorf("after %d turnovers %d KB, fresh %d KB", turnovers, after>>10, fresh>>10)
		}
		return after
	}
	measure(0) // pools are filled
	if fresh := measure(0); fresh > n*7000/5 {
		t.Errorf("%d bytes for an object", fresh/n)
	}
	measure(10)
}

// Ensures that a reference to one object holds that object, and none of its neighbours.
func TestLean_Ref_PinsWhatItShows(t *testing.T) {
	const n = 3000
	g := workload.New(workload.Options{Pods: n})
	s := store.New(store.Options{})
	fillPods(t, s, g, 0, n)
	var refs []store.Ref
	i := 0
	for _, ref := range s.Snapshot().Refs() {
		if i++; i%100 == 0 {
			refs = append(refs, ref)
		}
	}
	before := heap()
	must(t, s.Replace(nil, "2"))
	freed := before - heap()
	want := refs[7].Object()
	if left := int64(len(refs)) * 8000; freed < n*600-left {
		t.Errorf("%d KB were freed of %d objects", freed>>10, n)
	}
	same(t, refs[7].Object(), want)
	runtime.KeepAlive(refs)
	runtime.KeepAlive(s)
}

// Ensures that labels, versions and bytes are right for readers while the objects are replaced, deleted and made again.
// With the race detector on, every record that is read is compared with the checksum of what was stored.
func TestLean_Get_Concurrent(t *testing.T) {
	const n = 300
	g := workload.New(workload.Options{Pods: n})
	s := store.New(store.Options{})
	fillPods(t, s, g, 0, n)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				for key, ref := range s.Snapshot().Refs() {
					o := ref.Object()
					if o.Key != key || o.Version != ref.Version() || !reflect.DeepEqual(o.Labels, ref.Labels()) {
						t.Errorf("%s@%s is %s@%s", key, ref.Version(), o.Key, o.Version)
						return
					}
				}
			}
		})
	}
	var writers sync.WaitGroup
	for w := range 2 {
		writers.Go(func() {
			for step := 1; step <= 8; step++ {
				for i := w; i < n; i += 2 {
					c := g.Change(workload.Pods, i, step)
					o := encodedAs(t, c.Object)
					if c.Kind == workload.Delete {
						must(t, s.Delete(o))
						continue
					}
					put(t, s, o)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// Ensures that objects that have nothing in common with the first one of their owner get a base that fits them.
func TestLean_Base_Replaced(t *testing.T) {
	owned := func(i int, text string) *object.Object {
		raw := fmt.Appendf(nil, `{"metadata":{"name":"p%d","uid":"u%d","resourceVersion":"1","ownerReferences":[{"apiVersion":"v1","kind":"Set","name":"s","uid":"s","controller":true}]},"values":[%q]}`, i, i, text)
		meta, err := wire.Meta(object.JSON, raw)
		must(t, err)
		return &object.Object{Meta: meta, Encoding: object.JSON, Raw: raw, Codec: codec{}, Derived: true}
	}
	noise := func(seed byte) string {
		b := make([]byte, 4000)
		for i := range b {
			b[i] = 'a' + byte((i*i*int(seed)+i/7*int(seed))>>3%26)
		}
		return string(b)
	}
	s := store.New(store.Options{})
	put(t, s, owned(0, noise(3)))
	before := heap()
	for i := 1; i < 800; i++ {
		put(t, s, owned(i, noise(11)))
	}
	if each := (heap() - before) / 800; each > 1000 {
		t.Errorf("%d bytes each", each)
	}
	for i := range 800 {
		want := owned(i, noise(11))
		if i == 0 {
			want = owned(i, noise(3))
		}
		got, _ := s.GetByKey(want.Key)
		same(t, got, want)
	}
}

// Ensures that bases are compressed with what all of them share, also where they are few and their siblings have nothing
// of it to say.
func TestLean_Base_Compressed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string { return fmt.Sprintf("%016x", random.Uint64()) }
	shared := ""
	for range 500 {
		shared += word()
	}
	const siblings = 60
	s := store.New(store.Options{})
	for group := range 100 {
		own := word() + word()
		for n := range siblings {
			raw := fmt.Appendf(nil, `{"metadata":{"name":"g%d-%d","namespace":"a","uid":"%s","resourceVersion":"%d","ownerReferences":[{"kind":"G","name":"g","uid":"%s","controller":true}]},"own":%q,"shared":%q}`,
				group, n, word(), group*siblings+n, own, own, shared)
			meta, err := wire.Meta(object.JSON, raw)
			must(t, err)
			put(t, s, &object.Object{Meta: meta, Encoding: object.JSON, Raw: raw, Derived: true})
		}
	}
	stats := s.Stats()
	if bytes := int(stats.Kept) / stats.Bases; stats.Bases != 100 || bytes > 5500 {
		t.Errorf("%d bases, which take with their siblings %d bytes each", stats.Bases, bytes)
	}
}
