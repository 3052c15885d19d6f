package workload

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// FillOptions says how [Fill] fills a server. The zero value is right for one on the same machine.
type FillOptions struct {
	// Parallelism is the number of requests at a time; 0 is 16.
	Parallelism int
	// Kinds are the kinds to create; nil is all of them. Namespaces are always created: the others live in them.
	Kinds []Kind
	// Progress is called after each object with how many of that kind are done; never concurrently. nil is none.
	Progress func(kind Kind, done, total int)
}

// Fill puts the generator's objects on the server, with their status and managedFields, as fast as the server takes
// them. What is there already is brought to the generator's state, so Fill can be repeated after it broke off. It
// returns the first error, or the context's cause.
func Fill(ctx context.Context, cfg *rest.Config, g *Generator, o FillOptions) error {
	c, err := newClient(cfg)
	if err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	defer c.close()
	if o.Parallelism <= 0 {
		o.Parallelism = 16
	}
	for _, kind := range Kinds() {
		if o.Kinds != nil && kind != Namespaces && !slices.Contains(o.Kinds, kind) {
			continue
		}
		if kind == CustomObjects {
			if err := c.createCRD(ctx, g.CRD()); err != nil {
				return fmt.Errorf("fill: %w", err)
			}
		}
		if err := fillKind(ctx, c, g, kind, o); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

func fillKind(ctx context.Context, c *client, g *Generator, kind Kind, o FillOptions) error {
	var mu sync.Mutex // orders the calls of Progress
	done, total := 0, g.Count(kind)
	return each(ctx, total, o.Parallelism, func(ctx context.Context, i int) error {
		if err := c.put(ctx, kind, g.Object(kind, i)); err != nil {
			return err
		}
		if o.Progress != nil {
			mu.Lock()
			defer mu.Unlock()
			done++
			o.Progress(kind, done, total)
		}
		return nil
	})
}

// each calls do for 0 to n-1, so many at a time, until one fails: that is the error then, or the context's cause.
func each(ctx context.Context, n, parallelism int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(parallelism, n) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// put creates obj, or brings what exists to its state. A pod gets its status and the managedFields of all its managers
// with the second call: a create would credit everything to one manager.
func (c *client) put(ctx context.Context, kind Kind, obj Object) error {
	managed := obj.GetManagedFields()
	strip(obj)
	gvr := kind.GVR()
	err := c.create(ctx, gvr, obj, managed[0].Manager)
	switch {
	case apierrors.IsAlreadyExists(err):
	case err != nil:
		return fmt.Errorf("create %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
	}
	if !kindInfo[kind].hasStatus {
		return nil
	}
	obj.SetManagedFields(managed)
	if err := c.updateStatus(ctx, gvr, obj, managed[len(managed)-1].Manager); err != nil {
		return fmt.Errorf("status of %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
