// Package measure reads what this process has used: processor time, memory and allocations. It is for Linux.
package measure

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"syscall"
	"time"
)

// Usage is what the process has used since it began.
type Usage struct {
	// Wall is the time since the first reading.
	Wall time.Duration
	// CPU is the time on all processors, of the program and of the kernel on its behalf.
	CPU time.Duration
	// Allocs counts the objects that were allocated on the heap.
	Allocs uint64
}

var began = time.Now()

// Now reads the usage.
func Now() Usage {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(samples)
	return Usage{time.Since(began), cpu(), samples[0].Value.Uint64() + samples[1].Value.Uint64()}
}

// Since returns the usage since before.
func Since(before Usage) Usage {
	now := Now()
	return Usage{now.Wall - before.Wall, now.CPU - before.CPU, now.Allocs - before.Allocs}
}

func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // not with these arguments
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// ResetPeak makes [PeakRSS] begin again from the present.
func ResetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// PeakRSS returns the most resident memory since the last [ResetPeak], in bytes.
func PeakRSS() (uint64, error) { return status("VmHWM:") }

// RSS returns the resident memory in bytes.
func RSS() (uint64, error) { return status("VmRSS:") }

func status(field string) (uint64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, line, found := bytes.Cut(text, []byte("\n"+field))
	words := bytes.Fields(line)
	if !found || len(words) < 2 {
		return 0, fmt.Errorf("no %s in /proc/self/status", field)
	}
	kib, err := strconv.ParseUint(string(words[0]), 10, 64)
	return kib << 10, err
}

// LiveHeap collects twice, so that what finalizers let go is gone too, and returns the size of what is left, in bytes.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// GC returns the processor time of one collection.
func GC() time.Duration {
	before := cpu()
	runtime.GC()
	return cpu() - before
}
