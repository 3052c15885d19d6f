// Package serve is a server of one collection of Kubernetes objects that does nothing but send: everything is made and
// encoded before the first request, so that on a machine of two cores the client that is measured has the most of them.
//
// It answers lists, pages, streaming lists and watches in protobuf and JSON, and as much of discovery as clients ask for.
// What happens to the collection is said by posting to /bench/: see [Control].
package serve
