package backoff_test

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/internal/backoff"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackoff_Next(t *testing.T) {
	// The n-th wait is uniform in [d, 2d], d = 0.8 s · 2ⁿ up to 30 s.
	synctest.Test(t, func(t *testing.T) {
		const runs = 400
		sum := make([]float64, 8)
		for range runs {
			var b backoff.Backoff
			d := 800 * time.Millisecond
			for n := range sum {
				wait := b.Next()
				if wait < d || wait > 2*d {
					t.Fatalf("wait %d is %s, want in [%s, %s]", n, wait, d, 2*d)
				}
				sum[n] += wait.Seconds() / d.Seconds()
				d = min(2*d, 30*time.Second)
				time.Sleep(wait) // fake time: it takes none
			}
		}
		for n, s := range sum {
			if mean := s / runs; mean < 1.4 || mean > 1.6 {
				t.Errorf("wait %d is %.2f d on average, want 1.5", n, mean)
			}
		}
	})
}

func TestBackoff_Next_StartsOver(t *testing.T) {
	// After two quiet minutes, counted from the end of the last wait, it starts over; before, it goes on.
	synctest.Test(t, func(t *testing.T) {
		for quiet, reset := range map[time.Duration]bool{119 * time.Second: false, 121 * time.Second: true} {
			var b backoff.Backoff
			for range 10 {
				time.Sleep(b.Next()) // fake time: it takes none
			}
			time.Sleep(quiet) // fake time: it takes none
			if wait := b.Next(); (wait <= 1600*time.Millisecond) != reset {
				t.Errorf("after %s: %s", quiet, wait)
			}
		}
	})
}

func TestBackoff_Next_Settings(t *testing.T) {
	// The numbers can be set.
	b := backoff.Backoff{Base: time.Millisecond, Max: 3 * time.Millisecond, Quiet: time.Hour}
	for n, d := range []time.Duration{1, 2, 3, 3} {
		d *= time.Millisecond
		if wait := b.Next(); wait < d || wait > 2*d {
			t.Errorf("wait %d is %s, want in [%s, %s]", n, wait, d, 2*d)
		}
	}
}
