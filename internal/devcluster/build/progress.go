package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// progress counts the packages that `go build -v` names, and shows every so often how many there are. It is the
// writer for the command's standard error; what is not a package's name is kept in messages.
type progress struct {
	out             *os.File
	started         time.Time
	total, compiled atomic.Int64
	messages        bytes.Buffer
	partial         []byte
	stop, stopped   chan struct{}
}

// startProgress shows progress until end is called: on a terminal one line that changes every second, else a line
// every ten seconds.
func startProgress(out *os.File) *progress {
	p := &progress{out: out, started: time.Now(), stop: make(chan struct{}), stopped: make(chan struct{})}
	every, before, after := 10*time.Second, "", "\n"
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		every, before, after = time.Second, "\r\033[K", ""
	}
	go func() {
		defer close(p.stopped)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprint(out, before, p.line(), after)
			case <-p.stop:
				fmt.Fprint(out, before, p.line(), "\n")
				return
			}
		}
	}()
	return p
}

// end shows the last line. Nothing may be written to p from then on.
func (p *progress) end() {
	close(p.stop)
	<-p.stopped
}

func (p *progress) line() string {
	seconds := time.Since(p.started).Seconds()
	if p.total.Load() == 0 {
		return fmt.Sprintf("devcluster: %4.0f s  fetching modules", seconds)
	}
	return fmt.Sprintf("devcluster: %4.0f s  compiled %d of at most %d packages", seconds, p.compiled.Load(), p.total.Load())
}

// Write takes what the command says.
func (p *progress) Write(b []byte) (int, error) {
	p.partial = append(p.partial, b...)
	for {
		line, rest, whole := bytes.Cut(p.partial, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.partial = rest
		if strings.ContainsAny(string(line), " \t#") {
			p.messages.Write(append(line, '\n'))
		} else {
			p.compiled.Add(1)
		}
	}
}
