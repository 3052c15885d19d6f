package phase

import (
	"time"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/measure"
)

// synced waits for the first copy: until the handler has seen every object.
func (s *subject) synced(before measure.Usage) error {
	if err := s.sink.AwaitAdded(s.ctx, s.Objects); err != nil {
		return err
	}
	used := measure.Since(before)
	s.add("sync", SyncWall, used.Wall.Seconds())
	s.add("sync", SyncCPU, used.CPU.Seconds())
	return s.peak("sync", SyncPeakRSS)
}

// sync is a workload of the first copy alone.
func (s *subject) sync() error { return s.heap() }

// collection is a workload of the first copy and a relist.
func (s *subject) collection() error {
	if err := s.heap(); err != nil || !client.Reads(s.Client) {
		return err
	}
	return s.relist()
}

// pods is the whole life of a copy.
func (s *subject) pods() error {
	if err := s.collection(); err != nil || s.Client == client.LimitRead || s.Burst == 0 {
		return err
	}
	for _, b := range []struct {
		phase string
		mode  client.Mode
	}{{"burst", client.KeyOnly}, {"burst-decode-new", client.DecodeNew}, {"burst-decode-old-new", client.DecodeOldNew}} {
		s.sink.SetMode(b.mode)
		if err := s.burst(b.phase, s.burstSize(b.mode)); err != nil {
			return err
		}
		if s.Client == client.LimitWalk {
			break // it decodes nothing
		}
	}
	return nil
}

// burstSize is how many modifications a burst has: fewer where a whole one would take minutes, or has been measured already
// because the library has decoded everything before its handler is called.
func (s *subject) burstSize(mode client.Mode) int {
	switch s.Client {
	case client.ClientGoDynamic:
		return max(s.Burst/50, 1)
	case client.ClientGoStrip, client.ControllerRuntime, client.StateDB:
		if mode != client.KeyOnly {
			return max(s.Burst/5, 1)
		}
	}
	return s.Burst
}

// relist makes the server forget what the client knows. It is over when the handler has seen what has changed meanwhile,
// and then an object that is added after that: so the copy is being watched again.
func (s *subject) relist() error {
	if err := measure.ResetPeak(); err != nil {
		return err
	}
	seen := s.sink.Updates()
	before := measure.Now()
	changed, err := s.Control.Relist(s.ctx)
	if err != nil {
		return err
	}
	if err := s.sink.AwaitUpdated(s.ctx, seen+changed); err != nil {
		return err
	}
	if err := s.sink.Await(s.ctx, func() (string, error) { return s.Control.Burst(s.ctx, 0, 0) }); err != nil {
		return err
	}
	used := measure.Since(before)
	s.add("relist", RelistWall, used.Wall.Seconds())
	s.add("relist", RelistCPU, used.CPU.Seconds())
	return s.peak("relist", RelistPeakRSS)
}

// burst modifies objects as fast as the client takes it, and measures until the handler has seen the last. What counts are
// the events that the handler saw: where it is too slow, some libraries merge those of one object.
func (s *subject) burst(phase string, n int) error { return s.bursts(phase, n, n, 0) }

// bursts is burst in parts, the next when the handler has seen the last of the one before, among the first set objects.
func (s *subject) bursts(phase string, n, part, set int) error {
	seen := s.sink.Updates()
	before := measure.Now()
	for left := n; left > 0; left -= part {
		err := s.sink.Await(s.ctx, func() (string, error) { return s.Control.Burst(s.ctx, min(left, part), set) })
		if err != nil {
			return err
		}
	}
	used := measure.Since(before)
	events := max(s.sink.Updates()-seen, 1)
	s.add(phase, BurstRate, float64(events)/used.Wall.Seconds())
	s.add(phase, BurstCPUPerEvent, used.CPU.Seconds()/float64(events))
	s.add(phase, BurstAllocsPerEvent, float64(used.Allocs)/float64(events))
	if events < n {
		s.note("%s: the handler saw %d events of %d modifications; the others were merged", phase, events, n)
	}
	return nil
}

// backlog is a workload of a handler that stands still during a burst.
func (s *subject) backlog() error {
	if err := s.heap(); err != nil {
		return err
	}
	release := s.sink.Block()
	defer release()
	if err := measure.ResetPeak(); err != nil {
		return err
	}
	sentinel, err := s.Control.Burst(s.ctx, s.Burst, 0)
	if err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := s.copy.View(sentinel); err == nil {
			return s.peak("backlog", BacklogPeakRSS)
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return s.ctx.Err()
		}
	}
}
