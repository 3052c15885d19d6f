package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/tarn-dev/tarn/bench/internal/client"
)

// Ensures that waiting for a number of events ends when it is reached, before or after the wait began, and with the context.
func TestSink_Await(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := client.NewSink(client.KeyOnly, true)
		done := make(chan error, 1)
		go func() { done <- s.AwaitAdded(t.Context(), 2) }()
		synctest.Wait()
		s.Added("a/1")
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("over after one of two: %v", err)
		default:
		}
		s.Added("a/2")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := s.AwaitAdded(t.Context(), 2); err != nil {
			t.Fatalf("what was reached before: %v", err)
		}
		if keys := s.Keys(); len(keys) != 2 || keys[1] != "a/2" {
			t.Errorf("keys %q", keys)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		cancel(why)
		if err := s.AwaitUpdated(ctx, 1); !errors.Is(err, why) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// Ensures that a key that is announced is seen, also if it comes at once, and that none is taken for it.
func TestSink_Await_Key(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := client.NewSink(client.KeyOnly, false)
		done := make(chan error, 1)
		go func() {
			done <- s.Await(t.Context(), func() (string, error) {
				go s.Added("a/2")
				return "a/2", nil
			})
		}()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		why := errors.New("no")
		if err := s.Await(t.Context(), func() (string, error) { return "", why }); !errors.Is(err, why) {
			t.Errorf("announcement failed: %v", err)
		}
	})
}

// Ensures that a blocked handler stands still until it is released, and only for modifications.
func TestSink_Block(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := client.NewSink(client.KeyOnly, false)
		release := s.Block()
		s.Added("a/1")
		var last string
		s.OnUpdate(func(key string) { last = key })
		done := make(chan struct{})
		go func() { defer close(done); s.Updated("a/1") }()
		synctest.Wait()
		if last != "" {
			t.Error("the handler went on")
		}
		release()
		<-done
		if last != "a/1" || s.Updates() != 1 {
			t.Errorf("%q, %d updates", last, s.Updates())
		}
	})
}

// Ensures that the first failure is kept.
func TestSink_Fail(t *testing.T) {
	s := client.NewSink(client.KeyOnly, false)
	s.Fail(nil)
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	first := errors.New("first")
	s.Fail(first)
	s.Fail(errors.New("second"))
	if err := s.Err(); !errors.Is(err, first) {
		t.Errorf("%v", err)
	}
}

// Ensures that the clients have the names that figures are looked up by.
func TestNames(t *testing.T) {
	want := []string{"empty", "client-go", "client-go-strip", "client-go-dynamic", "controller-runtime", "statedb", "tarn-live", "tarn-lean", "limit-read", "limit-walk"}
	got := client.Names()
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
	if _, err := client.New("informer", client.Options{}); err == nil {
		t.Error("a client of another name")
	}
}
