package tarn_test

import (
	"context"
	"errors"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tarn-dev/tarn"
	"github.com/tarn-dev/tarn/tarntest"
)

// bubbled returns the stacks of the goroutines of the caller's bubble.
func bubbled(t *testing.T) (stacks []string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	all := strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n")
	bubble := regexp.MustCompile(`synctest bubble \d+`).FindString(all[0]) // the caller's is the first
	if bubble == "" {
		t.Fatal("not in a bubble")
	}
	for _, stack := range all {
		if head, _, _ := strings.Cut(stack, "\n"); strings.Contains(head, bubble+"]") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

// Ensures that no goroutine is left the moment Run has returned, whatever it was doing: not one that ends by itself later,
// either, which the check at the end of all tests would miss.
func TestInformer_Run_LeavesNothing(t *testing.T) {
	down := func(context.Context, tarntest.Request) error { return errors.New("down") }
	for name, tc := range map[string]struct {
		options []tarn.Option
		prepare func(src *tarntest.Source)
		during  func(src *tarntest.Source)
	}{
		"watching":        {},
		"watching, plain": {options: []tarn.Option{tarn.NoStreamingList(), tarn.PageSize(1)}},
		"waiting":         {prepare: func(src *tarntest.Source) { src.OnRequest(down) }},
		"asking": {prepare: func(src *tarntest.Source) {
			src.OnRequest(func(ctx context.Context, _ tarntest.Request) error { <-ctx.Done(); return ctx.Err() })
		}},
		"reconnected": {during: func(src *tarntest.Source) { src.Disconnect(errors.New("cut")) }},
		"relisted": {during: func(src *tarntest.Source) {
			src.FailNext(tarntest.WatchVerb, errors.New("down"))
			src.Disconnect(errors.New("cut"))
			src.Expire()
		}},
		"busy": {during: func(src *tarntest.Source) {
			for range 1000 {
				src.Update(widget("a/one", "n1", 1))
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSource()
				src.Add(widget("a/one", "n1", 1))
				src.Add(widget("a/two", "n1", 2))
				if tc.prepare != nil {
					tc.prepare(src)
				}
				i := newInformer(t, src, tc.options...)
				subscribe(t, i, tarn.Resync(time.Second))
				_, err := i.Subscribe(tarn.HandlerFunc[*Widget](func(context.Context, tarn.Event[*Widget]) {
					time.Sleep(time.Second) // the handler's own work, in fake time
				}), tarn.Backlog(10, 0))
				if err != nil {
					t.Fatal(err)
				}
				before := bubbled(t)
				for range 2 {
					stop := run(t, i)
					_, removed := subscribe(t, i)
					time.Sleep(90 * time.Second) // fake time: it takes none
					if tc.during != nil {
						tc.during(src)
					}
					removed.Remove()
					stop()
					synctest.Wait() // let go of what has ended
					if after := bubbled(t); len(after) != len(before) {
						t.Fatalf("%d goroutines, %d before Run:\n%s", len(after), len(before), strings.Join(after, "\n\n"))
					}
				}
			})
		})
	}
}
