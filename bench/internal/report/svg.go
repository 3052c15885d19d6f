package report

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"html"
	"io"
	"slices"

	"github.com/tarn-dev/tarn/bench/internal/client"
	"github.com/tarn-dev/tarn/bench/internal/phase"
)

// The chart's groups, and the clients that it shows.
var (
	charted = []struct{ phase, metric, title string }{
		{"sync", phase.HeapLive, "live heap"},
		{"sync", phase.SyncPeakRSS, "peak memory, first sync"},
		{"relist", phase.RelistPeakRSS, "peak memory, relist"},
		{"sync", phase.SyncCPU, "processor time, first sync"},
		{"relist", phase.RelistCPU, "processor time, relist"},
		{"burst", phase.BurstCPUPerEvent, "processor time of one event in a burst"},
	}
	chartedClients = []string{client.ClientGo, client.ControllerRuntime, client.StateDB, client.TarnLean}
)

// Sizes of the chart, in pixels.
const (
	chartWidth = 760
	barsLeft   = 150
	barsWidth  = 480
	barHeight  = 16
	barStep    = 20
	groupStep  = 34
)

// WriteSVG draws the pods workload as bars, at the largest size at which it was measured with client-go: in each group the
// longest bar is as wide as the chart. It is legible on light and on dark ground, and needs no other file.
func (all Figures) WriteSVG(w io.Writer) error {
	objects := 0
	for _, f := range all {
		if f.Workload == "pods" && f.Client == client.ClientGo {
			objects = max(objects, f.Objects)
		}
	}
	if objects == 0 {
		return errors.New("a chart needs the workload pods with client-go")
	}
	type group struct {
		title string
		bars  []Figure
	}
	var groups []group
	height := 46
	for _, c := range charted {
		g := group{title: c.title}
		for _, name := range chartedClients {
			if f, ok := all.Find(Key{"pods", objects, c.phase, c.metric, name}); ok {
				g.bars = append(g.bars, f)
			}
		}
		if len(g.bars) > 0 {
			groups = append(groups, g)
			height += groupStep + barStep*len(g.bars)
		}
	}
	b := bufio.NewWriter(w)
	title := thousands(float64(objects)) + " pods: less is better"
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%s">
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.title { font-size: 16px; font-weight: 600 }
.group { font-weight: 600 }
.other { fill: #8c959f }
.tarn { fill: #1a7f64 }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .other { fill: #6e7681 } .tarn { fill: #3fb68b } }
</style>
<text class="title" x="8" y="24">%[3]s</text>
`, chartWidth, height, html.EscapeString(title))
	y := 34
	for _, g := range groups {
		y += groupStep - barStep/2
		fmt.Fprintf(b, `<text class="group" x="8" y="%d">%s</text>`+"\n", y, html.EscapeString(g.title))
		y += barStep/2 - 2
		longest := slices.MaxFunc(g.bars, func(a, b Figure) int { return cmp.Compare(a.Median, b.Median) }).Median
		for _, f := range g.bars {
			class := "other"
			if f.Client == client.TarnLean {
				class = "tarn"
			}
			width := max(1, f.Median/longest*barsWidth)
			label := Value(f.Median, f.Unit)
			if base, ok := all.Baseline(f); ok && f.Client != base.Client {
				label += " (" + Ratio(f.Median/base.Median) + ")"
			}
			fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="end">%s</text><rect class="%s" x="%d" y="%d" width="%.1f" height="%d"/>`,
				barsLeft-8, y+barHeight-3, f.Client, class, barsLeft, y, width, barHeight)
			fmt.Fprintf(b, `<text x="%.1f" y="%d">%s</text>`+"\n", barsLeft+width+6, y+barHeight-3, html.EscapeString(label))
			y += barStep
		}
	}
	fmt.Fprintln(b, "</svg>")
	return b.Flush()
}
