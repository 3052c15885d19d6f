// Package tarn keeps a local, indexed copy of a Kubernetes resource, or of any collection that can be listed and
// watched, in step with its server, and delivers every change to your code.
//
// It is the machinery known from client-go as Reflector, DeltaFIFO, Indexer and SharedInformer, built on one idea: keep
// what the server sent. Keys, labels, owners and indexed fields are read straight from the encoded bytes; an object is
// decoded when somebody asks for its value. So the cache is small, nobody can corrupt it, and one object that does not
// decode is that object's error and nobody else's.
//
// The start is a [Hub], one per process and server, and an [Informer] from [For]:
//
//	hub, err := tarn.NewHub(cfg)
//	pods, err := tarn.For[*corev1.Pod](hub, tarn.Namespace("prod"), tarn.IndexField("node", "spec.nodeName"))
//	pods.Subscribe(tarn.Funcs[*corev1.Pod]{Added: ..., Updated: ..., Deleted: ...})
//	go pods.Run(ctx)
//	if err := pods.WaitSynced(ctx); err != nil { ... } // says why it is not synced
//	for pod, err := range pods.By("node", "n7") { ... }
//
// # What to know
//
// Values that [Informer.Get], iterators and [Event.New] return are private: keep or change them. Views are shared:
// never change them. Metadata strings share memory with each other; clone one that you keep for long.
//
// A handler runs on a goroutine of its own subscription, one event at a time. It may see an object that is older than
// what the store shows, never one that goes back in time. A handler that falls far behind gets the newest state of each
// object instead of every step to it; what was merged is counted, never lost silently.
package tarn
