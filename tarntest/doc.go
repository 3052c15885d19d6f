// Package tarntest is for tests of code that uses tarn: a [Source] is a collection in memory that lists and watches as a
// kube-apiserver does, and that a test can change, disconnect, expire, break and start over.
//
//	src := tarntest.NewSource(tarntest.JSON[Widget]())
//	src.Add(&Widget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
//	// hand src to the code under test as a source.ListerWatcher
//	src.Disconnect(nil)
//	src.Update(...)
//
// A Source starts no goroutine, and has no timer but the one that a watch with timeoutSeconds asks for. Channels and
// timers are made by the call to Watch, so a Source works inside a testing/synctest bubble, also one that was made
// outside of it; what changes it must then run in the same bubble as its watches.
//
// # What it does as a server does
//
// Lists: at "" and "0" the newest state; at a version the state then or later, with the match Exact (or with a limit and
// no match) the state exactly then; pages are cut from the state at the first page's version; at "0" the limit is
// ignored, as a watch cache ignores it (see [WithoutWatchCache]). Watches: from "" and "0" the stored objects come first,
// as ADDED; from a version whatever happened since. Selectors apply to watches too: an object that stops matching is
// DELETED for that watch, one that starts to match is ADDED. Streaming lists end with the annotated bookmark, if
// bookmarks were allowed. Versions that are compacted away or lie in the future, unknown field selectors and options
// that exclude each other are refused with the server's errors; a watch is told by an ERROR event, after which it ends.
//
// # What differs
//
// A future version is refused at once: a server first waits some seconds for it to come, and where it watches without
// initial events it waits silently, without an error. An Update that changes nothing is a change here. Field selectors
// know metadata.name and metadata.namespace only. A watch without timeoutSeconds has no timeout.
package tarntest
