package reflector

import (
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tarn-dev/tarn/internal/backoff"
	"github.com/tarn-dev/tarn/source"
)

// Options say how a [Reflector] works. The zero value of each is the sensible default.
type Options struct {
	// Name is told to ErrorHandler and logged. Default: the file and line outside of tarn that called [New].
	Name string
	// Expected is the kind that events must be of; those of another kind are reported and skipped. An event that does not
	// say its kind is taken. Default: any.
	Expected schema.GroupVersionKind
	// PageSize is the limit of each page of a list: negative = lists are never paged. Default: 500 for lists at "0" and
	// "", none for those at a version, which a server answers from its cache, unless it turns out to page anyway.
	PageSize int64
	// MinWatchTimeout is the least that the server is asked to keep a watch open for. The timeout of each is drawn evenly
	// from [MinWatchTimeout, 2·MinWatchTimeout], in whole seconds. Default: 5 minutes.
	MinWatchTimeout time.Duration
	// IdleSlack is how long after the timeout that the server was asked for a watch is given up on which nothing came, not
	// even a bookmark. A list is given up when nothing came for MinWatchTimeout + IdleSlack. Default: 30 s.
	//
	// Over HTTP/2 the next watch may go out on the same dead connection. That one ends when the transport's ping stays
	// unanswered: with client-go after 30 s of silence and 15 s for the ping (HTTP2_READ_IDLE_TIMEOUT_SECONDS and
	// HTTP2_PING_TIMEOUT_SECONDS in the environment). So there 45 s is the bound for shorter timeouts, too.
	IdleSlack time.Duration
	// ResyncPeriod is how often Resync is called on the sink. Default: never.
	ResyncPeriod time.Duration
	// ShouldResync is asked before each resync. Default: yes.
	ShouldResync func() bool
	// InternalErrorRetry is for how long a watch that the server ends with a 500 is tried again from the same version
	// before a relist. Default: not at all.
	InternalErrorRetry time.Duration
	// Backoff returns how long to wait before the next attempt. It is called from the reflector's goroutine, once per wait.
	// Default: the n-th wait is drawn evenly from [d, 2d], d = 0.8 s · 2ⁿ up to 30 s, and starts over after 2 quiet minutes.
	Backoff func() time.Duration
	// ErrorHandler is told every error, with the reflector's name and the number of attempts that failed in a row. An error
	// that concerns one event only (skipped, or refused by the sink) does not count as a failure. It is called from the
	// reflector's goroutine and must not block.
	ErrorHandler func(name string, failures int, err error)
	// StreamingList says whether the collection is read with a streaming list. Default: [StreamingAuto].
	StreamingList StreamingMode
	// StreamingListTimeout is how long a streaming list may bring nothing before the bookmark that ends it; in all it may
	// take ten times as long. Then a plain list follows, and no streaming list any more. Default: 30 s.
	StreamingListTimeout time.Duration
	// StreamingListTries is how often a streaming list may end without that bookmark before the same happens. Default: 3.
	StreamingListTries int
	// Logger gets what happens: lists and watches at Debug, errors at Warn. Default: slog.Default().
	Logger *slog.Logger
	// Metrics is told what happens. Default: nobody.
	Metrics Metrics
}

// StreamingMode says whether a [Reflector] asks for streaming lists.
type StreamingMode uint8

// The streaming modes.
const (
	// StreamingAuto asks for one unless the source says that it cannot (see [source.StreamingLister]) or the server
	// turned out not to.
	StreamingAuto StreamingMode = iota
	// StreamingOff never asks for one.
	StreamingOff
)

// Metrics is told what a [Reflector] does. Its methods are called from the reflector's goroutine and must not block.
type Metrics interface {
	// ListDone tells that a list ended, plain or streaming, after so long and with so many items.
	ListDone(outcome Outcome, streaming bool, took time.Duration, items int)
	// WatchDone tells that a watch ended, after so long and with so many events.
	WatchDone(outcome Outcome, took time.Duration, events int)
	// Event tells that an event came, after the initial ones of a streaming list.
	Event(t source.EventType)
	// Version tells that the last version is now v.
	Version(v string)
}

// Outcome is how a list or a watch ended.
type Outcome string

// The outcomes.
const (
	OK           Outcome = "ok"           // normally
	Canceled     Outcome = "canceled"     // with the context
	Expired      Outcome = "expired"      // 410
	TooLarge     Outcome = "too_large"    // too large resource version
	Throttled    Outcome = "throttled"    // 429
	Disconnected Outcome = "disconnected" // refused, broken, timed out, silent
	Failed       Outcome = "failed"       // any other error
)

// withDefaults returns o with the zero values filled in.
func (o Options) withDefaults() Options {
	setDefault(&o.MinWatchTimeout, 5*time.Minute)
	setDefault(&o.IdleSlack, 30*time.Second)
	setDefault(&o.StreamingListTimeout, 30*time.Second)
	setDefault(&o.StreamingListTries, 3)
	if o.Backoff == nil {
		o.Backoff = new(backoff.Backoff).Next
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Metrics == nil {
		o.Metrics = noMetrics{}
	}
	if o.ErrorHandler == nil {
		o.ErrorHandler = func(string, int, error) {}
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

type noMetrics struct{}

func (noMetrics) ListDone(Outcome, bool, time.Duration, int) {}
func (noMetrics) WatchDone(Outcome, time.Duration, int)      {}
func (noMetrics) Event(source.EventType)                     {}
func (noMetrics) Version(string)                             {}
