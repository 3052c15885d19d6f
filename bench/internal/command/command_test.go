package command_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/command"
	"github.com/tarn-dev/tarn/bench/internal/report"
)

// The processes that a benchmark starts are its own program: here the test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"serve", "client"}, os.Args[1]) {
		os.Exit(command.Main(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// execute runs the command and returns its exit code and what it wrote.
func execute(t *testing.T, args ...string) (code int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	code = command.Execute(t.Context(), args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// Ensures that a benchmark of few objects goes through from the serving process to the table, the files and the bounds.
func TestBench_Few(t *testing.T) {
	dir := t.TempDir()
	json, svg, bounds := filepath.Join(dir, "figures.json"), filepath.Join(dir, "chart.svg"), filepath.Join(dir, "bounds.json")
	keep := `[{"what":"heap","figure":"pods/sync/heap_live/tarn-lean","of":"pods/sync/heap_live/client-go","atMost":"%s"}]`
	if err := os.WriteFile(bounds, fmt.Appendf(nil, keep, "1"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, progress := execute(t, "--objects=300", "--burst=300", "--rounds=2", "--workloads=pods", "--clients=empty,client-go,tarn-lean",
		"--json", json, "--svg", svg, "--check", bounds)
	if code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", code, out, progress)
	}
	for _, want := range []string{"pods, sync", "pods, relist", "pods, burst-decode-old-new", "300 objects, median of 2", "ok      heap:"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(progress, "[6/6") {
		t.Errorf("progress:\n%s", progress)
	}
	f, err := os.Open(json)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	figures, err := report.ReadJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{client.ClientGo, client.TarnLean} {
		got, ok := figures.Find(report.Key{Workload: "pods", Objects: 300, Phase: "burst", Metric: "burst_rate", Client: name})
		if !ok || got.Runs != 2 || got.Median <= 0 || got.Min > got.Max {
			t.Errorf("%s: %v %v", name, got, ok)
		}
	}
	if chart, err := os.ReadFile(svg); err != nil || !bytes.Contains(chart, []byte("</svg>")) {
		t.Errorf("chart: %v", err)
	}

	if err := os.WriteFile(bounds, fmt.Appendf(nil, keep, "1/1000000"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, problem := execute(t, "--from", json, "--check", bounds)
	if code != 1 || !strings.Contains(out, "MISSED  heap:") || !strings.Contains(problem, "1 of 1 bounds missed") {
		t.Errorf("exit code %d\n%s\n%s", code, out, problem)
	}
}

// Ensures that a client that cannot be measured is named, and that the exit code tells.
func TestBench_Fails(t *testing.T) {
	code, _, problem := execute(t, "client", "tarn-lean", "--workload=nodes")
	if code != 1 || !strings.Contains(problem, `no workload "nodes"`) {
		t.Errorf("exit code %d, %s", code, problem)
	}
	for _, args := range [][]string{{"--clients=informer"}, {"--workloads=nodes"}, {"--server=production"}, {"--objects=0"}, {"--from=/none"}, {"pods"}} {
		if code, _, problem := execute(t, args...); code != 1 || strings.Count(strings.TrimSpace(problem), "\n") != 0 || problem == "" {
			t.Errorf("%q: exit code %d, %s", args, code, problem)
		}
	}
}

// Ensures that the help names what can be chosen and hides the processes that a benchmark starts by itself.
func TestBench_Help(t *testing.T) {
	_, out, _ := execute(t, "--help")
	for _, name := range append(client.Names(), "pods-decode", "crs", "--full", "--check") {
		if !strings.Contains(out, name) {
			t.Errorf("no %q in the help", name)
		}
	}
	if strings.Contains(out, "Available Commands") {
		t.Errorf("the help has commands:\n%s", out)
	}
}
