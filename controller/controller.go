// Package controller joins a reflector, a queue and a process function: the composition for who wants to keep the store
// and apply every change by hand. [New] makes the bare one; [NewInformer] and [NewIndexerInformer] keep a store and call
// one handler.
//
// Next to the informer of the root package it is the simpler machine: one consumer, no subscriptions, and the process
// function decides what a change does. Its caveat is the other side of that: a process function that blocks holds up
// every object of the collection.
package controller

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/tarn-dev/tarn/object"
	"github.com/tarn-dev/tarn/queue"
	"github.com/tarn-dev/tarn/reflector"
	"github.com/tarn-dev/tarn/source"
)

type (
	// Delta is one thing that happened to an object.
	Delta = queue.Delta[*object.Object]
	// Deltas is what happened to one object, the oldest first.
	Deltas = queue.Deltas[*object.Object]
	// Queue is what stands between the reflector and the process function; usually a [queue.DeltaFIFO].
	Queue = queue.Queue[*object.Object, Deltas]
)

// ErrRan is returned by a second Run of one [Controller]: its queue is closed.
var ErrRan = errors.New("controller has run already")

// Config says what a [Controller] is made of.
type Config struct {
	// Queue is filled by the reflector and emptied by the controller, which closes it in the end.
	Queue Queue
	// ListerWatcher is the collection.
	ListerWatcher source.ListerWatcher
	// Process applies one item and keeps what the queue takes as known. Its calls do not overlap. isInInitialList is true
	// for a key of the first list until it has been processed. It may return a [queue.ErrRequeue] to put the item back.
	// A panic ends Run and passes through it.
	Process func(deltas Deltas, isInInitialList bool) error
	// Reflector configures the reflector: its name, the expected kind (Expected), how often everything known is
	// processed again (ResyncPeriod, ShouldResync), and the rest.
	Reflector reflector.Options
	// RetryOnError puts an item whose Process fails back, ahead of newer deltas for its key, after a wait during which
	// other keys go on. A Process that has applied the first n deltas and failed at the next returns
	// queue.ErrRequeue{Err: err, Applied: n}, so that those do not come again.
	RetryOnError bool
	// RetryBackoff returns how long to wait after so many failures in a row of one key, 1 or more. It is called from Run's
	// goroutine. Default: 0.1 s, doubled with each failure, up to 30 s.
	RetryBackoff func(failures int) time.Duration
	// ErrorHandler is told every error of Process, from Run's goroutine. Default: they are only counted as processed, or
	// retried. Errors of the reflector go to Reflector.ErrorHandler.
	ErrorHandler func(key string, err error)
}

// Controller fills a queue from a collection and processes what comes out. Make one with [New].
type Controller struct {
	config    Config
	reflector *reflector.Reflector
	ran       atomic.Bool
	// failures counts, per key, the failures in a row. It belongs to Run's goroutine.
	failures map[string]int
}

// New returns a controller. Nothing happens before Run.
func New(config Config) *Controller {
	if config.RetryBackoff == nil {
		config.RetryBackoff = retryBackoff
	}
	if config.ErrorHandler == nil {
		config.ErrorHandler = func(string, error) {}
	}
	return &Controller{
		config:    config,
		reflector: reflector.New(config.ListerWatcher, config.Queue, config.Reflector),
		failures:  map[string]int{},
	}
}

func retryBackoff(failures int) time.Duration {
	const base, limit = 100 * time.Millisecond, 30 * time.Second
	return min(base<<min(failures-1, 10), limit)
}

// Run starts the reflector into the queue and processes until ctx ends, which is no error. It then closes the queue,
// stops the reflector, and returns when both are done; what is pending stays unprocessed. It runs once: a second call
// returns [ErrRan]. If somebody else closes the queue, it processes what is left and returns [queue.ErrClosed].
func (c *Controller) Run(ctx context.Context) error {
	if !c.ran.CompareAndSwap(false, true) {
		return ErrRan
	}
	ctx, cancel := context.WithCancel(ctx)
	reflected := make(chan struct{})
	go func() {
		defer close(reflected)
		// It cannot be running already, and the end of the context is no error.
		_ = c.reflector.Run(ctx)
	}()
	// Deferred, because a panic of Process takes the same way out.
	defer func() {
		cancel()
		c.config.Queue.Close()
		<-reflected
	}()
	for {
		var key string
		popped := false
		_, err := c.config.Queue.PopContext(ctx, func(deltas Deltas, initial bool) error {
			popped, key = true, deltas.Newest().Key
			return c.process(key, deltas, initial)
		})
		switch {
		case popped && err != nil:
			c.config.ErrorHandler(key, err)
		case popped:
		case ctx.Err() != nil:
			return nil
		default:
			return err
		}
	}
}

// process calls Process and turns its error into a requeue if it is to be retried.
func (c *Controller) process(key string, deltas Deltas, initial bool) error {
	err := c.config.Process(deltas, initial)
	if err == nil || !c.config.RetryOnError {
		delete(c.failures, key)
		return err
	}
	var requeue queue.ErrRequeue
	if !errors.As(err, &requeue) {
		requeue.Err = err
	}
	if requeue.Applied >= len(deltas) {
		delete(c.failures, key)
		return requeue
	}
	if requeue.Applied > 0 {
		c.failures[key] = 0
	}
	c.failures[key]++
	if requeue.After == 0 {
		requeue.After = c.config.RetryBackoff(c.failures[key])
	}
	return requeue
}

// HasSynced reports whether the first list has been processed.
func (c *Controller) HasSynced() bool { return c.config.Queue.HasSynced() }

// Synced returns a channel that closes at the moment when HasSynced turns true.
func (c *Controller) Synced() <-chan struct{} { return c.config.Queue.Synced() }

// LastSyncResourceVersion returns the version that the reflector has handed to the queue.
func (c *Controller) LastSyncResourceVersion() string { return c.reflector.LastSyncResourceVersion() }
