package queue_test

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn/queue"
)

func TestQueue_Close(t *testing.T) {
	// After Close, called twice, mutations fail, Pop hands out what is pending in order and then says that it is closed.
	both(t, testClose[pod], testClose[queue.Deltas[pod]])
}

func testClose[I any](t *testing.T, k kind[I]) {
	q := k.make()
	must(t, q.Add(pod{"b", 1}))
	must(t, q.Add(pod{"a", 1}))
	q.Close()
	q.Close()
	for name, err := range map[string]error{
		"Add":             q.Add(pod{"c", 1}),
		"Update":          q.Update(pod{"a", 2}),
		"Delete":          q.Delete(pod{"a", 2}),
		"DeleteKey":       q.DeleteKey("a"),
		"AddIfNotPresent": q.AddIfNotPresent(k.item(pod{"c", 1})),
		"Replace":         q.Replace(nil, "1"),
		"Resync":          q.Resync(),
	} {
		if !errors.Is(err, queue.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var names []string
	for _, item := range drain[I](t, q) {
		names = append(names, k.pod(item).name)
	}
	equal(t, "drained", names, []string{"b", "a"})
}

func TestCase05_CloseRacesPop(t *testing.T) {
	// Case 5: Close races Pops that block on an empty queue; 1,000 times each returns ErrClosed and none hangs, whether all,
	// some or none of them were blocked already.
	both(t, testCloseRacesPop[pod], testCloseRacesPop[queue.Deltas[pod]])
}

func testCloseRacesPop[I any](t *testing.T, k kind[I]) {
	for round := range 1000 {
		q := k.make()
		const poppers = 3
		errs := make(chan error, poppers)
		for range poppers {
			go func() {
				_, err := q.Pop(nothing[I])
				errs <- err
			}()
		}
		for range round % 20 { // the later Close comes, the more of them are blocked
			runtime.Gosched()
		}
		q.Close()
		for range poppers {
			if err := <-errs; !errors.Is(err, queue.ErrClosed) {
				t.Fatal(err)
			}
		}
	}
}

func TestQueue_Close_WhileProcessRequeues(t *testing.T) {
	// Another popper of a closed queue waits for the running process, because its item may come back.
	both(t, testCloseRequeue[pod], testCloseRequeue[queue.Deltas[pod]])
}

func testCloseRequeue[I any](t *testing.T, k kind[I]) {
	synctest.Test(t, func(t *testing.T) {
		q := k.make()
		must(t, q.Add(pod{"a", 1}))
		got := make(chan pod, 1)
		_, err := q.Pop(func(I, bool) error {
			q.Close()
			go func() {
				item, err := q.Pop(nothing[I])
				if err != nil {
					t.Error(err)
				}
				got <- k.pod(item)
			}()
			synctest.Wait()
			return queue.ErrRequeue{After: time.Hour}
		})
		must(t, err)
		equal(t, "again", <-got, pod{"a", 1})
	})
}
