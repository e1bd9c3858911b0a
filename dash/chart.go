package dash

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Size of the drawing of a chart, which is stretched to the available space.
const (
	chartStep   = 10
	chartHeight = 100
)

// A drawing is the set of charts of a past.
type drawing struct {
	Charts []*chart
	Reach  reach
	From   string
}

// Width is the width of the drawing.
func (d *drawing) Width() int { return d.Reach.n * chartStep }

// Links reports whether a click on a chart leads to jobs.
func (d *drawing) Links() bool {
	return slices.ContainsFunc(d.Charts, func(c *chart) bool { return slices.ContainsFunc(c.Points, func(p point) bool { return p.URL != "" }) })
}

// A chart draws a value, or two, for each step of a past.
type chart struct {
	ID, Title string
	Unit      string // of the values, such as "per minute"
	Now       string // the current value
	Top       string // the value at the upper edge
	Names     []string
	Bars      []bar
	Lines     []string // paths
	Points    []point
	None      string // text to show if nothing is drawn
}

type bar struct{ X, Y, Height int }

// A numbered is a step as a row of a table.
type numbered struct {
	Text, URL string
	Cells     []string // one for each chart, "" for no value
}

// cellTexts removes the names of quantiles, which are in the table head, and keeps numbers and units on one line.
var cellTexts = strings.NewReplacer("p50 ", "", ", p99 ", "\u00a0· ", " ", "\u00a0")

// Rows are the steps in which something was done, the newest first: the same texts as the points of the charts, as a table.
func (d *drawing) Rows() []numbered {
	byX := map[int]*numbered{}
	for i, c := range d.Charts {
		for _, p := range c.Points {
			row := byX[p.X]
			if row == nil {
				row = &numbered{URL: p.URL, Cells: make([]string, len(d.Charts))}
				byX[p.X] = row
			}
			row.Text, row.Cells[i], _ = strings.Cut(p.Text, ": ")
			row.Cells[i] = cellTexts.Replace(row.Cells[i])
			if len(p.URL) < len(row.URL) { // the link to jobs in any state
				row.URL = p.URL
			}
		}
	}
	var rows []numbered
	for _, x := range slices.Backward(slices.Sorted(maps.Keys(byX))) {
		rows = append(rows, *byX[x])
	}
	return rows
}

// A point is the tooltip of a step.
type point struct {
	X    int
	Text string
	URL  string // of the jobs of that time, or ""
}

// A value is the value of a step: one or two numbers, or none if it is unknown.
type value struct {
	at      time.Time
	url     string
	numbers []float64
}

// A scale is the unit of a chart: how to format a number, and how to round it up.
type scale struct {
	format func(float64) string
	round  func(float64) float64
}

var (
	countScale = scale{func(n float64) string { return number(int64(math.Round(n))) }, roundUp}
	timeScale  = scale{func(n float64) string { return span(time.Duration(n)) }, roundUpTime}
)

// draw draws bars, or a line for each number.
func (c *chart) draw(r reach, values []value, lines bool, in scale) {
	top := 0.0
	for _, v := range values {
		for _, n := range v.numbers {
			top = max(top, n)
		}
	}
	if top == 0 {
		c.None = "none"
	} else {
		top = in.round(top)
		c.Top = in.format(top)
	}
	height := func(n float64) int {
		if top == 0 {
			return 0
		}
		return int(math.Round(n / top * chartHeight))
	}
	paths := make([]strings.Builder, len(c.Names))
	joined := false // the previous step has a point
	for i, v := range values {
		if len(v.numbers) == 0 {
			joined = false
			continue
		}
		texts := make([]string, len(v.numbers))
		some := false
		for k, n := range v.numbers {
			texts[k] = in.format(n)
			if len(c.Names) > 1 {
				texts[k] = c.Names[k] + " " + texts[k]
			}
			some = some || n > 0
			y := chartHeight - height(n)
			switch {
			case !lines:
				if n > 0 {
					h := max(height(n), 2) // to be visible
					c.Bars = append(c.Bars, bar{i*chartStep + 1, chartHeight - h, h})
				}
			case joined:
				fmt.Fprintf(&paths[k], "L%d %d", i*chartStep+chartStep/2, y)
			default:
				fmt.Fprintf(&paths[k], "M%d %dh2", i*chartStep+chartStep/2, y) // so that a single point is visible, too
			}
		}
		joined = true
		if some {
			c.Points = append(c.Points, point{X: i * chartStep, Text: r.Clock(v.at) + ": " + strings.Join(texts, ", "), URL: v.url})
		}
	}
	if lines && top > 0 {
		for k := range paths {
			c.Lines = append(c.Lines, paths[k].String())
		}
	}
}

// roundUp returns the next number of 1, 2 or 5 times a power of ten.
func roundUp(n float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(n)))
	for _, times := range []float64{1, 2, 5} {
		if n <= times*power*(1+1e-9) {
			return times * power
		}
	}
	return 10 * power
}

// roundTimes are the durations from a second to a day that count as round.
var roundTimes = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// roundUpTime returns the next round duration: of roundTimes, below them by powers of ten, above them by whole days.
func roundUpTime(n float64) float64 {
	const second, day = float64(time.Second), float64(24 * time.Hour)
	switch {
	case n <= second/2:
		return roundUp(n)
	case n > day:
		return roundUp(n/day) * day
	}
	i, _ := slices.BinarySearch(roundTimes, time.Duration(n))
	return float64(roundTimes[i])
}

// draw draws the charts of a subject. now is its current level, and recent its work in the last five minutes. If urls is set, points link to the jobs
// of their time.
func (p *past) draw(s subject, now level, recent work, urls func(from, until time.Time, states ...job.State) string) drawing {
	completed := &chart{ID: "completed", Title: "Completed", Unit: "per " + p.Per, Names: []string{"completed"}}
	failed := &chart{ID: "failed", Title: "Failed attempts", Unit: "per " + p.Per, Names: []string{"failed"}}
	queued := &chart{ID: "queued", Title: "Queued", Names: []string{"queued"}}
	run := &chart{ID: "run", Title: "Run time", Names: []string{"p50", "p99"}}
	wait := &chart{ID: "wait", Title: "Wait for a worker", Names: []string{"p50", "p99"}}
	running := &chart{ID: "running", Title: "Running", Names: []string{"running"}}
	var values [6][]value
	for i := range p.n {
		at, m := p.at(i)
		v := [6]value{{at: at}, {at: at}, {at: at}, {at: at}, {at: at}, {at: at}}
		w := s.work(m)
		if w == nil {
			w = &work{}
		}
		v[0].numbers = []float64{float64(w.Completed)}
		v[1].numbers = []float64{float64(w.Failed)}
		v[2].numbers, v[3].numbers = quantiles(&w.Run), quantiles(&w.Wait)
		if l, ok := s.level(m); ok {
			v[4].numbers, v[5].numbers = []float64{float64(l.queued)}, []float64{float64(l.running)}
		}
		if urls != nil {
			v[0].url = urls(at, at.Add(p.step), job.Completed)
			v[1].url = urls(at, at.Add(p.step), job.Retrying, job.Discarded)
			for k := 2; k < len(v); k++ {
				v[k].url = urls(at, at.Add(p.step))
			}
		}
		for k := range values {
			values[k] = append(values[k], v[k])
		}
	}
	completed.draw(p.reach, values[0], false, countScale)
	failed.draw(p.reach, values[1], false, countScale)
	run.draw(p.reach, values[2], true, timeScale)
	wait.draw(p.reach, values[3], true, timeScale)
	queued.draw(p.reach, values[4], true, countScale)
	running.draw(p.reach, values[5], true, countScale)

	if p.step == time.Minute {
		completed.Now = number((recent.Completed + 2) / 5)
		failed.Now = number((recent.Failed + 2) / 5)
	} else {
		recent = p.sum(0, p.n, s)
		completed.Now, failed.Now = number(recent.Completed)+" in all", number(recent.Failed)+" in all"
	}
	if recent.Run.Count() > 0 {
		run.Now = span(recent.Run.Quantile(.5)) + " · " + span(recent.Run.Quantile(.99))
	}
	if recent.Wait.Count() > 0 {
		wait.Now = span(recent.Wait.Quantile(.5)) + " · " + span(recent.Wait.Quantile(.99))
	}
	from, _ := p.at(0)
	d := drawing{Reach: p.reach, From: p.Clock(from), Charts: []*chart{completed, failed, run, wait}}
	if s.kind != "" {
		return d
	}
	queued.Now, running.Now = number(now.queued), number(now.running)
	for chart, n := range map[*chart]int64{queued: now.queued, running: now.running} {
		if chart.None != "" && n > 0 {
			chart.None = "none reported in the last " + p.Last()
		}
	}
	d.Charts = []*chart{completed, failed, queued, run, wait, running}
	return d
}

// quantiles returns the p50 and p99 of durations, or nothing when there are none.
func quantiles(h *job.Histogram) []float64 {
	if h.Count() == 0 {
		return nil
	}
	return []float64{float64(h.Quantile(.5)), float64(h.Quantile(.99))}
}
