package serve

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// item is one version of one object.
type item struct {
	*payload
	version uint64
}

// event is one modification that watches are told of.
type event struct {
	typ string
	item
}

// firstVersion is that of an object before the first: it has as many digits as all that follow.
const firstVersion = 1_000_000_000

// state is the collection as it is now, and what happened since it was as at first. Its methods may be called
// concurrently.
type state struct {
	c *collection

	mu      sync.Mutex
	items   []item // replaced, never changed, where somebody may hold it
	shared  bool   // somebody may hold items
	log     []event
	version uint64
	floor   uint64        // watches from a version below it have missed something
	more    chan struct{} // closed when there is more to see
	bursts  int
}

func newState(c *collection) *state {
	s := &state{c: c, more: make(chan struct{})}
	s.reset()
	return s
}

// reset makes the collection what it was at first. Watches that are open end.
func (s *state) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items, s.shared, s.log, s.bursts = make([]item, len(s.c.initial)), false, nil, 0
	for i := range s.c.initial {
		s.items[i] = item{&s.c.initial[i], firstVersion + uint64(s.c.made[i]) + 1}
	}
	// The version goes on, so that an old watch is known by it.
	s.version = max(s.version, firstVersion+uint64(len(s.items)))
	s.version++
	s.floor = s.version
	s.wake()
}

func (s *state) wake() {
	close(s.more)
	s.more = make(chan struct{})
}

// own makes sure that items may be changed.
func (s *state) own() {
	if s.shared {
		s.items, s.shared = slices.Clone(s.items), false
	}
}

// snapshot returns all objects and their version. They must not be changed.
func (s *state) snapshot() ([]item, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared = true
	return s.items, s.version
}

// relist modifies one object in a hundred, of which watches are not told: all end, as too old. It returns how many.
func (s *state) relist() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own()
	changed := 0
	for k := range changedBy(len(s.c.order)) {
		if p := &s.c.rounds[0][k]; p.at != [encodings]int32{} {
			s.version++
			s.items[s.c.order[k]] = item{p, s.version}
			changed++
		}
	}
	s.version++
	s.floor = s.version
	s.wake()
	return changed
}

// burst modifies objects n times, each of the first set objects in turn (0: all), and adds a new object behind them,
// whose key it returns.
func (s *state) burst(n, set int) (sentinel string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own()
	if set <= 0 || set > len(s.c.order) {
		set = len(s.c.order)
	}
	log := slices.Grow(s.log, n+1)
	empty := 0
	for k := 0; len(log)-len(s.log) < n; k++ {
		round := s.c.rounds[k/set%len(s.c.rounds)]
		if k%set >= len(round) || round[k%set].at == [encodings]int32{} {
			if empty++; empty > set*len(s.c.rounds) {
				return "", fmt.Errorf("nothing to modify among %d objects", set)
			}
			continue
		}
		empty = 0
		s.version++
		it := item{&round[k%set], s.version}
		s.items[s.c.order[k%set]] = it
		log = append(log, event{"MODIFIED", it})
	}
	s.bursts++
	p, key, err := s.c.sentinel(s.bursts)
	if err != nil {
		return "", err
	}
	s.version++
	it := item{&p, s.version}
	s.items = append(s.items, it)
	s.log = append(log, event{"ADDED", it})
	s.wake()
	return key, nil
}

// after returns what happened after version, or a channel to wait for more. It is too old if something of that is not
// known any more.
func (s *state) after(version uint64) (events []event, more <-chan struct{}, expired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version < s.floor {
		return nil, nil, true
	}
	at, _ := slices.BinarySearchFunc(s.log, version+1, func(e event, v uint64) int { return int(e.version) - int(v) })
	return s.log[at:], s.more, false
}

// now returns the version.
func (s *state) now() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// wait returns when there is more, or with the error of ctx.
func wait(ctx context.Context, more <-chan struct{}) error {
	select {
	case <-more:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
