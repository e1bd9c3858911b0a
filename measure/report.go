package measure

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Report is what [Compare] measured. It can be encoded as JSON, without the times of single calls that [Report.SVG] draws.
type Report struct {
	Rounds  int      `json:"rounds"`  // number of complete rounds
	Results []Result `json:"results"` // the fastest first, by Median; empty when no round was complete
	// Notes are sentences about what makes the figures less certain: a busy machine, too few rounds.
	Notes []string `json:"notes"`
}

// A Result is what was measured for one function. Times are those of single calls or, if Batch is more than one and calls take less than 20
// µs, means over that many calls.
type Result struct {
	Name      string        `json:"name"`
	Calls     int           `json:"calls"`
	Batch     int           `json:"batch"`      // number of calls in a round
	PerSecond float64       `json:"per_second"` // if called one after the other
	Mean      time.Duration `json:"mean_ns"`
	Deviation time.Duration `json:"deviation_ns"` // the standard deviation
	Median    time.Duration `json:"median_ns"`
	P99       time.Duration `json:"p99_ns"`
	Allocs    float64       `json:"allocs"` // per call, of the whole process while the function ran, with one for the scope of a call that is timed by itself
	Bytes     float64       `json:"bytes"`  // allocated per call
	// Compared is the ratio to the first of Results; the first has 1.
	Compared Ratio `json:"compared"`

	times []float64 // seconds, sorted: a sample of the times above
}

// busyFrom is the slowdown of the canary above which a machine counts as busy.
const busyFrom = 1.25

// report returns what was measured. whole means that the comparison has not ended early.
func (c *comparison) report(whole bool) Report {
	r := Report{Rounds: c.rounds, Results: []Result{}, Notes: []string{}}
	if c.rounds == 0 {
		r.Notes = append(r.Notes, "no round was complete, so there is nothing to report")
		return r
	}
	slices.SortStableFunc(c.series, func(a, b *series) int { return cmp.Compare(a.median(), b.median()) })
	for _, s := range c.series {
		r.Results = append(r.Results, s.result(c.series[0]))
	}
	if c.rounds < leastRounds && len(c.series) > 1 {
		ended, remedy := "fit into the time", fmt.Sprintf(": give Config.Time at least %v", c.timeFor(leastRounds))
		if !whole {
			ended, remedy = "were complete when the comparison ended early", ""
		}
		r.Notes = append(r.Notes, fmt.Sprintf("only %d rounds %s, at least %d are needed to tell a difference from noise%s", c.rounds, ended, leastRounds, remedy))
	}
	if slow := c.canary.slowdown(); slow > busyFrom {
		r.Notes = append(r.Notes, fmt.Sprintf("the machine was busy: the same small work took up to %.1f times as long in some rounds as in others; "+
			"times are too long, comparisons hold", slow))
	}
	return r
}

// timeFor returns how long each function has to run for the given number of rounds, in whole seconds.
func (c *comparison) timeFor(rounds int) time.Duration {
	each := 0.0
	for _, s := range c.series {
		each += s.mean() * float64(s.batch) / float64(len(c.series))
	}
	return time.Duration(each*float64(rounds)+1) * time.Second
}

// median returns the median of the rounds.
func (s *series) median() float64 { return quantile(slices.Sorted(slices.Values(s.rounds)), 0.5) }

func (s *series) mean() float64 { return s.calls.mean }

func (s *series) result(quickest *series) Result {
	times := slices.Sorted(slices.Values(s.calls.kept))
	made := float64(s.made)
	return Result{
		Name:      s.name,
		Calls:     s.made,
		Batch:     s.batch,
		PerSecond: 1 / s.mean(),
		Mean:      duration(s.mean()),
		Deviation: duration(s.calls.deviation()),
		Median:    duration(quantile(times, 0.5)),
		P99:       duration(quantile(times, 0.99)),
		Allocs:    float64(s.allocs) / made,
		Bytes:     float64(s.bytes) / made,
		Compared:  s.compared(quickest),
		times:     times,
	}
}

func (s *series) compared(quickest *series) Ratio {
	if s == quickest {
		return Ratio{Times: 1, Low: 1, High: 1, Noise: true}
	}
	return ratioOf(s.rounds, quickest.rounds)
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
