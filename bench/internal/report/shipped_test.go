package report_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
	"github.com/tarn-dev/tarn/bench/internal/report"
)

// Ensures that the bounds that come with the benchmark name workloads, metrics and clients that exist: else they would
// pass for not measured.
func TestParseBounds_Shipped(t *testing.T) {
	text, err := os.ReadFile("../../bounds.json")
	if err != nil {
		t.Fatal(err)
	}
	bounds, err := report.ParseBounds(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bounds {
		for _, figure := range []string{b.Figure, b.Of} {
			if figure == "" {
				continue
			}
			p := strings.Split(figure, "/")
			w, err := phase.Find(p[0])
			if err != nil || !slices.Contains(w.Clients, p[3]) || !slices.Contains(client.Names(), p[3]) {
				t.Errorf("%s: %s: %v", b.What, figure, err)
			}
			phase.Unit(p[2]) // panics if there is none
		}
	}
}
