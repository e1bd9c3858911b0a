package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/job"
)

// A watched worker is one whose health is exported.
type watched struct {
	*job.Worker
	since time.Time
}

// Watch exports the health and the slots of a worker of this process from now on.
func (m *Collector) Watch(w *job.Worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workers = append(m.workers, watched{w, time.Now()})
}

func (m *Collector) watching() []watched {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.workers[:len(m.workers):len(m.workers)]
}

// still returns how long the claim loop has not been answered although it should have been. A worker at capacity does not claim, nor does one that
// is stopping.
func (w watched) still(h job.Health) time.Duration {
	if h.Stopping || h.Full && h.Trouble == "" {
		return 0
	}
	last := w.since
	for _, t := range []time.Time{h.Started, h.Claimed} {
		if t.After(last) {
			last = t
		}
	}
	return max(time.Since(last), 0)
}

func (m *Collector) collectWorkers(ch chan<- prometheus.Metric) {
	workers := m.watching()
	if len(workers) == 0 {
		return
	}
	var still time.Duration
	slots, used := 0, 0
	for _, w := range workers {
		h := w.Health()
		still = max(still, w.still(h))
		slots += h.Slots
		used += h.Running
	}
	gauge(ch, claimAgeDesc, still.Seconds())
	gauge(ch, slotsDesc, float64(slots))
	gauge(ch, usedDesc, float64(used))
}
