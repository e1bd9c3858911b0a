package measure

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// The sizes of the picture, in its own units.
const (
	pictureWidth = 720
	rowHeight    = 72
	marginLeft   = 16
	bins         = 120
)

// SVG draws how the times of the calls are distributed: a row for each function, in the order of Results, over a common time axis, with a
// line at the median. The axis is logarithmic if the longest time is more than twenty times the shortest. Times beyond the 99th percentile
// are left out. The result is nil when the report is empty or was read from JSON, which does not have the times of single calls.
func (r Report) SVG() []byte {
	if len(r.Results) == 0 || slices.ContainsFunc(r.Results, func(f Result) bool { return len(f.times) == 0 }) {
		return nil
	}
	a := r.axis()
	height := rowHeight*len(r.Results) + 32
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="13">`+"\n",
		pictureWidth, height)
	b.WriteString("<title>How long the calls of each function take</title>\n")
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/>` + "\n")
	for i, f := range r.Results {
		f.draw(&b, a, i*rowHeight)
	}
	for i := range 5 {
		at := float64(i) / 4
		x := marginLeft + at*(pictureWidth-2*marginLeft)
		anchor := [...]string{"start", "middle", "middle", "middle", "end"}[i]
		fmt.Fprintf(&b, `<text x="%.0f" y="%d" text-anchor="%s" fill="#555">%s</text>`+"\n", x, height-10, anchor, span(a.time(at)))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// draw draws the row of a function, from y on.
func (f Result) draw(b *strings.Builder, a axis, y int) {
	var counts [bins]int
	most := 1
	for _, t := range f.times {
		if at := a.position(t); at <= 1 {
			i := min(int(at*bins), bins-1)
			counts[i]++
			most = max(most, counts[i])
		}
	}
	const space = rowHeight - 28
	width := float64(pictureWidth-2*marginLeft) / bins
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="#111">%s: %s</text>`+"\n", marginLeft, y+16, escaped(f.Name), span(f.Median))
	for i, n := range counts {
		if n > 0 {
			high := float64(space) * float64(n) / float64(most)
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#4a7ab5"/>`+"\n",
				marginLeft+float64(i)*width, float64(y+rowHeight-4)-high, width, high)
		}
	}
	x := marginLeft + min(a.position(f.Median.Seconds()), 1)*(pictureWidth-2*marginLeft)
	fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#c33" stroke-width="1.5"/>`+"\n", x, x, y+22, y+rowHeight-4)
}

// escaped returns the text escaped for XML, with a replacement for characters that XML cannot represent, such as most control characters.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // writing to a Builder does not fail
	return b.String()
}

// An axis is a range of times, in seconds.
type axis struct {
	low, high   float64
	logarithmic bool
}

func (r Report) axis() axis {
	a := axis{low: math.Inf(1)}
	for _, f := range r.Results {
		a.low = min(a.low, f.times[0])
		a.high = max(a.high, quantile(f.times, 0.99))
	}
	a.low = max(a.low, 1e-9)
	a.high = max(a.high, a.low*1.01)
	a.logarithmic = a.high > 20*a.low
	return a
}

// position returns the position of a time on the axis: 0 at its start, 1 at its end.
func (a axis) position(t float64) float64 {
	if a.logarithmic {
		return max(0, math.Log(max(t, a.low)/a.low)/math.Log(a.high/a.low))
	}
	return max(0, (t-a.low)/(a.high-a.low))
}

func (a axis) time(place float64) time.Duration {
	if a.logarithmic {
		return duration(a.low * math.Pow(a.high/a.low, place))
	}
	return duration(a.low + place*(a.high-a.low))
}
