//go:build linux

package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The sizes of the plot, in pixels.
const (
	plotWidth  = 900
	plotLeft   = 190 // where the axis begins; names stand before it
	plotRight  = 700 // where it ends; figures stand after it
	plotTop    = 64
	rowHeight  = 24
	plotFooter = 28
)

// plotStyle is readable on light and dark pages.
const plotStyle = `
text { font: 12px sans-serif; fill: #57606a }
.name { font-family: monospace; text-anchor: end }
.tick { text-anchor: middle }
.grid { stroke: #8b949e; stroke-opacity: 0.25 }
.one { stroke: #8b949e; stroke-width: 1.5 }
.target { fill: none; stroke: #8b949e; stroke-width: 1.5 }
.met { stroke: #2da44e; fill: #2da44e }
.missed { stroke: #e5534b; fill: #e5534b }
.plain { stroke: #539bf5; fill: #539bf5 }
.unsure { stroke: #8b949e; fill: none }
.interval { stroke-width: 2 }
@media (prefers-color-scheme: dark) { text { fill: #adbac7 } }
`

// A plotRow is a ratio with its name.
type plotRow struct {
	name string
	outcome
}

// plot draws all ratios as an SVG: a dot for the median, a line for its interval, and
// a bracket at the target that is open towards where it is met. The axis is logarithmic.
func plot(results map[string]outcome) string {
	var rows []plotRow
	for _, m := range measures {
		if r, ran := results[m.name]; ran && r.Ratio != nil {
			rows = append(rows, plotRow{m.name, r})
		}
	}
	axis := axisOf(rows)
	height := plotTop + rowHeight*len(rows) + plotFooter
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", plotWidth, height, plotWidth, height)
	fmt.Fprintf(&out, "<title>Ratios of the gateway to what it is compared with</title>\n<style>%s</style>\n", plotStyle)
	legend(&out)
	for _, tick := range axis.ticks() {
		class := "grid"
		if tick == 1 {
			class = "one"
		}
		x, bottom := axis.at(tick), height-plotFooter+4
		fmt.Fprintf(&out, `<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, class, x, plotTop-8, x, bottom)
		fmt.Fprintf(&out, `<text class="tick" x="%.1f" y="%d">%g</text>`+"\n", x, bottom+16, tick)
	}
	for i, row := range rows {
		row.draw(&out, axis, plotTop+rowHeight*i+rowHeight/2)
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func legend(out *strings.Builder) {
	const y = 26
	x := plotLeft
	for _, entry := range []struct {
		class, text string
		width       int
	}{
		{"met", "target met", 100}, {"missed", "target missed", 118}, {"plain", "no target", 94}, {"unsure", "not measurable here", 154},
	} {
		fmt.Fprintf(out, `<circle class="%s" cx="%d" cy="%d" r="4.5"/><text x="%d" y="%d">%s</text>`+"\n", entry.class, x, y, x+10, y+4, entry.text)
		x += entry.width
	}
	bracket(out, float64(x), y, false)
	fmt.Fprintf(out, `<text x="%d" y="%d">at most</text>`+"\n", x+8, y+4)
	bracket(out, float64(x+70), y, true)
	fmt.Fprintf(out, `<text x="%d" y="%d">at least</text>`+"\n", x+82, y+4)
}

// bracket marks a target. Its arms point to where the target is met.
func bracket(out *strings.Builder, x float64, y int, atLeast bool) {
	arm := -5.0
	if atLeast {
		arm = 5
	}
	fmt.Fprintf(out, `<path class="target" d="M%.1f %d H%.1f V%d H%.1f"/>`, x+arm, y-8, x, y+8, x+arm)
}

func (r plotRow) draw(out *strings.Builder, axis axis, y int) {
	class := "plain"
	switch {
	case !r.Ratio.measurable():
		class = "unsure"
	case r.Met != nil && *r.Met:
		class = "met"
	case r.Met != nil:
		class = "missed"
	}
	fmt.Fprintf(out, `<text class="name" x="%d" y="%d">%s</text>`, plotLeft-14, y+4, html.EscapeString(r.name))
	if r.Ratio.Bound != nil {
		bracket(out, axis.at(r.Ratio.Bound.Limit), y, r.Ratio.Bound.AtLeast)
	}
	fmt.Fprintf(out, `<line class="%s interval" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, class, axis.at(r.Ratio.Low), y, axis.at(r.Ratio.High), y)
	fmt.Fprintf(out, `<circle class="%s" cx="%.1f" cy="%d" r="4.5"/>`, class, axis.at(r.Ratio.Median), y)
	fmt.Fprintf(out, `<text x="%d" y="%d">%.2f (%.2f ... %.2f)</text>`+"\n", plotRight+16, y+4, r.Ratio.Median, r.Ratio.Low, r.Ratio.High)
}

// An axis is a logarithmic scale.
type axis struct{ low, high float64 }

// axisOf has room for all ratios and targets, and for 1.
func axisOf(rows []plotRow) axis {
	low, high := 1.0, 1.0
	for _, row := range rows {
		low, high = min(low, row.Ratio.Low), max(high, row.Ratio.High)
		if row.Ratio.Bound != nil {
			low, high = min(low, row.Ratio.Bound.Limit), max(high, row.Ratio.Bound.Limit)
		}
	}
	return axis{low: low / 1.1, high: high * 1.1}
}

func (a axis) at(value float64) float64 {
	return plotLeft + (plotRight-plotLeft)*math.Log(value/a.low)/math.Log(a.high/a.low)
}

// ticks are 1, 2 and 5 times the powers of ten.
func (a axis) ticks() []float64 {
	var ticks []float64
	for exponent := -3; exponent <= 3; exponent++ {
		for _, step := range []float64{1, 2, 5} {
			if tick := step * math.Pow10(exponent); tick >= a.low && tick <= a.high {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}
