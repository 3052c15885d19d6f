package tarn

import (
	"time"

	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

// Metrics takes the measurements of informers. Package tarnprom implements it for Prometheus. Its methods are called
// concurrently and must not block.
type Metrics interface {
	// Attach is called when an informer starts to run. status returns how it stands and may be called at any time, for
	// what is measured by looking: objects, bytes, versions, lag, backlogs, failed objects, errors. detach is called when
	// the run ends.
	Attach(informer string, status func() Status) (detach func())
	// List and Watch tell how a list or watch ended (an outcome of package reflector), how long it took and how much it
	// brought. A list is streaming (KEP-3157) or plain.
	List(informer, outcome string, streaming bool, took time.Duration, items int)
	Watch(informer, outcome string, took time.Duration, events int)
	// Event counts an event of a watch, by type: ADDED, MODIFIED, DELETED, BOOKMARK, ERROR.
	Event(informer, eventType string)
}

// reflectorMetrics is what a reflector of an informer reports to.
type reflectorMetrics struct {
	informer string
	m        Metrics
}

func (r reflectorMetrics) ListDone(o reflector.Outcome, streaming bool, took time.Duration, items int) {
	r.m.List(r.informer, string(o), streaming, took, items)
}

func (r reflectorMetrics) WatchDone(o reflector.Outcome, took time.Duration, events int) {
	r.m.Watch(r.informer, string(o), took, events)
}

func (r reflectorMetrics) Event(t source.EventType) { r.m.Event(r.informer, t.String()) }

func (reflectorMetrics) Version(string) {} // Status has it
