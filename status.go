package tarn

import (
	"sort"
	"time"

	"github.com/tarn-dev/tarn/store"
)

// Status is how an informer stands. It is a copy; the caller may keep it.
type Status struct {
	// Name is the informer's name, Layout how it keeps objects.
	Name, Layout string
	// Synced says that the whole collection has been stored since Run was called.
	Synced bool
	// Objects is how many are stored, Bytes their size in encoded form.
	Objects int
	Bytes   int64
	// Kept says how the objects are kept in the default layout, and what that comes to; HotViews how many bytes of shared
	// values are kept besides ([HotViews]).
	Kept     store.Stats
	HotViews int64
	// Scopes are the parts that are listed and watched by themselves: one per namespace, or one for all.
	Scopes []ScopeStatus
	// Failed are the objects that could not be decoded, transformed or indexed, sorted by key. They are stored.
	Failed []FailedObject
	// Subscriptions are the informer's own.
	Subscriptions []SubscriptionStatus
}

// ScopeStatus is how one scope of an informer stands.
type ScopeStatus struct {
	// Namespace is empty for all namespaces.
	Namespace string
	// Phase is what is being done: listing, connecting, watching, waiting, stopped.
	Phase string
	// Version is the last version that was seen, Updated when something last came: an object or a bookmark. Zero = never.
	Version string
	Updated time.Time
	// Epoch counts how often the server's history started over.
	Epoch int
	// Objects is how many are stored.
	Objects int
	// LastError is the last failure, nil if all is well, and Err the same with what happens now: "(7 attempts, retrying in
	// 12s)". Failures is how many there were in a row, NextTry when the next attempt is.
	LastError, Err error
	Failures       int
	NextTry        time.Time
}

// FailedObject is an object that is stored and marked, and why.
type FailedObject struct {
	Key, Version string
	Err          error
}

// Status returns how the informer stands.
func (i *Informer[T]) Status() Status {
	snapshot := i.mirror.Snapshot()
	st := Status{
		Name: i.name, Layout: i.mirror.Layout().String(), Synced: i.mirror.HasSynced(),
		Objects: snapshot.Len(), Bytes: i.mirror.Bytes(), Kept: i.mirror.Stats(), HotViews: i.views.hot.Size(),
	}
	for _, scope := range i.mirror.Scopes() {
		r, s := scope.Reflector().Status(), snapshot.Scope(scope.ID())
		st.Scopes = append(st.Scopes, ScopeStatus{
			Namespace: scope.Namespace(), Phase: r.Phase.String(), Version: r.Version, Updated: s.Updated,
			Epoch: r.Epoch, Objects: s.Len, LastError: r.LastError, Err: r.Err(), Failures: r.Failures, NextTry: r.NextTry,
		})
	}
	for _, f := range i.mirror.Failures() {
		st.Failed = append(st.Failed, FailedObject(f))
	}
	sort.Slice(st.Failed, func(a, b int) bool { return st.Failed[a].Key < st.Failed[b].Key })
	i.mu.Lock()
	subs := append([]*Subscription(nil), i.subs...)
	i.mu.Unlock()
	for _, s := range subs {
		st.Subscriptions = append(st.Subscriptions, s.Status())
	}
	return st
}
