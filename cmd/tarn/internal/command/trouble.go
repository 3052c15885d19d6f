package command

import (
	"fmt"
	"time"
)

// trouble is what is wrong with one resource at the moment, and what the user was told of it.
type trouble struct {
	since time.Time // zero: all is well
	said  string
	at    int // the number of failures when it was said
}

// look tells the user what has gone wrong since the last look, and what is well again. Resources with the same trouble
// share a line.
func (w *watching) look() {
	now := time.Now()
	var texts, back []string
	names, next := map[string][]string{}, map[string]time.Time{}
	longest := time.Duration(0)
	for _, r := range w.watched {
		t, scope := &r.trouble, r.informer.Status().Scopes[0]
		if scope.LastError == nil {
			if !t.since.IsZero() {
				longest = max(longest, now.Sub(t.since))
				back = append(back, r.short)
				*t = trouble{}
			}
			continue
		}
		if scope.Phase != "waiting" && scope.Failures < 2 {
			continue // tried again at once; if that helps, nobody needs to know
		}
		text := explain(scope.LastError, place{server: w.o.conn.place.server}).text
		if t.said == text && scope.Failures < 4*t.at {
			continue
		}
		if t.since.IsZero() {
			t.since = now
		}
		t.said, t.at = text, max(scope.Failures, 1)
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], r.short)
		if n := next[text]; n.IsZero() || scope.NextTry.Before(n) {
			next[text] = scope.NextTry
		}
	}
	for _, text := range texts {
		w.notices.alert("%s: %s; %s", list(names[text]), text, retry(next[text], now))
	}
	if len(back) > 0 {
		w.notices.alert("%s: back after %s", list(back), span(longest))
	}
}

// retry says when the next attempt is.
func retry(next, now time.Time) string {
	if d := next.Sub(now); !next.IsZero() && d >= 50*time.Millisecond {
		return fmt.Sprintf("trying again in %s", span(d))
	}
	return "trying again now"
}
