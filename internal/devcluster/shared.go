package devcluster

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// shared is the cluster that the tests of a package share.
var shared struct {
	mu      sync.Mutex
	allowed bool
	cluster *Cluster
	err     error
}

// Shared returns the one cluster, with default options, that all tests of the package share; the first to ask starts it. The
// package's TestMain must run [Sharing]. Whoever stops or restarts it must not run in parallel with others.
func Shared(t testing.TB) *Cluster {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.allowed {
		t.Fatal("devcluster.Shared needs a TestMain that runs devcluster.Sharing(m)")
	}
	if shared.cluster == nil && shared.err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		shared.cluster, shared.err = New(ctx)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.cluster
}

// Runner is what [testing.M] is for a TestMain.
type Runner interface{ Run() int }

// Sharing returns a runner that runs m and then ends the cluster that its tests shared, if they did. Checks for leaked
// goroutines go around it.
func Sharing(m Runner) Runner { return sharing{m} }

type sharing struct{ m Runner }

// Run implements [Runner].
func (s sharing) Run() int {
	shared.mu.Lock()
	shared.allowed = true
	shared.mu.Unlock()
	code := s.m.Run()

	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.allowed = false
	if c := shared.cluster; c != nil {
		shared.cluster = nil
		if err := c.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return max(code, 1)
		}
	}
	return code
}
