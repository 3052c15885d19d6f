package reflector

import (
	"fmt"
	"time"
)

// Phase is what a [Reflector] is doing.
type Phase uint8

// The phases.
const (
	// Stopped is before and after Run.
	Stopped Phase = iota
	// Listing is reading the collection, by a plain or a streaming list.
	Listing
	// Connecting is asking for a watch whose answer has not come yet.
	Connecting
	// Watching is reading an open watch.
	Watching
	// Waiting is the wait before the next attempt.
	Waiting
)

// String returns the phase's name in lower case.
func (p Phase) String() string {
	switch p {
	case Stopped:
		return "stopped"
	case Listing:
		return "listing"
	case Connecting:
		return "connecting"
	case Watching:
		return "watching"
	case Waiting:
		return "waiting"
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Status is how things stand with a [Reflector].
type Status struct {
	Phase Phase
	// Synced says that the sink has been handed the whole collection at least once.
	Synced bool
	// Version is the last version that was seen; "" before the first.
	Version string
	// Epoch counts how often the server's history started over.
	Epoch int
	// LastError is the latest failure; nil when all is well (again). It says what was read and what was being done.
	LastError error
	// Failures is how many attempts failed in a row.
	Failures int
	// NextTry is when the next attempt is made; zero outside of the Waiting phase.
	NextTry time.Time
}

// Err returns LastError with what happens now, such as
// `pods in "prod": list: forbidden (7 attempts, retrying in 12s)`; nil when all is well. It wraps LastError.
func (s Status) Err() error {
	if s.LastError == nil {
		return nil
	}
	attempts := "attempts"
	if s.Failures == 1 {
		attempts = "attempt"
	}
	now := "retrying now"
	switch wait := time.Until(s.NextTry); {
	case s.Phase == Stopped:
		now = "stopped"
	case s.Phase == Waiting && wait >= time.Second:
		now = "retrying in " + wait.Round(time.Second).String()
	case s.Phase == Waiting && wait > 0:
		now = "retrying in " + wait.Round(100*time.Millisecond).String()
	}
	return fmt.Errorf("%w (%d %s, %s)", s.LastError, s.Failures, attempts, now)
}

// Status returns how things stand. It may be called from any goroutine.
func (r *Reflector) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recoverLocked()
	return r.status
}

// LastSyncResourceVersion returns the last version that was seen; "" before the first. It may be called from any
// goroutine.
func (r *Reflector) LastSyncResourceVersion() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status.Version
}

// recoverLocked ends a row of failures when a watch has stayed open for a second: silence is health, too.
func (r *Reflector) recoverLocked() {
	if r.status.Phase == Watching && time.Since(r.watchingSince) >= shortWatch {
		r.status.Failures, r.status.LastError = 0, nil
	}
}

// setPhase notes what is done now.
func (r *Reflector) setPhase(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recoverLocked()
	r.status.Phase = p
	r.status.NextTry = time.Time{}
	if p == Watching {
		r.watchingSince = time.Now()
	}
}

// setWaiting notes that the next attempt is in d.
func (r *Reflector) setWaiting(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Phase = Waiting
	r.status.NextTry = time.Now().Add(d)
}

// healthy ends a row of failures.
func (r *Reflector) healthy() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Failures, r.status.LastError = 0, nil
}

// fail counts a failed attempt and tells everyone who wants to know.
func (r *Reflector) fail(err error) {
	r.mu.Lock()
	r.recoverLocked()
	r.status.Failures++
	r.status.LastError = err
	failures := r.status.Failures
	r.mu.Unlock()
	r.options.Logger.Warn("reflector failed", "reflector", r.name, "failures", failures, "err", err)
	r.options.ErrorHandler(r.name, failures, err)
}

// report tells of an error that concerns one event or object only.
func (r *Reflector) report(op string, err error) {
	err = &operation{r.what, op, err}
	r.mu.Lock()
	failures := r.status.Failures
	r.mu.Unlock()
	r.options.Logger.Warn("reflector skipped or failed one object", "reflector", r.name, "err", err)
	r.options.ErrorHandler(r.name, failures, err)
}

// setVersion notes the last version.
func (r *Reflector) setVersion(v string) {
	r.mu.Lock()
	r.status.Version = v
	r.mu.Unlock()
	r.options.Metrics.Version(v)
}
