package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fatih/color"
	"golang.org/x/term"
)

// colors are the values of --color.
var colors = []string{"auto", "always", "never"}

// screen is a stream of the command, and what is known of the terminal behind it.
type screen struct {
	io.Writer
	fd       int
	terminal bool
	color    bool
}

// newScreen returns the screen of a stream. colors is the value of --color; NO_COLOR counts if it is not empty
// (no-color.org).
func newScreen(w io.Writer, colors string) screen {
	s := screen{Writer: w}
	if f, ok := w.(*os.File); ok {
		s.fd = int(f.Fd())
		s.terminal = term.IsTerminal(s.fd)
	}
	s.color = colors == "always" || colors == "auto" && s.terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

func (o *watchOptions) screens() (out, errOut screen) {
	return newScreen(o.streams.Out, o.color), newScreen(o.streams.ErrOut, o.color)
}

// width returns the terminal's columns, 0 where there is no terminal.
func (s screen) width() int {
	if !s.terminal {
		return 0
	}
	w, _, err := term.GetSize(s.fd)
	if err != nil {
		return 80
	}
	return w
}

// notices writes messages to the user, beside the output. Its methods may be called concurrently.
type notices struct {
	screen screen
	now    func() time.Time

	mu     sync.Mutex
	passes bool // the last line is progress, to be overwritten
}

// say writes a line.
func (n *notices) say(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
	fmt.Fprintf(n.screen, format+"\n", args...)
}

// alert writes a line about something that went wrong, or is well again, marked so that it is seen between changes.
func (n *notices) alert(format string, args ...any) {
	c := color.New(color.FgMagenta)
	c.DisableColor()
	if n.screen.color {
		c.EnableColor()
	}
	n.say("%s", c.Sprint(n.now().Format("15:04:05")+" ! "+fmt.Sprintf(format, args...)))
}

// progress writes a line that the next one overwrites; only a terminal shows it.
func (n *notices) progress(format string, args ...any) {
	if !n.screen.terminal {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
	text := []rune(fmt.Sprintf(format, args...))
	if w := n.screen.width(); len(text) > w-1 {
		text = text[:max(w-1, 0)]
	}
	fmt.Fprint(n.screen, string(text))
	n.passes = true
}

// interrupted makes the next line replace the ^C that a terminal shows.
func (n *notices) interrupted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.passes = n.screen.terminal
}

// done removes the progress line.
func (n *notices) done() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clear()
}

func (n *notices) clear() {
	if n.passes {
		fmt.Fprint(n.screen, "\r\x1b[K")
		n.passes = false
	}
}

// count returns a number with separators and the noun that goes with it.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int) string {
	digits := fmt.Sprint(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// size returns a number of bytes as a person reads it.
func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f kB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d B", n)
}

// span returns a duration as a person reads it.
func span(d time.Duration) string {
	switch {
	case d >= time.Minute:
		return d.Round(time.Second).String()
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}
