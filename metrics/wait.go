package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// waits counts the time of tasks by their waits, as in the wait profile.
type waits struct {
	seconds *prometheus.CounterVec
	names   places[string]

	mu      sync.Mutex
	counted map[taskWait]time.Duration // the totals of the last profile
}

type taskWait struct{ task, wait string }

func newWaits() *waits {
	return &waits{seconds: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "meanwhile_task_wait_seconds_total",
		Help: "Time of tasks by what they waited for, from the snapshots of a Watch: the names from the root of the tree, and the kind of wait.",
	}, []string{"task", "wait"})}
}

// collect counts what has been added to the profile. A total that has become smaller has started again at zero: profile is called with the lock, so
// that concurrent scrapes count the profiles in their order.
func (w *waits) collect(ch chan<- prometheus.Metric, profile func() inspect.WaitProfile) {
	w.mu.Lock()
	defer w.mu.Unlock()
	totals := make(map[taskWait]time.Duration, len(w.counted))
	for _, task := range profile().Tasks {
		name := label(&w.names, task.Name)
		for wait, total := range task.Totals {
			key := taskWait{task.Name, wait}
			totals[key] = total
			added := total - w.counted[key]
			if added < 0 {
				added = total
			}
			w.seconds.WithLabelValues(name, wait).Add(added.Seconds())
		}
	}
	w.counted = totals
	w.seconds.Collect(ch)
}
