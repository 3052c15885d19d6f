package reflector

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// What a [Reflector] reports besides the source's own errors. They come wrapped.
var (
	// ErrRunning is returned by a second Run while the first still runs.
	ErrRunning = errors.New("reflector is already running")
	// ErrNoVersion says that a list came without a version: nothing can be watched from there.
	ErrNoVersion = errors.New("list has no resource version")
	// ErrShortWatch says that a watch ended within a second having delivered nothing.
	ErrShortWatch = errors.New("very short watch: ended within a second without an event")
	// ErrSilent says that a watch ended as it should, but without the bookmarks that the source used to send: a server does
	// so that is asked for a version it has not reached, because its history started over.
	ErrSilent = errors.New("watch brought nothing, not even a bookmark as before")
	// ErrIdle says that nothing came for longer than the server would have been silent.
	ErrIdle = errors.New("nothing came, not even a bookmark, within the timeout: connection taken for dead")
	// ErrNoEndBookmark says that a streaming list did not bring the bookmark that ends it.
	ErrNoEndBookmark = errors.New("streaming list without the bookmark that ends it")
	// ErrWentBack says that the server is behind what it has said before: its history started over.
	ErrWentBack = errors.New("resource version is older than one already seen")
	// ErrKind says that an event's object is not of the expected kind.
	ErrKind = errors.New("unexpected kind")
	// ErrEvent says that an event makes no sense.
	ErrEvent = errors.New("bad event")
)

// operation is an error with what was being done: `pods in "prod": list: forbidden`.
type operation struct {
	what, op string
	err      error
}

func (o *operation) Error() string {
	if o.what == "" {
		return o.op + ": " + o.err.Error()
	}
	return o.what + ": " + o.op + ": " + o.err.Error()
}

func (o *operation) Unwrap() error { return o.err }

const tooLargeMessage = "Too large resource version"

// isTooLarge reports whether the server is not yet, or no longer, at the version it was asked for. Since 1.20 it says so
// in a cause's type, 1.18 and 1.19 in a cause's message, older ones only in the text.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Message == tooLargeMessage {
				return true
			}
		}
	}
	return strings.Contains(s.Message, tooLargeMessage)
}

// isExpired reports whether the version is older than what the server has kept (410).
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// isInternal reports a 500.
func isInternal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) &&
		(status.Status().Code == http.StatusInternalServerError || apierrors.IsInternalError(err))
}

// isDisconnect reports whether the connection failed, not the request: what was asked for may still be had.
func isDisconnect(err error) bool {
	var netErr net.Error // refused, reset, timed out, and whatever else an HTTP client or a system call says
	return errors.As(err, &netErr) || errors.Is(err, ErrIdle) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsProbableEOF(err) || utilnet.IsHTTP2ConnectionLost(err)
}

// isStreamingRefused reports whether the server does not know the options of a streaming list, or will not have them.
func isStreamingRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) ||
		apierrors.IsNotAcceptable(err)
}

// outcome sorts err for the metrics. ctx is the caller's.
func outcome(ctx context.Context, err error) Outcome {
	switch {
	case err == nil || err == io.EOF:
		return OK
	case ctx.Err() != nil:
		return Canceled
	case isExpired(err):
		return Expired
	case isTooLarge(err):
		return TooLarge
	case apierrors.IsTooManyRequests(err):
		return Throttled
	case isDisconnect(err):
		return Disconnected
	}
	return Failed
}
