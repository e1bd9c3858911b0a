package inspect

import (
	"runtime/metrics"
	"time"
)

// A latencyMeter measures how long goroutines that were ready to run waited for a processor, as counted by the runtime.
type latencyMeter struct {
	sample [1]metrics.Sample
	counts []uint64 // of the last reading
}

func (m *latencyMeter) start() {
	m.sample[0].Name = "/sched/latencies:seconds"
	m.longest()
}

// longest returns the longest such time since the last call: the lower bound of the bucket in which the runtime counts it.
func (m *latencyMeter) longest() time.Duration {
	metrics.Read(m.sample[:])
	if m.sample[0].Value.Kind() != metrics.KindFloat64Histogram {
		return 0
	}
	h := m.sample[0].Value.Float64Histogram()
	var longest time.Duration
	for i, count := range h.Counts {
		if i < len(m.counts) && count > m.counts[i] {
			longest = time.Duration(max(0, h.Buckets[i]) * float64(time.Second))
		}
	}
	m.counts = append(m.counts[:0], h.Counts...)
	return longest
}

// inSystemCalls returns how many goroutines are in system calls or C.
func inSystemCalls() int {
	sample := []metrics.Sample{{Name: "/sched/goroutines/not-in-go:goroutines"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return int(sample[0].Value.Uint64())
}
