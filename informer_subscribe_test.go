package tarn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
)

// A handler that is added late first gets every stored object, with no gap and no repetition; one that is removed gets
// nothing any more, also when removed twice, and of two equal handlers only the named one goes.
func TestInformer_Subscribe_LateAndRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		r := &recorder{}
		first, _ := i.Subscribe(r)
		stop := run(t, i)
		expect(t, "first", r.take(), "added a/one 1 initial")
		src.Update(widget("a/one", "n1", 2))
		synctest.Wait()
		second, _ := i.Subscribe(r)
		expect(t, "both", r.take(), "updated a/one 1>2, added a/one 2 initial")
		expect(t, "late handler synced", second.HasSynced(), true)
		src.Update(widget("a/one", "n1", 3))
		expect(t, "both follow", r.take(), "updated a/one 2>3, updated a/one 2>3")
		first.Remove()
		first.Remove()
		if err := first.RemoveAndWait(t.Context()); err != nil {
			t.Error(err)
		}
		src.Update(widget("a/one", "n1", 4))
		expect(t, "one is left", r.take(), "updated a/one 3>4")
		expect(t, "and shows", len(i.Status().Subscriptions), 1)
		stop()
		src.Update(widget("a/one", "n1", 5))
		stop = run(t, i)
		expect(t, "also in the next run", r.take(), "updated a/one 4>5")
		stop()
	})
}

// RemoveAndWait waits for the running call; asked for by the handler itself it is an error, not a deadlock.
func TestSubscription_RemoveAndWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		entered, leave := make(chan struct{}), make(chan struct{})
		var s *tarn.Subscription
		var own error
		s, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(ctx context.Context, _ tarn.Event[*Widget]) {
			close(entered)
			<-leave
			own = s.RemoveAndWait(ctx)
		}))
		stop := run(t, i)
		<-entered
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.RemoveAndWait(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while the handler runs: %v", err)
		}
		close(leave)
		if err := s.RemoveAndWait(t.Context()); err != nil {
			t.Error(err)
		}
		if own == nil || !strings.Contains(own.Error(), "own end") {
			t.Errorf("from the handler itself: %v", own)
		}
		stop()
	})
}

// Ensures that a handler may be told of an object that the store has in a newer state already.
func TestInformer_Subscribe_BehindStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		leave := make(chan struct{})
		var told, stored []int
		_, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) {
			<-leave
			event, err := e.New()
			state, _, _ := i.Get(e.Key)
			if err != nil {
				t.Error(err)
			}
			told, stored = append(told, event.Spec.Size), append(stored, state.Spec.Size)
		}))
		stop := run(t, i)
		synctest.Wait()
		src.Update(widget("a/one", "n1", 2))
		src.Update(widget("a/one", "n1", 3))
		synctest.Wait()
		close(leave)
		synctest.Wait()
		expect(t, "told", told, []int{1, 2, 3})
		expect(t, "stored", stored, []int{3, 3, 3})
		stop()
	})
}

// Case 35: a handler that blocks for ever delays nobody else and does not grow without bound; its backlog shows, and once
// released it gets the newest state of every key.
func TestInformer_Blocked_Case35(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys, rounds = 50, 400
		src := newSource()
		i := newInformer(t, src)
		blocked := &recorder{block: make(chan struct{})}
		release := sync.OnceFunc(func() { close(blocked.block) })
		defer release() // or a failure would hang
		s, _ := i.Subscribe(blocked, tarn.Backlog(1000, 0))
		var free atomic.Int64
		_, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(context.Context, tarn.Event[*Widget]) { free.Add(1) }))
		stop := run(t, i)
		synctest.Wait()
		name := func(n int) string { return "a/" + string(rune('A'+n%26)) + string(rune('a'+n/26)) }
		for n := range keys {
			src.Add(widget(name(n), "n", 0))
		}
		for round := 1; round <= rounds; round++ {
			for n := range keys {
				src.Update(widget(name(n), "n", round))
			}
			synctest.Wait()
			if b := s.Status().Backlog; b > 1000+keys {
				t.Fatalf("backlog of %d", b)
			}
		}
		expect(t, "the other handler", free.Load(), keys*(rounds+1))
		if c := s.Status().Conflated; c < keys*(rounds-30) {
			t.Errorf("only %d conflated", c)
		}
		release()
		events := strings.Split(blocked.take(), ", ")
		newest := map[string]string{}
		for _, e := range events {
			f := strings.Fields(e)
			newest[f[1]] = f[2][strings.Index(f[2], ">")+1:]
		}
		expect(t, "keys seen", len(newest), keys)
		for key, size := range newest {
			if size != "400" {
				t.Errorf("%s ended at %s", key, size)
			}
		}
		expect(t, "backlog", s.Status().Backlog, 0)
		stop()
	})
}

// Resync hands out every stored object each period, rounded to the grid of the smallest period asked for before start.
func TestInformer_Resync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		quick, _ := subscribe(t, i, tarn.Resync(time.Millisecond)) // a second at least
		never, _ := subscribe(t, i)
		stop := run(t, i)
		synctest.Wait()
		late, _ := subscribe(t, i, tarn.Resync(2500*time.Millisecond)) // rounded up to three
		quick.take()
		never.take()
		expect(t, "late", late.take(), "added a/one 1 initial")
		time.Sleep(3100 * time.Millisecond) // fake time: it takes none
		expect(t, "quick", quick.take(), "sync a/one 1, sync a/one 1, sync a/one 1")
		expect(t, "late", late.take(), "sync a/one 1")
		expect(t, "never", never.take(), "")
		stop()
	})
}

// Ensures that handlers which are added while a run ends lose nothing and keep nothing running: each has seen every object
// once when the next run is synced.
func TestInformer_Subscribe_WhileRunEnds(t *testing.T) {
	src := newSource()
	const objects = 20
	for n := range objects {
		src.Add(widget(fmt.Sprintf("a/%02d", n), "n1", n))
	}
	i := newInformer(t, src)
	type seen struct {
		sub   *tarn.Subscription
		count map[string]int // by the subscription's own goroutine
	}
	var all []*seen
	for range 30 {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- i.Run(ctx) }()
		added := make(chan *seen)
		go func() {
			defer close(added)
			for range 10 {
				s := &seen{count: map[string]int{}}
				s.sub, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) { s.count[e.Key]++ }))
				added <- s
			}
		}()
		for s := range added {
			all = append(all, s)
			if len(all)%10 == 5 {
				cancel()
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	stop := run(t, i)
	for _, s := range all {
		if err := s.sub.WaitSynced(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	for _, s := range all {
		expect(t, s.sub.Name(), len(s.count), objects)
		for key, n := range s.count {
			expect(t, s.sub.Name()+" "+key, n, 1)
		}
	}
}

// Ensures that a handler may remove its own subscription, or another one, and add one, from within.
func TestSubscription_Remove_InsideHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/1", "n1", 1))
		src.Add(widget("a/2", "n1", 2))
		i := newInformer(t, src)
		other, otherSub := subscribe(t, i)
		later := &recorder{}
		var calls []string
		var own *tarn.Subscription
		own, _ = i.Subscribe(tarn.HandlerFunc[*Widget](func(_ context.Context, e tarn.Event[*Widget]) {
			calls = append(calls, e.Key)
			own.Remove()
			otherSub.Remove()
			_, _ = i.Subscribe(later)
		}))
		stop := run(t, i)
		expect(t, "later", later.take(), "added a/1 1 initial, added a/2 2 initial")
		other.take()
		src.Update(widget("a/1", "n1", 3))
		expect(t, "later", later.take(), "updated a/1 1>3")
		expect(t, "other", other.take(), "")
		expect(t, "own", calls, "[a/1]")
		expect(t, "left", len(i.Status().Subscriptions), 1)
		stop()
	})
}

// Ensures that a blocked handler that asked for resync gets one round when it is free, however often the source was listed
// meanwhile, and that the grid of periods is the smallest asked for before the informer runs.
func TestInformer_Resync_Grid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		_, _ = subscribe(t, i, tarn.Resync(time.Minute))
		_, _ = subscribe(t, i, tarn.Resync(10*time.Second))
		stop := run(t, i)
		synctest.Wait()
		for asked, want := range map[time.Duration]int{time.Second: 6, 10 * time.Second: 6, 11 * time.Second: 3, 25 * time.Second: 2} {
			r, s := subscribe(t, i, tarn.Resync(asked))
			r.take()
			time.Sleep(time.Minute + time.Second) // fake time: it takes none
			expect(t, asked.String(), strings.Count(r.take(), "sync"), want)
			s.Remove()
		}
		stop()
	})
}

// Ensures that no call of the handler starts after Remove returned, also where the filter was still deciding.
func TestSubscription_Remove_DuringFilter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		src.Add(widget("a/one", "n1", 1))
		i := newInformer(t, src)
		deciding := make(chan struct{})
		r, s := subscribe(t, i, tarn.Where(func(*Widget) bool { <-deciding; return true }))
		stop := run(t, i)
		synctest.Wait()
		s.Remove()
		close(deciding)
		expect(t, "events after Remove", r.take(), "")
		stop()
	})
}

// Ensures that an initial walk that the end of Run cut short goes on where it was, whatever the namespaces are called.
func TestSubscription_Walk_ResumedAcrossNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSource()
		keys := []string{"a/x", "a/y", "a-b/x", "a.b/x", "a0/x", "ab/x", "x"}
		for _, k := range keys {
			src.Add(widget(k, "n1", 1))
		}
		i := newInformer(t, src)
		stop := run(t, i)
		synctest.Wait()
		var got []string
		walking := make(chan struct{}, 1)
		sub := tarn.HandlerFunc[*Widget](func(ctx context.Context, e tarn.Event[*Widget]) {
			got = append(got, e.Key)
			if e.Initial {
				walking <- struct{}{}
				<-ctx.Done()
			}
		})
		_, _ = i.Subscribe(sub)
		for range len(keys) {
			<-walking
			stop()
			stop = run(t, i)
		}
		synctest.Wait()
		stop()
		seen := map[string]int{}
		for _, k := range got {
			seen[k]++
		}
		for _, k := range keys {
			expect(t, k, seen[k], 1)
		}
	})
}
