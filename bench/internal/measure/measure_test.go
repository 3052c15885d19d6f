package measure_test

import (
	"testing"
	"time"

	"github.com/tarn-dev/tarn/bench/internal/measure"
)

var kept []byte

// Ensures that work shows in each of the readings, in the right size.
func TestSince(t *testing.T) {
	before := measure.Now()
	var objects [][]byte
	for begin := time.Now(); time.Since(begin) < 50*time.Millisecond; {
		objects = append(objects[:0], make([]byte, 64))
	}
	kept = objects[0]
	used := measure.Since(before)
	if used.Wall < 50*time.Millisecond || used.Wall > 5*time.Second {
		t.Errorf("wall %v", used.Wall)
	}
	if used.CPU < 10*time.Millisecond || used.CPU > time.Minute {
		t.Errorf("processor time %v", used.CPU)
	}
	if used.Allocs < 1000 {
		t.Errorf("%d allocations", used.Allocs)
	}
}

// Ensures that memory shows while it is held, that the peak remembers it, and that the peak can be made to forget.
func TestPeakRSS(t *testing.T) {
	const size = 200 << 20
	if err := measure.ResetPeak(); err != nil {
		t.Fatal(err)
	}
	before, err := measure.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	kept = make([]byte, size)
	for i := 0; i < size; i += 4096 {
		kept[i] = 1
	}
	rss, err := measure.RSS()
	if err != nil {
		t.Fatal(err)
	}
	peak, err := measure.PeakRSS()
	if err != nil {
		t.Fatal(err)
	}
	live := measure.LiveHeap()
	kept = nil
	if rss < before+size/2 || peak < rss-size/4 || live < size {
		t.Errorf("resident %d, peak %d, before %d, live %d", rss, peak, before, live)
	}
	if live = measure.LiveHeap(); live > size/2 {
		t.Errorf("%d live after all", live)
	}
	if measure.GC() <= 0 {
		t.Error("a collection takes no time")
	}
}
