package faultproxy

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rule says what goes wrong with the requests that it matches. Either Answer is set, and the server never sees the
// request, or the server's answer is passed on as the other fields say; several of them may be set.
type Rule struct {
	// Match tells which requests; nil = all.
	Match func(Request) bool
	// Times is for how many requests; 0 = until it is removed.
	Times int
	// Answer answers instead of the server.
	Answer http.HandlerFunc

	// CutAfterBytes breaks the connection after so many bytes of the body.
	CutAfterBytes int64
	// EndAfterEvents ends a watch normally after so many events.
	EndAfterEvents int
	// DropEndBookmark leaves out the bookmark that ends a streaming list.
	DropEndBookmark bool
	// Inject sends an ERROR event with this status after InjectAfter events of a watch, and then ends it.
	Inject      *metav1.Status
	InjectAfter int
}

// Lists matches lists of a resource (every page, and streaming lists do not count); "" = any.
func Lists(resource string) func(Request) bool {
	return func(r Request) bool { return r.Method == http.MethodGet && !isWatch(r) && isOf(r, resource) }
}

// FirstPages matches lists of a resource that have no continuation token.
func FirstPages(resource string) func(Request) bool {
	return func(r Request) bool { return Lists(resource)(r) && r.Query.Get("continue") == "" }
}

// NextPages matches lists of a resource that have a continuation token.
func NextPages(resource string) func(Request) bool {
	return func(r Request) bool { return Lists(resource)(r) && r.Query.Get("continue") != "" }
}

// Watches matches watches of a resource that are no streaming lists.
func Watches(resource string) func(Request) bool {
	return func(r Request) bool { return isWatch(r) && !isStreaming(r) && isOf(r, resource) }
}

// StreamingLists matches streaming lists of a resource.
func StreamingLists(resource string) func(Request) bool {
	return func(r Request) bool { return isWatch(r) && isStreaming(r) && isOf(r, resource) }
}

// At matches what match does if it asks for the version.
func At(version string, match func(Request) bool) func(Request) bool {
	return func(r Request) bool { return match(r) && r.Query.Get("resourceVersion") == version }
}

func isOf(r Request, resource string) bool { return resource == "" || path.Base(r.Path) == resource }

func isWatch(r Request) bool {
	w := r.Query.Get("watch")
	return w == "true" || w == "1"
}

func isStreaming(r Request) bool { return r.Query.Get("sendInitialEvents") == "true" }

// Failure returns an answer with the status, as an API server writes it, with a Retry-After header if it names seconds.
func Failure(status metav1.Status) http.HandlerFunc {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Status = metav1.StatusFailure
	return func(w http.ResponseWriter, _ *http.Request) {
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(d.RetryAfterSeconds))
		}
		writeJSON(w, int(status.Code), status)
	}
}

func writeJSON(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // a client that went away
}

// ThrottledStatus is a 429 that asks to come again after so many seconds.
func ThrottledStatus(seconds int32) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusTooManyRequests, Reason: metav1.StatusReasonTooManyRequests,
		Message: "too many requests", Details: &metav1.StatusDetails{RetryAfterSeconds: seconds},
	}
}

// ExpiredStatus is a 410.
func ExpiredStatus() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired,
		Message: "the resource version is too old",
	}
}

// InternalStatus is a 500.
func InternalStatus(message string) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
		Message: message,
	}
}

// ForbiddenStatus is a 403.
func ForbiddenStatus() metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: "forbidden by a rule",
	}
}

// Shape is one of the ways in which servers say "too large resource version".
type Shape string

// The shapes: 1.20 and later, 1.18 and 1.19, and before.
const (
	CauseType    Shape = "cause type"
	CauseMessage Shape = "cause message"
	MessageText  Shape = "message text"
)

// Shapes are all of them.
var Shapes = []Shape{CauseType, CauseMessage, MessageText}

// TooLargeStatus is a 504 that says "too large resource version" in one shape only.
func TooLargeStatus(shape Shape) metav1.Status {
	const text = "Too large resource version"
	s := metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusGatewayTimeout, Reason: metav1.StatusReasonTimeout,
		Message: "Timeout", Details: &metav1.StatusDetails{RetryAfterSeconds: 1},
	}
	switch shape {
	case CauseType:
		s.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	case CauseMessage:
		s.Details.Causes = []metav1.StatusCause{{Message: text}}
	case MessageText:
		s.Message = "Timeout: " + text + ": 9, current: 8"
	}
	return s
}

// Throttled answers 429, Expired 410, Forbidden 403, TooLarge 504.
func Throttled(seconds int32) http.HandlerFunc { return Failure(ThrottledStatus(seconds)) }

// Expired answers 410.
func Expired() http.HandlerFunc { return Failure(ExpiredStatus()) }

// Forbidden answers 403.
func Forbidden() http.HandlerFunc { return Failure(ForbiddenStatus()) }

// TooLarge answers 504 in the shape.
func TooLarge(shape Shape) http.HandlerFunc { return Failure(TooLargeStatus(shape)) }

// Table answers a list with an empty Table, and a watch with one ADDED event that holds one.
func Table() http.HandlerFunc {
	table := metav1.Table{
		TypeMeta: metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"},
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.RawQuery, "watch=") {
			writeJSON(w, http.StatusOK, table)
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"type": "ADDED", "object": table})
	}
}

// EmptyWatch answers a watch that ends at once.
func EmptyWatch() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
	}
}
