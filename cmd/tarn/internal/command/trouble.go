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
	var lines, back []string
	names := map[string][]string{}
	longest := time.Duration(0)
	for _, r := range w.watched {
		for _, scope := range r.informer.Status().Scopes {
			t := &r.trouble
			if scope.LastError == nil {
				if !t.since.IsZero() {
					longest = max(longest, now.Sub(t.since))
					back = append(back, r.short)
					*t = trouble{}
				}
				continue
			}
			p := explain(scope.LastError, w.o.conn.place)
			if scope.Phase != "waiting" && scope.Failures < 2 {
				continue // tried again at once; if that helps, nobody needs to know
			}
			if t.said == p.text && scope.Failures < 4*t.at {
				continue
			}
			if t.since.IsZero() {
				t.since = now
			}
			t.said, t.at = p.text, max(scope.Failures, 1)
			line := p.text + "; " + retry(scope.NextTry, now)
			if names[line] == nil {
				lines = append(lines, line)
			}
			names[line] = append(names[line], r.short)
		}
	}
	for _, line := range lines {
		w.notices.alert("%s: %s", list(names[line]), line)
	}
	if len(back) > 0 {
		w.notices.alert("%s: back after %s, changes since are shown", list(back), span(longest))
	}
}

// retry says when the next attempt is.
func retry(next, now time.Time) string {
	if d := next.Sub(now); !next.IsZero() && d >= 50*time.Millisecond {
		return fmt.Sprintf("trying again in %s", span(d))
	}
	return "trying again now"
}
