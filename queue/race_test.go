package queue_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tarn-dev/tarn/queue"
)

func TestDeltaFIFO_Race_FinalState(t *testing.T) {
	// Several producers with keys of their own, one that resyncs, readers and several poppers that fail, panic and requeue
	// at random: when all is quiet the consumer's store equals what the producers ended with, and per key it never saw an
	// older version after a newer one.
	const producers, keys, rounds = 4, 5, 400
	s := newStore()
	q := newDelta(queue.Options[pod]{KnownObjects: s})
	finals := make([]map[string]pod, producers)
	var producing, consuming sync.WaitGroup
	for n := range producers {
		finals[n] = map[string]pod{}
		producing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 2))
			for version := 1; version <= rounds; version++ {
				p := pod{fmt.Sprintf("%d-%d", n, r.IntN(keys)), version}
				var err error
				switch r.IntN(4) {
				case 0:
					delete(finals[n], p.name)
					err = q.Delete(p)
				case 1:
					delete(finals[n], p.name)
					err = q.DeleteKey(p.name)
				case 2:
					finals[n][p.name] = p
					err = q.Add(p)
				case 3:
					finals[n][p.name] = p
					err = q.Update(p)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	stop := make(chan struct{})
	var around sync.WaitGroup
	around.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if err := q.Resync(); err != nil {
					t.Error(err)
				}
				q.List()
				q.ListKeys()
				q.HasSynced()
			}
		}
	})
	seen := map[string]int{} // process calls never overlap
	for n := range 3 {
		consuming.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			for {
				_, err := q.Pop(func(ds deltas, initial bool) error {
					applied := len(ds)
					if r.IntN(3) == 0 {
						applied = r.IntN(len(ds) + 1)
					}
					for _, d := range ds[:applied] {
						if d.NoObject {
							continue
						}
						if d.Object.version < seen[d.Key] {
							t.Errorf("%s: version %d after %d", d.Key, d.Object.version, seen[d.Key])
						}
						seen[d.Key] = d.Object.version
					}
					if err := s.apply(ds[:applied], initial); err != nil {
						return err
					}
					return queue.ErrRequeue{Applied: applied, After: time.Duration(r.IntN(2)) * 10 * time.Microsecond}
				})
				if errors.Is(err, queue.ErrClosed) {
					return
				}
			}
		})
	}
	producing.Wait()
	close(stop)
	around.Wait()
	q.Close()
	consuming.Wait()
	want := map[string]pod{}
	for _, m := range finals {
		maps.Copy(want, m)
	}
	if !maps.Equal(s.pods, want) {
		t.Fatalf("store %v\nwant %v", s.pods, want)
	}
}

func TestDeltaFIFO_Race_Replace(t *testing.T) {
	// One producer that changes, deletes and relists as a reflector does, while process runs and requeues: nothing is lost,
	// the store ends as the last list with the changes after it.
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := newStore(pod{"old", 1})
		q := newDelta(queue.Options[pod]{KnownObjects: s})
		var consuming sync.WaitGroup
		for n := range 2 {
			consuming.Go(func() {
				r := rand.New(rand.NewPCG(seed, 5+uint64(n)))
				for {
					_, err := q.Pop(func(ds deltas, initial bool) error {
						if r.IntN(4) == 0 {
							return queue.ErrRequeue{}
						}
						return s.apply(ds, initial)
					})
					if errors.Is(err, queue.ErrClosed) {
						return
					}
				}
			})
		}
		want := map[string]pod{}
		for version := range 300 {
			p := pod{string(rune('a' + r.IntN(6))), version + 2}
			switch r.IntN(4) {
			case 0:
				delete(want, p.name)
				must(t, q.Delete(p))
			case 1:
				for name := range want {
					if r.IntN(2) == 0 {
						delete(want, name)
					}
				}
				want[p.name] = p
				var list []pod
				for _, listed := range want {
					list = append(list, listed)
				}
				must(t, q.Replace(list, ""))
			default:
				want[p.name] = p
				must(t, q.Update(p))
			}
		}
		q.Close()
		consuming.Wait()
		delete(want, "old")
		if s.pods["old"].version != 0 || !q.HasSynced() {
			t.Fatalf("seed %d: %v, synced %v", seed, s.pods["old"], q.HasSynced())
		}
		if !maps.Equal(s.pods, want) {
			t.Fatalf("seed %d: store %v\nwant %v", seed, s.pods, want)
		}
	}
}

func TestFIFO_Race_FinalState(t *testing.T) {
	// Producers and poppers that requeue at random: the last value popped for each key is the last that was put in.
	const producers, keys, rounds = 4, 5, 400
	q := queue.NewFIFO(keyOf)
	finals := make([]map[string]pod, producers)
	var producing, consuming sync.WaitGroup
	for n := range producers {
		finals[n] = map[string]pod{}
		producing.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 6))
			for version := 1; version <= rounds; version++ {
				p := pod{fmt.Sprintf("%d-%d", n, r.IntN(keys)), version}
				if r.IntN(3) == 0 {
					if err := q.Delete(p); err != nil {
						t.Error(err)
					}
				}
				finals[n][p.name] = p
				if err := q.Add(p); err != nil {
					t.Error(err)
				}
			}
		})
	}
	got := map[string]pod{}
	for n := range 3 {
		consuming.Go(func() {
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for {
				_, err := q.Pop(func(p pod, _ bool) error {
					if p.version < got[p.name].version {
						t.Errorf("%v after %v", p, got[p.name])
					}
					got[p.name] = p
					if r.IntN(3) == 0 {
						return queue.ErrRequeue{}
					}
					return nil
				})
				if errors.Is(err, queue.ErrClosed) {
					return
				}
			}
		})
	}
	producing.Wait()
	q.Close()
	consuming.Wait()
	want := map[string]pod{}
	for _, m := range finals {
		maps.Copy(want, m)
	}
	if !maps.Equal(got, want) {
		t.Fatalf("popped %v\nwant %v", got, want)
	}
}
