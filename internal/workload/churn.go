package workload

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Mix is how often each kind of modification comes up, relative to the others.
type Mix struct{ Status, Label, Annotation, Spec, Delete, Create int }

// ChurnOptions says how [Churn] changes a server. The zero value changes pods ten times a second until the context ends.
type ChurnOptions struct {
	// Rate is the number of modifications per second; 0 is 10, negative is as fast as the server takes them.
	Rate float64
	// Limit ends Churn after so many modifications; 0 is never.
	Limit int
	// Kind is Pods or CustomObjects.
	Kind Kind
	// Mix is the share of each kind of modification. The zero value is 66 status, 10 label, 10 annotation, 10 spec,
	// 2 deletes and 2 creates. A create takes the place of what was deleted, or of an object beyond the generator's count.
	Mix Mix
	// Seed selects the sequence of modifications; the same one on the same cluster ends in the same state.
	Seed uint64
	// Parallelism is the number of requests at a time; 0 is 8. Those of one object are never concurrent.
	Parallelism int
	// EtcdURL, if set, is where the modifications are written, past the API server: it then only has to tell of them, and
	// they come ten times as fast. Metadata that a server would set is the generator's.
	EtcdURL string
	// Progress is called after each modification with the counts so far; never concurrently. nil is none.
	Progress func(ChurnCounts)
}

// ChurnCounts says what [Churn] did.
type ChurnCounts struct {
	// Done counts the modifications that the server accepted, by kind.
	Done [numChangeKinds]int
	// Conflict and NotFound count those that it refused because somebody else had changed, made or deleted the object.
	Conflict, NotFound int
	// Failed counts those that failed otherwise, such as while the server restarts; LastError is the last of them.
	Failed    int
	LastError error
}

// Total returns how many modifications were tried.
func (c ChurnCounts) Total() int { return c.Accepted() + c.Conflict + c.NotFound + c.Failed }

// Accepted returns how many modifications the server took.
func (c ChurnCounts) Accepted() (n int) {
	for _, d := range c.Done {
		n += d
	}
	return n
}

// task is one modification that a worker has to send.
type task struct {
	change ChangeKind
	index  int
	state  state // after the modification
}

// modifier makes modifications: through the API, or past it.
type modifier interface {
	modify(ctx context.Context, g *Generator, kind Kind, t task) error
	close()
}

func newModifier(cfg *rest.Config, etcdURL string) (modifier, error) {
	if etcdURL != "" {
		return newEtcd(etcdURL), nil
	}
	return newClient(cfg)
}

// Churn modifies what [Fill] put on the server: creates, status patches, changes of labels, annotations and specs, and
// deletes without grace. A refused or failed modification is counted and never ends it; so it goes on through a restart
// of the server. It returns when Limit is reached or the context ends, neither of which is an error, or when the server
// refuses the credentials from the start.
func Churn(ctx context.Context, cfg *rest.Config, g *Generator, o ChurnOptions) (ChurnCounts, error) {
	if o.Kind != Pods && o.Kind != CustomObjects {
		return ChurnCounts{}, fmt.Errorf("churn: no modifications of %s", o.Kind)
	}
	c, err := newModifier(cfg, o.EtcdURL)
	if err != nil {
		return ChurnCounts{}, fmt.Errorf("churn: %w", err)
	}
	defer c.close()
	if o.Parallelism <= 0 {
		o.Parallelism = 8
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		counts  ChurnCounts
		refused error
		workers = make([]chan task, o.Parallelism)
	)
	for w := range workers {
		workers[w] = make(chan task, 4)
		wg.Go(func() {
			for t := range workers[w] {
				if ctx.Err() != nil {
					continue
				}
				err := c.modify(ctx, g, o.Kind, t)
				if err != nil && ctx.Err() != nil {
					continue // broken off, not refused
				}
				mu.Lock()
				counts.record(t.change, err)
				if o.Progress != nil {
					o.Progress(counts)
				}
				// A server that restarts may refuse for a while, because its own admission has no answers yet.
				if (apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err)) && counts.Accepted() == 0 {
					refused = err
					cancel(err)
				}
				mu.Unlock()
			}
		})
	}
	dispatch(ctx, newPlan(g, o), o, workers)
	wg.Wait()
	if refused != nil {
		return counts, fmt.Errorf("churn: %w", refused)
	}
	return counts, nil
}

// dispatch hands the plan's tasks to the workers at the rate asked for and closes their channels. All tasks of one
// object go to one worker, in order.
func dispatch(ctx context.Context, p *plan, o ChurnOptions, workers []chan task) {
	defer func() {
		for _, w := range workers {
			close(w)
		}
	}()
	rate := o.Rate
	if rate == 0 {
		rate = 10
	}
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; o.Limit == 0 || n < o.Limit; n++ {
		if rate > 0 {
			// Due times count from the start, so that a slow stretch is caught up with and the rate holds on average.
			timer.Reset(time.Until(start.Add(time.Duration(float64(n) / rate * float64(time.Second)))))
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		t := p.next()
		select {
		case <-ctx.Done():
			return
		case workers[t.index%len(workers)] <- t:
		}
	}
}

func (c *ChurnCounts) record(change ChangeKind, err error) {
	switch {
	case err == nil:
		c.Done[change]++
	case apierrors.IsNotFound(err):
		c.NotFound++
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		c.Conflict++
	default:
		c.Failed++
		c.LastError = err
	}
}
