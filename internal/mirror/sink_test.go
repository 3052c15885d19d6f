package mirror_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/store"
)

// Ensures that the count of bytes is the sum over what is stored, on every path and in each layout.
func TestMirror_Bytes(t *testing.T) {
	for _, layout := range []store.Layout{store.Lean, store.Raw, store.Live} {
		t.Run(layout.String(), func(t *testing.T) {
			flaky := false
			m := mirror.New(mirror.Options{
				Layout: layout,
				Keep:   func(o *object.Object) (bool, error) { return o.Name() != "unwanted", nil },
				Transform: func(o *object.Object) (*object.Object, error) {
					if o.Name() == "flaky" {
						if flaky = !flaky; flaky {
							return nil, errors.New("flaky")
						}
					}
					cut := *o
					cut.Raw = []byte(`{"metadata":{"name":"cut"}}`)
					return &cut, nil
				},
			})
			if err := m.AddIndexers(store.Indexers{"flaky": func(o *object.Object) ([]string, error) {
				if o.Name() == "flaky" {
					return nil, errors.New("flaky too")
				}
				return nil, nil
			}}); err != nil {
				t.Fatal(err)
			}
			f := newFeed(t, m, "")
			check := func(what string) {
				t.Helper()
				sum := 0
				for o := range m.Snapshot().All() {
					sum += o.Size()
				}
				expect(t, what, m.Bytes(), sum)
			}
			undecodable := obj("a/undecodable", "u", 2, 0)
			undecodable.Raw = []byte(`{"data":7}`)
			undecodable.Err = errors.New("kept as it came")
			f.list("2", obj("a/x", "u", 1, 10), obj("a/flaky", "u", 2, 20), undecodable, obj("a/unwanted", "u", 2, 9))
			check("list")
			expect(t, "kept", m.Snapshot().Len(), 3)
			for n := range 4 {
				f.list("3", obj("a/x", "u", 1, 10), obj("a/flaky", "u", 2, 20), undecodable)
				check(fmt.Sprintf("relist %d: fails again, further along or not", n))
			}
			f.do(f.Update(obj("a/x", "u", 4, 100)), f.Add(obj("a/y", "u", 5, 7)), f.Flush())
			check("update and add")
			f.do(f.Add(obj("a/x", "other", 6, 50)), f.Flush())
			check("another uid")
			f.do(f.Delete(obj("a/y", "u", 7, 700)), f.Delete(obj("a/never", "u", 8, 1)), f.Flush())
			check("delete")
			f.listEpoch("3", obj("a/x", "other", 2, 30), obj("a/z", "u", 3, 3))
			check("new epoch")
			m.DropScope(f.scope)
			expect(t, "nothing left", m.Bytes(), 0)
		})
	}
}

// Ensures that the very first list may be seen while it arrives, without gap or repetition for who subscribes in its
// midst, changes inside it included; and that nobody is in sync before its end.
func TestMirror_FirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		key := func(n int) string { return fmt.Sprintf("a/%04d", n) }
		before := &log{}
		first := m.Subscribe(mirror.SubscriptionOptions{}, before.deliver)
		defer deliver(first)()

		broken := f.Stage(false)
		for n := range 600 {
			f.do(broken.Add(obj(key(n), "u", n+1, 1)))
		}
		broken.Abort()
		if n := m.Snapshot().Len(); n == 0 {
			t.Error("nothing was seen while the list arrived")
		}
		after := &log{}
		second := m.Subscribe(mirror.SubscriptionOptions{}, after.deliver)
		defer deliver(second)()
		stage := f.Stage(false)
		for n := range 700 {
			f.do(stage.Add(obj(key(n), "u", n+1, 1)))
		}
		f.do(stage.Delete(obj(key(3), "u", 800, 1)), stage.Delete(obj(key(699), "u", 801, 1)), stage.Add(obj(key(5), "u", 802, 1)))
		synctest.Wait()
		expect(t, "synced", m.HasSynced() || first.Stats().Synced || second.Stats().Synced, false)
		f.do(stage.Commit("900", false))
		synctest.Wait()
		expect(t, "synced", m.HasSynced() && first.Stats().Synced && second.Stats().Synced, true)
		expect(t, "stored", m.Snapshot().Len(), 698)
		for name, l := range map[string]*log{"before": before, "after": after} {
			l.take()
			if len(l.all) != 698+4 && len(l.all) != 698+3 { // what was seen and deleted twice, one update, and 699 if it was seen
				t.Errorf("%s: %d changes", name, len(l.all))
			}
			state := map[string]string{}
			for _, c := range l.all {
				key := c.Key
				_, known := state[key]
				if known != (c.Kind != mirror.Added) || c.Kind == mirror.Added && !c.Initial {
					t.Errorf("%s: kind %d of %s, initial %v, known %v", name, c.Kind, key, c.Initial, known)
				}
				if state[key] = c.Newest().Version(); c.Kind == mirror.Deleted {
					delete(state, key)
				}
			}
			expect(t, name, len(state), 698)
			expect(t, name, state[key(5)], "802")
		}
	})
}

// Ensures that an object without a version is always taken as changed, and does not move the version; and that an event
// that comes late does not move it back.
func TestMirror_Versions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		l := &log{}
		defer deliver(m.Subscribe(mirror.SubscriptionOptions{}, l.deliver))()
		f.list("5", obj("a/x", "u", "", 1))
		f.do(f.Update(obj("a/x", "u", "", 1)), f.Flush())
		f.list("5", obj("a/x", "u", "", 1))
		f.do(f.Delete(obj("a/x", "u", "", 1)), f.Flush())
		expect(t, "always a change", l.take(), "+a/x@ ~a/x@ ~a/x@ -a/x@")
		expect(t, "version", m.Snapshot().Version(), "5")
		f.do(f.Add(obj("a/y", "u", 9, 1)), f.Flush())
		f.do(f.Add(obj("a/z", "u", 7, 1)), f.Update(obj("a/y", "u", 8, 1)), f.Add(obj("a/y", "u", 9, 1)), f.Delete(obj("a/y", "u", 8, 1)), f.Flush())
		expect(t, "what is stored already, or newer than that, is none", l.take(), "+a/y@9 +a/z@7")
		expect(t, "version", m.Snapshot().Version(), "9")
		f.do(f.Bookmark("20"), f.Flush())
		expect(t, "bookmark", m.Snapshot().Version(), "20")
	})
}

// Ensures that in a new epoch an object of the same uid and version is a change, and in the same epoch it is none.
func TestMirror_Epoch_SameVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		l := &log{}
		defer deliver(m.Subscribe(mirror.SubscriptionOptions{}, l.deliver))()
		f.list("5", obj("a/x", "u", 3, 1))
		f.list("6", obj("a/x", "u", 3, 1))
		expect(t, "one epoch", l.take(), "+a/x@3")
		f.listEpoch("4", obj("a/x", "u", 3, 1))
		expect(t, "a new one", l.take(), "~a/x@3")
		f.do(f.Update(obj("a/x", "u", 5, 1)), f.Flush())
		expect(t, "it is followed", l.take(), "~a/x@5")
	})
}

// Ensures that the mirror runs as long as somebody uses it, and is out of sync from its end on.
func TestMirror_Acquire_Shared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newTestSource()
		m := mirror.New(mirror.Options{})
		m.AddScope("", scopeOf(src))
		one, two := m.Acquire(), m.Acquire()
		synctest.Wait()
		one()
		src.Add(object1("a/one"))
		synctest.Wait()
		expect(t, "the other goes on", m.Snapshot().Len(), 1)
		expect(t, "in sync", m.HasSynced(), true)
		two()
		expect(t, "in sync after the end", m.HasSynced(), false)
		src.Add(object1("a/two"))
		next := m.Synced()
		defer m.Acquire()()
		<-next
		expect(t, "brought up to date before it is in sync", m.Snapshot().Len(), 2)
	})
}

// Ensures that a relist of one scope hands out the unchanged objects of that scope only, and only once to a handler that
// was blocked during many.
func TestSubscription_Relisted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		a, b := newFeed(t, m, "a"), newFeed(t, m, "b")
		l, block := &log{}, make(chan struct{})
		s := m.Subscribe(mirror.SubscriptionOptions{Resync: 24 * time.Hour}, func(ctx context.Context, c mirror.Change) {
			<-block
			l.deliver(ctx, c)
		})
		defer deliver(s)()
		a.list("1", obj("a/x", "u", 1, 1), obj("a/y", "u", 1, 1))
		b.list("1", obj("b/x", "u", 1, 1))
		for range 100 {
			a.list("2", obj("a/x", "u", 1, 1), obj("a/y", "u", 2, 1))
		}
		close(block)
		expect(t, "changes", l.take(), "+a/x@1 +a/y@1 +b/x@1 ~a/y@2 =a/x@1 =a/y@2")
	})
}
