package main

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Ensures that rounds follow each other until as many modifications were accepted as were asked for, and that an error
// or the context's end stops them.
func TestChurn(t *testing.T) {
	limits := []int{}
	half := func(limit int, progress func(workload.ChurnCounts)) error {
		limits = append(limits, limit)
		c := workload.ChurnCounts{Conflict: limit / 2}
		c.Done[workload.StatusChange] = limit - limit/2
		progress(c)
		return nil
	}
	if err := churn(t.Context(), 10, half); err != nil || len(limits) != 4 || limits[1] != 5 || limits[3] != 1 {
		t.Errorf("%v, rounds of %v", err, limits)
	}
	broken := errors.New("broken")
	if err := churn(t.Context(), 1, func(int, func(workload.ChurnCounts)) error { return broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := churn(ended, 1, func(int, func(workload.ChurnCounts)) error { return broken }); err != nil {
		t.Error(err)
	}
}
