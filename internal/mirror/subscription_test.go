package mirror_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/internal/mirror"
	"github.com/tarn-dev/tarn/object"
)

// Ensures that a subscription which ends in the midst of its initial walk goes on there in its next run, and one that
// removes itself gets nothing more, now or later.
func TestSubscription_Run_EndsDuringWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		f.list("1", obj("a/1", "u", 1, 1), obj("a/2", "u", 1, 1), obj("a/3", "u", 1, 1), obj("a/4", "u", 1, 1))
		l := &log{}
		var stop context.CancelFunc
		s := m.Subscribe(mirror.SubscriptionOptions{}, func(ctx context.Context, c mirror.Change) {
			if l.deliver(ctx, c); c.Newest().Object().Name() == "2" {
				stop()
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		s.Run(ctx)
		expect(t, "first run", l.take(), "+a/1@1 +a/2@1")
		expect(t, "backlog", s.Stats().Backlog, 2)
		f.do(f.Update(obj("a/1", "u", 2, 1)), f.Delete(obj("a/4", "u", 3, 1)), f.Flush())
		stop = s.Remove
		again := deliver(s)
		expect(t, "second run", l.take(), "+a/3@1 +a/4@1 ~a/1@2 -a/4@3")
		expect(t, "synced", s.Stats().Synced, true)
		again()
		expect(t, "synced after the run", s.Stats().Synced, false)

		var r *mirror.Subscription
		r = m.Subscribe(mirror.SubscriptionOptions{Resync: time.Second}, func(ctx context.Context, c mirror.Change) {
			l.deliver(ctx, c)
			r.Remove()
		})
		defer deliver(r)()
		f.do(f.Update(obj("a/1", "u", 5, 1)), f.Flush())
		time.Sleep(5 * time.Second) // fake time: it takes none
		expect(t, "removed by itself", l.take(), "+a/1@2")
		r.Run(t.Context())
		expect(t, "and for good", l.take(), "")
	})
}

// Ensures that the initial adds of a conflated backlog stay initial, that those which were never seen cancel out, and that
// the subscription is in sync only when the last of them has been handled.
func TestSubscription_Conflated_Initial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		l, block := &log{}, make(chan struct{})
		s := m.Subscribe(mirror.SubscriptionOptions{MaxEntries: 5}, func(ctx context.Context, c mirror.Change) {
			<-block
			l.deliver(ctx, c)
		})
		defer deliver(s)()
		var list []*object.Object
		for n := range 10 {
			list = append(list, obj(fmt.Sprintf("a/%d", n), "u", n+1, 1))
		}
		f.list("10", list...)
		synctest.Wait()
		f.do(f.Update(obj("a/4", "u", 11, 1)), f.Delete(obj("a/5", "u", 12, 1)), f.Flush())
		for n := range 10 {
			f.do(f.Update(obj("a/6", "u", 20+n, 1)), f.Flush())
		}
		for calls := range 9 {
			synctest.Wait()
			if s.Stats().Synced {
				t.Fatalf("synced after %d calls", calls)
			}
			block <- struct{}{}
		}
		synctest.Wait()
		expect(t, "synced", s.Stats().Synced, true)
		if got := l.take(); strings.Contains(got, "a/5") || strings.Contains(got, "~") || !strings.Contains(got, "+a/6@29") {
			t.Errorf("changes: %s", got)
		}
		for _, c := range l.all {
			if !c.Initial {
				t.Errorf("%s is not initial", c.Key)
			}
		}
	})
}

// Ensures that resync and conflation go together: a handler that was blocked over many ticks gets the newest state of
// each object, then one round, and no object goes back.
func TestSubscription_Resync_Conflated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := mirror.New(mirror.Options{})
		f := newFeed(t, m, "")
		f.list("1", obj("a/x", "u", 1, 1), obj("a/y", "u", 1, 1))
		l, block := &log{}, make(chan struct{})
		s := m.Subscribe(mirror.SubscriptionOptions{MaxEntries: 3, Resync: time.Second}, func(ctx context.Context, c mirror.Change) {
			<-block
			l.deliver(ctx, c)
		})
		defer deliver(s)()
		for n := range 20 {
			f.do(f.Update(obj("a/x", "u", n+2, 1)), f.Flush())
			time.Sleep(time.Second) // fake time: it takes none
		}
		f.do(f.Delete(obj("a/y", "u", 30, 1)), f.Flush())
		close(block)
		expect(t, "changes", l.take(), "+a/x@1 +a/y@1 ~a/x@21 -a/y@30 =a/x@21")
		time.Sleep(time.Second + time.Millisecond) // fake time: it takes none
		expect(t, "the next tick", l.take(), "=a/x@21")
		s.Remove()
		time.Sleep(time.Minute) // fake time: it takes none
		expect(t, "removed", l.take(), "")
	})
}

// Ensures that the figures are never from before and after a change at once: no backlog below zero.
func TestSubscription_Stats_Concurrent(t *testing.T) {
	m := mirror.New(mirror.Options{})
	f := newFeed(t, m, "")
	s := m.Subscribe(mirror.SubscriptionOptions{}, func(context.Context, mirror.Change) {})
	defer deliver(s)()
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if st := s.Stats(); st.Backlog < 0 || st.BacklogBytes < 0 || st.Backlog > 20_000 {
				t.Errorf("backlog of %d, %d bytes", st.Backlog, st.BacklogBytes)
				return
			}
		}
	})
	for n := range 20_000 {
		f.do(f.Update(obj("a/x", "u", n+1, 1)), f.Flush())
	}
	close(done)
	group.Wait()
}

// Ensures that a handler which blocks for ever holds up nobody and nothing: a million changes on a thousand keys reach the
// other one, the backlog stays bounded, and released it gets the newest state of every key, each in one step.
func TestSubscription_Blocked_Million(t *testing.T) {
	const keys, rounds, limit = 1000, 1000, 10_000
	m := mirror.New(mirror.Options{})
	f := newFeed(t, m, "")
	names := make([]string, keys)
	newest := map[string]string{}
	entered, block, last := make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	blocked := m.Subscribe(mirror.SubscriptionOptions{MaxEntries: limit}, func(_ context.Context, c mirror.Change) {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-block
		newest[c.Key] = c.Newest().Version()
		if c.Newest().Version() == fmt.Sprint(keys*rounds+1) {
			close(last)
		}
	})
	stop := deliver(blocked)
	others, caughtUp := 0, make(chan struct{})
	free := m.Subscribe(mirror.SubscriptionOptions{}, func(context.Context, mirror.Change) {
		if others++; others%keys == 0 {
			caughtUp <- struct{}{}
		}
	})
	defer deliver(free)()
	list := make([]*object.Object, keys)
	for n := range keys {
		names[n] = fmt.Sprintf("a/%04d", n)
		list[n] = &object.Object{Meta: object.Meta{Key: names[n], UID: "u", Version: "1"}}
	}
	f.list("1", list...)
	<-entered
	<-caughtUp
	version := 1
	for range rounds {
		for _, name := range names {
			version++
			f.do(f.Update(&object.Object{Meta: object.Meta{Key: name, UID: "u", Version: fmt.Sprint(version)}}))
		}
		f.do(f.Flush())
		<-caughtUp
		if b := blocked.Stats().Backlog; b > limit+keys {
			t.Fatalf("backlog of %d", b)
		}
	}
	if c := blocked.Stats().Conflated; c < keys*rounds-limit-keys {
		t.Errorf("%d conflated", c)
	}
	close(block)
	within(t, "the released handler", func() { <-last })
	stop()
	expect(t, "keys seen", len(newest), keys)
	for n, name := range names {
		expect(t, name, newest[name], version-keys+n+1)
	}
	if d := blocked.Stats().Delivered; d > limit+2*keys {
		t.Errorf("%d calls", d)
	}
}
