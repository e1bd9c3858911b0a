package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/job"
)

// collectStore sends the metrics of the store. Values with the same labels are added up.
func (m *Collector) collectStore(ch chan<- prometheus.Metric) {
	if m.store == nil {
		return
	}
	got := m.store.read()
	gauge(ch, upDesc, boolean(got.ok))
	if !got.ok {
		return
	}
	type key struct {
		pair
		state job.State
	}
	jobs := map[key]float64{}
	for _, c := range got.counts {
		jobs[key{m.jobs.labels(c.Queue, c.Kind), c.State}] += float64(c.N)
	}
	for k, n := range jobs {
		gauge(ch, jobsDesc, n, k.queue, k.kind, string(k.state))
	}
	m.collectQueues(ch, got)
}

// A backlog describes the queued jobs of the queues with one label.
type backlog struct {
	depth, oldest, work float64
	open                bool // one of them is not paused
	unmeasured          bool // the work of one of them is not known
}

func (m *Collector) collectQueues(ch chan<- prometheus.Metric, got sample) {
	work := m.jobs.work(got.counts)
	backlogs := map[string]backlog{}
	for _, q := range got.queues {
		name := label(&m.queues, q.Name)
		b := backlogs[name]
		b.depth += float64(q.Queued)
		b.oldest = max(b.oldest, q.Wait.Seconds())
		b.open = b.open || !q.Paused
		if q.Wait > 0 && !q.Paused {
			seconds, measured := work[q.Name]
			b.work += seconds
			b.unmeasured = b.unmeasured || !measured
		}
		backlogs[name] = b
	}
	for name, b := range backlogs {
		gauge(ch, depthDesc, b.depth, name)
		gauge(ch, oldestDesc, b.oldest, name)
		gauge(ch, pausedDesc, boolean(!b.open), name)
		if !b.unmeasured {
			gauge(ch, workDesc, b.work, name)
		}
	}
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
