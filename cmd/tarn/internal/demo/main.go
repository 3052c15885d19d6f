// Command demo shows tarn at work: it starts a control plane of its own, fills it as a cluster would be, keeps it changing
// and runs tarn watch on it until Ctrl-C. DEMO_SECONDS=n ends the watching by itself. "make demo" runs it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer context.AfterFunc(ctx, stop)() // a second signal kills
	limit, err := limit(os.Getenv("DEMO_SECONDS"))
	if err == nil {
		err = demo{pods: 2000, rate: 20, limit: limit}.show(ctx, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		return 1
	}
	return 0
}

// limit reads DEMO_SECONDS; 0 is no limit.
func limit(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("DEMO_SECONDS=%s: give a number of seconds", text)
	}
	return time.Duration(n * float64(time.Second)), nil
}
