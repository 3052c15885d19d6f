package command

import (
	"log/slog"
	"net/http"
	"time"
)

// requestLog logs each request once the head of its answer is there, which for a watch is when it begins.
type requestLog struct {
	next   http.RoundTripper
	logger *slog.Logger
}

// RoundTrip implements [http.RoundTripper].
func (l *requestLog) RoundTrip(r *http.Request) (*http.Response, error) {
	started := time.Now()
	resp, err := l.next.RoundTrip(r)
	answer := slog.Any("err", err)
	if err == nil {
		answer = slog.Int("status", resp.StatusCode)
	}
	l.logger.DebugContext(r.Context(), "asked", "method", r.Method, "url", r.URL.String(), answer, "took", time.Since(started))
	return resp, err
}
