package dash

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// The drawing of a chart, which is stretched to what room there is.
const (
	chartStep   = 10
	chartHeight = 100
)

// A chart draws a value, or two, for each minute of the last hour.
type chart struct {
	ID, Title string
	Now       string // what it is at present
	Top       string // the value at the upper edge
	Names     []string
	Bars      []bar
	Lines     []string // paths
	Points    []point
	Empty     bool
}

type bar struct{ X, Y, Height int }

// A point is what a minute says when somebody points at it.
type point struct {
	X    int
	Text string
}

// A value is that of a minute: one or two numbers, or none where nothing is known.
type value struct {
	at      time.Time
	numbers []float64
}

// draw fills a chart of bars, or of a line for each number.
func (c *chart) draw(values []value, lines bool, say func(float64) string) {
	top := 0.0
	for _, v := range values {
		for _, n := range v.numbers {
			top = max(top, n)
		}
	}
	c.Empty = top == 0
	if !c.Empty {
		top = roundUp(top)
		c.Top = say(top)
	}
	height := func(n float64) int {
		if top == 0 {
			return 0
		}
		return int(math.Round(n / top * chartHeight))
	}
	paths := make([]strings.Builder, len(c.Names))
	joined := false // the minute before has a point
	for i, v := range values {
		if len(v.numbers) == 0 {
			joined = false
			continue
		}
		texts := make([]string, len(v.numbers))
		some := false
		for k, n := range v.numbers {
			texts[k] = say(n)
			if len(c.Names) > 1 {
				texts[k] = c.Names[k] + " " + texts[k]
			}
			some = some || n > 0
			y := chartHeight - height(n)
			switch {
			case !lines:
				if n > 0 {
					h := max(height(n), 2) // to be seen
					c.Bars = append(c.Bars, bar{i*chartStep + 1, chartHeight - h, h})
				}
			case joined:
				fmt.Fprintf(&paths[k], "L%d %d", i*chartStep+chartStep/2, y)
			default:
				fmt.Fprintf(&paths[k], "M%d %dh2", i*chartStep+chartStep/2, y) // a point of its own is seen, too
			}
		}
		joined = true
		if some {
			c.Points = append(c.Points, point{i * chartStep, v.at.Format("15:04") + ": " + strings.Join(texts, ", ")})
		}
	}
	if lines {
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

// newCharts draws the last hour, and says how long the queues are now.
func newCharts(p *past, queues []job.QueueInfo) []*chart {
	completed := &chart{ID: "completed", Title: "Completed a minute", Names: []string{"completed"}}
	failed := &chart{ID: "failed", Title: "Failed attempts a minute", Names: []string{"failed"}}
	queued := &chart{ID: "queued", Title: "Queued", Names: []string{"queued"}}
	run := &chart{ID: "run", Title: "Run time", Names: []string{"p50", "p99"}}
	wait := &chart{ID: "wait", Title: "Wait for a worker", Names: []string{"p50", "p99"}}
	running := &chart{ID: "running", Title: "Running", Names: []string{"running"}}
	var values [6][]value
	for i := range hour {
		at, m := p.at(i)
		v := [6]value{{at: at}, {at: at}, {at: at}, {at: at}, {at: at}, {at: at}}
		v[0].numbers = []float64{float64(m.all.Completed)}
		v[1].numbers = []float64{float64(m.all.Failed)}
		if m.all.Run.Count() > 0 {
			v[2].numbers = []float64{float64(m.all.Run.Quantile(.5)), float64(m.all.Run.Quantile(.99))}
		}
		if m.all.Wait.Count() > 0 {
			v[3].numbers = []float64{float64(m.all.Wait.Quantile(.5)), float64(m.all.Wait.Quantile(.99))}
		}
		if l, ok := m.level(); ok {
			v[4].numbers, v[5].numbers = []float64{float64(l.queued)}, []float64{float64(l.running)}
		}
		for k := range values {
			values[k] = append(values[k], v[k])
		}
	}
	whole := func(n float64) string { return number(int64(math.Round(n))) }
	duration := func(n float64) string { return span(time.Duration(n)) }
	completed.draw(values[0], false, whole)
	failed.draw(values[1], false, whole)
	run.draw(values[2], true, duration)
	wait.draw(values[3], true, duration)
	queued.draw(values[4], true, whole)
	running.draw(values[5], true, whole)

	recent := p.recent("")
	completed.Now = number((recent.Completed + 2) / 5)
	failed.Now = number((recent.Failed + 2) / 5)
	if recent.Run.Count() > 0 {
		run.Now = span(recent.Run.Quantile(.5)) + " · " + span(recent.Run.Quantile(.99))
	}
	if recent.Wait.Count() > 0 {
		wait.Now = span(recent.Wait.Quantile(.5)) + " · " + span(recent.Wait.Quantile(.99))
	}
	var now level
	for _, q := range queues {
		now.queued, now.running = now.queued+q.Queued, now.running+q.Running
	}
	queued.Now, running.Now = number(now.queued), number(now.running)
	return []*chart{completed, failed, queued, run, wait, running}
}
