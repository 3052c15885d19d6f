// Package reflector keeps a sink in step with a source: it lists the collection, watches it from there, and whatever
// happens in between (a dropped connection, an expired version, a server that throttles or started over) it goes on
// where it can and lists again where it must.
//
//	r := reflector.New(lw, sink, reflector.Options{})
//	err := r.Run(ctx) // until ctx ends
//
// One goroutine calls the sink. A second one, for the life of each watch, reads from it, so that a silent connection
// holds up neither a resync nor the end. Run leaves none behind.
//
// # What happens when
//
//   - Start: a streaming list (KEP-3157) where server and source support it, else a list in pages at version "0".
//   - The watch ends normally: watch again from the last version. If it brought not even a bookmark, from a source that
//     used to send them, the server may have started over without saying so: wait, then list.
//   - Connection refused, broken, timed out or silent; 429: wait, then watch again from the last version.
//   - 410: wait, then list at the last version; if that is 410 too, list at "", the most recent.
//   - "Too large resource version": list at "" at once. If the versions turn out to be behind what was seen, the
//     server's history started over, and a new epoch begins.
//   - Every other error: wait, then list.
//
// Within an epoch the last version never goes back.
package reflector
