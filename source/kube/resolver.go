package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
)

// NoMatchError says that the server has no such resource, at the moment: it may appear later. It is recognised by
// meta.IsNoMatchError.
type NoMatchError struct {
	// Resource is what was asked for.
	Resource Resource
	// Suggestions are what may have been meant, the closest first; often none.
	Suggestions []string
	// Discovery is the error of the API groups that could not be asked; nil where all answered.
	Discovery error
}

// Error returns one line.
func (e *NoMatchError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "no resource %q on the server", e.Resource.String())
	for i, s := range e.Suggestions {
		b.WriteString([]string{" (did you mean ", ", or "}[min(i, 1)])
		fmt.Fprintf(&b, "%q", s)
	}
	if len(e.Suggestions) > 0 {
		b.WriteString("?)")
	}
	if e.Discovery != nil {
		fmt.Fprintf(&b, "; some of its groups did not answer: %v", e.Discovery)
	}
	return b.String()
}

// Unwrap returns the apimachinery error of the same meaning.
func (e *NoMatchError) Unwrap() error {
	if len(e.Resource.kinds) > 0 {
		gvk := e.Resource.kinds[0]
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	gvr := e.Resource.gvr
	if gvr.Resource == "" {
		gvr.Resource = e.Resource.text
	}
	return &meta.NoResourceMatchError{PartialResource: gvr}
}

// ErrNotListable is returned for a resource that the server has and that cannot be listed, such as tokenreviews.
var ErrNotListable = errors.New("the resource cannot be listed")

// resolver maps resources to what the server calls them. What discovery said is kept until something is missing from
// it or turns out to be gone. Its methods may be called concurrently.
type resolver struct {
	discovery discovery.DiscoveryInterfaceWithContext
	turn      chan struct{} // holds one token; who has it may discover and set known
	known     atomic.Pointer[catalog]
	started   atomic.Uint64 // discoveries that were started
}

func newResolver(d discovery.DiscoveryInterfaceWithContext) *resolver {
	r := &resolver{discovery: d, turn: make(chan struct{}, 1)}
	r.turn <- struct{}{}
	return r
}

// resolve looks res up, and asks the server again where it is not known.
func (r *resolver) resolve(ctx context.Context, res Resource) (Mapping, error) {
	if res.err != nil {
		return Mapping{}, res.err
	}
	// What has already started when we are called may miss a resource that was created just before.
	stale := r.started.Load()
	c := r.known.Load()
	if c == nil {
		var err error
		if c, err = r.discover(ctx, 0); err != nil {
			return Mapping{}, err
		}
	}
	e, ok := c.find(res)
	if !ok && c.number <= stale {
		var err error
		if c, err = r.discover(ctx, stale); err != nil {
			return Mapping{}, err
		}
		e, ok = c.find(res)
	}
	switch {
	case !ok:
		return Mapping{}, &NoMatchError{Resource: res, Suggestions: c.suggest(res), Discovery: c.failed}
	case !e.listable:
		return Mapping{}, fmt.Errorf("%s: %w", e.Mapping, ErrNotListable)
	}
	return e.Mapping, nil
}

// discover returns a catalog whose number is above stale. Callers at the same time share one discovery.
func (r *resolver) discover(ctx context.Context, stale uint64) (*catalog, error) {
	select {
	case <-r.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { r.turn <- struct{}{} }()
	if c := r.known.Load(); c != nil && c.number > stale {
		return c, nil
	}
	number := r.started.Add(1)
	groups, lists, err := r.discovery.ServerGroupsAndResourcesWithContext(ctx)
	if lists == nil && err != nil {
		return nil, fmt.Errorf("asking the server for its resources: %w", err)
	}
	c := newCatalog(groups, lists)
	c.number, c.failed = number, err
	r.known.Store(c)
	return c, nil
}

// forget makes the next resolve ask the server.
func (r *resolver) forget() { r.known.Store(nil) }
