package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/job"
)

// outcomes are the values of the label outcome, by the event of an attempt that has ended; other events have none.
var outcomes = [...]string{
	job.JobCompleted: "completed",
	job.JobRetried:   "retried",
	job.JobSnoozed:   "snoozed",
	job.JobCanceled:  "canceled",
	job.JobDiscarded: "discarded",
	job.JobReleased:  "released",
	job.JobLost:      "lost",
}

// buckets are as far apart as the durations that people distinguish. If Prometheus asks for native histograms, it gets those, which are finer.
var buckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}

// attempts counts the attempts of jobs by outcome.
type attempts struct {
	ended     *prometheus.CounterVec
	wait, run *prometheus.HistogramVec
	places    places[pair]

	mu    sync.Mutex                            // held to add a line
	lines atomic.Pointer[map[pair]*jobCounters] // copied to add one: events only read it
}

// A pair has the labels of a job.
type pair struct{ queue, kind string }

// A jobCounters has the metrics of the jobs of one pair.
type jobCounters struct {
	ended     [len(outcomes)]prometheus.Counter // by event
	wait, run prometheus.Observer
	mean      mean // of the run time
}

func newAttempts() *attempts {
	labels := []string{"queue", "kind"}
	a := &attempts{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_attempts_total",
			Help: "Attempts of jobs that have ended in this process, by outcome.",
		}, append(labels, "outcome")),
		wait: histogram("meanwhile_job_wait_seconds", "How long jobs were due before an attempt of this process began.", labels),
		run:  histogram("meanwhile_job_run_seconds", "How long the attempts of this process took.", labels),
	}
	a.lines.Store(&map[pair]*jobCounters{})
	return a
}

func histogram(name, help string, labels []string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, labels)
}

// labels returns the labels of a queue and kind; both are other if there are too many.
func (a *attempts) labels(queue, kind string) pair {
	if p := (pair{queue, kind}); a.places.assign(p) {
		return p
	}
	return pair{other, other}
}

// lookup returns the line of a queue and kind, or nil if none of their jobs has run.
func (a *attempts) lookup(p pair) *jobCounters { return (*a.lines.Load())[p] }

// counters returns the line of a queue and kind.
func (a *attempts) counters(queue, kind string) *jobCounters {
	if l := a.lookup(pair{queue, kind}); l != nil {
		return l
	}
	p := a.labels(queue, kind)
	a.mu.Lock()
	defer a.mu.Unlock()
	if l := a.lookup(p); l != nil {
		return l
	}
	l := a.newLine(p)
	lines := maps.Clone(*a.lines.Load())
	lines[p] = l
	a.lines.Store(&lines)
	return l
}

// newLine creates a line with all its counters at zero, so that the first failure is an increase, which the function rate of Prometheus sees.
func (a *attempts) newLine(p pair) *jobCounters {
	l := &jobCounters{wait: a.wait.WithLabelValues(p.queue, p.kind), run: a.run.WithLabelValues(p.queue, p.kind)}
	for event, outcome := range outcomes {
		if outcome != "" {
			l.ended[event] = a.ended.WithLabelValues(p.queue, p.kind, outcome)
		}
	}
	return l
}

func (a *attempts) describe(ch chan<- *prometheus.Desc) {
	a.ended.Describe(ch)
	a.wait.Describe(ch)
	a.run.Describe(ch)
}

func (a *attempts) collect(ch chan<- prometheus.Metric) {
	a.ended.Collect(ch)
	a.wait.Collect(ch)
	a.run.Collect(ch)
}
