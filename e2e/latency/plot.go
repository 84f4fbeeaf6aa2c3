package latency

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The measures of the plot, in pixels.
const (
	labelWidth = 150
	panelWidth = 400
	gap        = 40
	lane       = 11 // of one measurement
	spacing    = 8  // between protocols
	headHeight = 96
	panelHead  = 34
	axisHeight = 30
)

// colours are those of the conditions.
func colours() []string { return []string{"#1b6ca8", "#2a9d5c", "#d98a00", "#b3372f"} }

// An axis maps microseconds to pixels, in powers of ten.
type axis struct{ low, high float64 }

func (r *Report) axis() axis {
	low, high := math.Inf(1), 0.0
	for i := range r.Rows {
		low, high = min(low, r.Rows[i].Min), max(high, r.Rows[i].Max)
	}
	low, high = max(low, 1), max(high, 10)
	return axis{math.Log10(low) - 0.05, math.Log10(high) + 0.05}
}

func (a axis) x(us float64) float64 {
	return panelWidth * (math.Log10(max(us, 1)) - a.low) / (a.high - a.low)
}

// ticks are 1, 2 and 5 times the powers of ten.
func (a axis) ticks() []float64 {
	var ticks []float64
	for decade := math.Floor(a.low); decade <= a.high; decade++ {
		for _, factor := range []float64{1, 2, 5} {
			if us := factor * math.Pow(10, decade); math.Log10(us) >= a.low && math.Log10(us) <= a.high {
				ticks = append(ticks, us)
			}
		}
	}
	return ticks
}

// Plot is the report as a drawing in SVG: a panel for each way and deployment,
// in it a line from the shortest to the longest time of each measurement, a bar
// from the median to the 99th percentile with a notch at the 90th, and a dot at
// the median.
func (r *Report) Plot() string {
	ways, deployments, rows := r.groups()
	a := r.axis()
	var body strings.Builder
	y := headHeight
	for _, way := range ways {
		height := 0
		for column, deployment := range deployments {
			group := rows[[2]string{way, deployment}]
			if len(group) == 0 {
				continue
			}
			p := panel{out: &body, axis: a, x: labelWidth + column*(panelWidth+gap), y: y, labels: column == 0}
			height = max(height, p.draw(way, deployment, group))
		}
		y += height
	}
	width := labelWidth + len(deployments)*(panelWidth+gap)
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n", width, y, width, y)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, y)
	out.WriteString(`<text x="12" y="24" font-size="17" font-weight="bold">Latencies</text>` + "\n")
	out.WriteString(`<text x="112" y="24">dot: median; bar: to the 99th percentile, with a notch at the 90th; line: from shortest to longest</text>` + "\n")
	fmt.Fprintf(&out, `<text x="12" y="44" fill="#555">%s</text>`+"\n", html.EscapeString(r.Machine))
	x := 12
	for i, condition := range conditions() {
		fmt.Fprintf(&out, `<rect x="%d" y="58" width="18" height="9" fill="%s"/><text x="%d" y="67">%s</text>`+"\n", x, colours()[i], x+24, condition)
		x += 60 + 7*len(condition)
	}
	out.WriteString(body.String() + "</svg>\n")
	return out.String()
}

// A panel is one way in one deployment.
type panel struct {
	out    *strings.Builder
	axis   axis
	x, y   int
	labels bool // names the protocols
}

// draw returns how high the panel is.
func (p *panel) draw(way, deployment string, group []*Row) int {
	fmt.Fprintf(p.out, `<text x="%d" y="%d" font-size="13" font-weight="bold">%s</text>`+"\n", p.x, p.y+12, html.EscapeString(way))
	fmt.Fprintf(p.out, `<text x="%d" y="%d" fill="#555">%s</text>`+"\n", p.x, p.y+27, html.EscapeString(deployment))
	y, protocol := p.y+panelHead, ""
	var lanes strings.Builder
	for _, row := range group {
		if row.Protocol != protocol {
			y += spacing
			if protocol = row.Protocol; p.labels {
				fmt.Fprintf(&lanes, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", p.x-10, y+lane, html.EscapeString(protocol))
			}
		}
		p.lane(&lanes, y, row)
		y += lane
	}
	bottom := y + spacing
	for _, us := range p.axis.ticks() {
		x := float64(p.x) + p.axis.x(us)
		fmt.Fprintf(p.out, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>`, x, p.y+panelHead, x, bottom)
		fmt.Fprintf(p.out, `<text x="%.1f" y="%d" text-anchor="middle" font-size="9" fill="#555">%g</text>`+"\n", x, bottom+12, us/1000)
	}
	fmt.Fprintf(p.out, `<text x="%d" y="%d" font-size="9" fill="#555">ms</text>`+"\n", p.x+panelWidth+6, bottom+12)
	p.out.WriteString(lanes.String())
	return bottom + axisHeight - p.y
}

func (p *panel) lane(out *strings.Builder, y int, row *Row) {
	colour := colours()[row.conditionIndex()]
	at := func(us float64) float64 { return float64(p.x) + p.axis.x(us) }
	middle := float64(y) + lane/2.0
	fmt.Fprintf(out, `<g><title>%s, %s: min %.0f, p50 %.0f, p90 %.0f, p99 %.0f, max %.0f µs of %d</title>`,
		html.EscapeString(row.Protocol), row.condition(), row.Min, row.P50, row.P90, row.P99, row.Max, row.N)
	fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, at(row.Min), middle, at(row.Max), middle, colour)
	fmt.Fprintf(out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s" fill-opacity="0.55"/>`,
		at(row.P50), middle-3, max(at(row.P99)-at(row.P50), 1), 6, colour)
	fmt.Fprintf(out, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="white" stroke-width="1.5"/>`, at(row.P90), middle-3, at(row.P90), middle+3)
	fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/></g>`+"\n", at(row.P50), middle, colour)
}
