package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ensures that DEMO_SECONDS is read, and that anything but a positive number is refused.
func TestLimit(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "7": 7 * time.Second, "0.5": 500 * time.Millisecond} {
		if got, err := limit(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "-1", "soon"} {
		if _, err := limit(text); err == nil {
			t.Errorf("%q: no error", text)
		}
	}
}
