package kube

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// slowDiscovery offers nothing, and only once it is let.
type slowDiscovery struct {
	discovery.DiscoveryInterfaceWithContext
	let   chan struct{}
	calls atomic.Int32
}

func (d *slowDiscovery) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	d.calls.Add(1)
	select {
	case <-d.let:
		return []*metav1.APIGroup{}, []*metav1.APIResourceList{}, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// Ensures that many callers who miss a resource at the same time share the server's answer, and that each of them sees
// one that was asked for after its call.
func TestResolver_Resolve_MissesShareDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDiscovery{let: make(chan struct{})}
		r := newResolver(d)
		var wg sync.WaitGroup
		for range 50 {
			wg.Go(func() {
				var none *NoMatchError
				if _, err := r.resolve(t.Context(), Named("widgets")); !errors.As(err, &none) {
					t.Errorf("error %v", err)
				}
			})
		}
		synctest.Wait() // the first asks, the others wait for it
		close(d.let)
		wg.Wait()
		if n := d.calls.Load(); n < 1 || n > 2 {
			t.Errorf("%d discoveries, want one or two", n)
		}
		n := d.calls.Load()
		if _, err := r.resolve(t.Context(), Named("widgets")); err == nil || d.calls.Load() != n+1 {
			t.Errorf("a later miss: %v after %d more discoveries, want one", err, d.calls.Load()-n)
		}
	})
}

// Ensures that a caller who waits for another's discovery does not wait longer than its own context.
func TestResolver_Resolve_ContextEndsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowDiscovery{let: make(chan struct{})}
		r := newResolver(d)
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = r.resolve(t.Context(), Named("widgets")) })
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		wg.Go(func() {
			if _, err := r.resolve(ctx, Named("widgets")); err != why {
				t.Errorf("error %v, want %v", err, why)
			}
		})
		synctest.Wait()
		cancel(why)
		synctest.Wait()
		close(d.let)
		wg.Wait()
	})
}
