// Package tarnprom reports the measurements of tarn's informers to Prometheus.
//
//	metrics := tarnprom.New()
//	prometheus.MustRegister(metrics)
//	hub, err := tarn.NewHub(cfg, tarn.WithMetrics(metrics))
package tarnprom

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tarn-dev/tarn"
)

// Metrics implements tarn.Metrics and prometheus.Collector. What can be read off an informer's status is read when
// Prometheus collects, so it costs nothing in between and is never out of date. Its methods may be called concurrently.
type Metrics struct {
	lists, watches         *prometheus.HistogramVec
	listItems, watchEvents *prometheus.CounterVec
	events                 *prometheus.CounterVec

	mu       sync.Mutex
	attached map[*func() tarn.Status]struct{}
}

var (
	_ tarn.Metrics         = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("tarn_"+name, help, append([]string{"informer"}, labels...), nil)
}

var (
	synced    = desc("synced", "1 if the whole collection has been stored since the informer was started.")
	objects   = desc("objects", "Objects stored.", "namespace")
	bytes     = desc("object_bytes", "Size of the stored objects in encoded form.")
	failed    = desc("failed_objects", "Objects that are stored but could not be decoded, transformed or indexed.")
	version   = desc("resource_version", "The last resourceVersion seen, where it is a number.", "namespace")
	lag       = desc("seconds_since_update", "Seconds since anything last came: an object or a bookmark.", "namespace")
	failures  = desc("consecutive_failures", "Lists and watches that failed in a row; 0 while all is well.", "namespace")
	lastError = desc("last_error_info", "1, with the last failure, while there is one.", "namespace", "error")
	epoch     = desc("epochs_total", "How often the server's history started over.", "namespace")
	backlog   = desc("subscription_backlog", "Changes that wait for the handler.", "subscription")
	waiting   = desc("subscription_backlog_bytes", "Size of the changes that wait for the handler.", "subscription")
	delivered = desc("subscription_delivered_total", "Changes taken up by the handler, or by its filter.", "subscription")
	conflated = desc("subscription_conflated_total", "Changes merged into a later one because the handler fell behind.", "subscription")
	panics    = desc("subscription_panics_total", "Panics of the handler.", "subscription")
)

// New returns metrics of no informer yet. Register it with a registry and give it to a hub or an informer.
func New() *Metrics {
	durations := prometheus.ExponentialBuckets(0.01, 4, 10) // 10 ms to 43 minutes
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "tarn_" + name, Help: help, Buckets: durations}, append([]string{"informer"}, labels...))
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tarn_" + name, Help: help}, append([]string{"informer"}, labels...))
	}
	return &Metrics{
		lists:       histogram("list_duration_seconds", "Lists by how they ended.", "outcome", "streaming"),
		watches:     histogram("watch_duration_seconds", "Watches by how they ended.", "outcome"),
		listItems:   counter("list_items_total", "Objects that lists brought."),
		watchEvents: counter("watch_events_total", "Events that finished watches brought."),
		events:      counter("events_total", "Watch events by type.", "type"),
		attached:    map[*func() tarn.Status]struct{}{},
	}
}

// Attach implements tarn.Metrics.
func (m *Metrics) Attach(_ string, status func() tarn.Status) (detach func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.attached[&status] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.attached, &status)
	}
}

// List implements tarn.Metrics.
func (m *Metrics) List(informer, outcome string, streaming bool, took time.Duration, items int) {
	m.lists.WithLabelValues(informer, outcome, strconv.FormatBool(streaming)).Observe(took.Seconds())
	m.listItems.WithLabelValues(informer).Add(float64(items))
}

// Watch implements tarn.Metrics.
func (m *Metrics) Watch(informer, outcome string, took time.Duration, events int) {
	m.watches.WithLabelValues(informer, outcome).Observe(took.Seconds())
	m.watchEvents.WithLabelValues(informer).Add(float64(events))
}

// Event implements tarn.Metrics.
func (m *Metrics) Event(informer, eventType string) {
	m.events.WithLabelValues(informer, eventType).Inc()
}

func (m *Metrics) vectors() []prometheus.Collector {
	return []prometheus.Collector{m.lists, m.watches, m.listItems, m.watchEvents, m.events}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, v := range m.vectors() {
		v.Describe(ch)
	}
	for _, d := range []*prometheus.Desc{
		synced, objects, bytes, failed, version, lag, failures, lastError, epoch,
		backlog, waiting, delivered, conflated, panics,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, v := range m.vectors() {
		v.Collect(ch)
	}
	m.mu.Lock()
	attached := make([]func() tarn.Status, 0, len(m.attached))
	for status := range m.attached {
		attached = append(attached, *status)
	}
	m.mu.Unlock()
	for _, status := range attached {
		collect(ch, status())
	}
}

func collect(ch chan<- prometheus.Metric, st tarn.Status) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{st.Name}, labels...)...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) { send(d, prometheus.GaugeValue, v, labels...) }
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		send(d, prometheus.CounterValue, float64(v), labels...)
	}
	isSynced := 0.0
	if st.Synced {
		isSynced = 1
	}
	gauge(synced, isSynced)
	gauge(bytes, float64(st.Bytes))
	gauge(failed, float64(len(st.Failed)))
	for _, s := range st.Scopes {
		gauge(objects, float64(s.Objects), s.Namespace)
		if v, err := strconv.ParseFloat(s.Version, 64); err == nil {
			gauge(version, v, s.Namespace)
		}
		if !s.Updated.IsZero() {
			gauge(lag, time.Since(s.Updated).Seconds(), s.Namespace)
		}
		gauge(failures, float64(s.Failures), s.Namespace)
		if s.LastError != nil {
			gauge(lastError, 1, s.Namespace, s.LastError.Error())
		}
		count(epoch, uint64(s.Epoch), s.Namespace)
	}
	for _, s := range st.Subscriptions {
		gauge(backlog, float64(s.Backlog), s.Name)
		gauge(waiting, float64(s.BacklogBytes), s.Name)
		count(delivered, s.Delivered, s.Name)
		count(conflated, s.Conflated, s.Name)
		count(panics, s.Panics, s.Name)
	}
}
