// Package store keeps a collection of objects by key, with indexes, and publishes every state of it as a [Snapshot].
//
// The store is copy-on-write. A commit builds the next state beside the published one, sharing all that did not change,
// and publishes it with one atomic store. So a reader never locks, never waits for a writer and never holds one up,
// however long it iterates; and whatever it reads through one snapshot (a list, a query over two indexes) is one state.
// The price of a snapshot that is kept is the memory of what has changed since it was taken.
//
// Used directly, a [Store] is a map with indexes:
//
//	s := store.New(store.Options{Indexers: store.Indexers{"node": byNode}})
//	err := s.Add(obj)
//	onN7, err := s.ByIndex("node", "n7")
//
// Who keeps a store in step with a source uses the second tier: [Store.Prepare] does everything that may run user code,
// [Store.Write] applies a batch under the one write lock and publishes it as one change, and [Store.Stage] takes a
// relist item by item and commits only the difference.
//
// What is stored, and what it costs to read, is the [Layout]'s business. Objects that come out of a store are shared and
// immutable, as [object.Object] says.
package store
