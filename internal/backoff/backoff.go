// Package backoff says how long to wait before the next attempt.
package backoff

import (
	"math/rand/v2"
	"time"
)

// The default rule.
const (
	Base  = 800 * time.Millisecond
	Max   = 30 * time.Second
	Quiet = 2 * time.Minute
)

// Backoff draws the n-th wait evenly from [d, 2d], where d = Base·2ⁿ and at most Max. It starts over after a quiet
// time: when no wait was asked for within Quiet of the end of the last one. Fields that are zero are the constants of
// the same name. It is used by one goroutine.
type Backoff struct {
	Base, Max, Quiet time.Duration

	next time.Duration // d of the next wait; 0 = Base
	end  time.Time     // of the last wait
}

// Next returns how long to wait now.
func (b *Backoff) Next() time.Duration {
	base, limit, quiet := orDefault(b.Base, Base), orDefault(b.Max, Max), orDefault(b.Quiet, Quiet)
	now := time.Now()
	if b.next == 0 || now.Sub(b.end) > quiet {
		b.next = base
	}
	d := min(b.next, limit)
	b.next = min(2*d, limit)
	wait := d + rand.N(d+1)
	b.end = now.Add(wait)
	return wait
}

func orDefault(d, def time.Duration) time.Duration {
	if d == 0 {
		return def
	}
	return d
}
