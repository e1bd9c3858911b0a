package metrics

import (
	"cmp"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
)

// A Config configures what a [Collector] measures. The zero value measures the tasks of the process, and the jobs of the workers
// that it observes.
type Config struct {
	// Store is the store whose jobs and queues are measured. Without one, its metrics are left out.
	Store job.Store
	// Interval is how old a result of the store may be: the store is queried at most this often. The default is 5 s.
	Interval time.Duration
	// Limit is how long the claim loop of a worker or the store may make no progress before [Collector.Healthz] reports it. The
	// default is 30 s.
	Limit time.Duration
}

const (
	defaultInterval = 5 * time.Second
	defaultLimit    = 30 * time.Second
)

// A Collector gathers the metrics; it is a [prometheus.Collector]. Its methods may be called by many goroutines at once.
type Collector struct {
	limit    time.Duration
	store    *source // nil for none
	jobs     *attempts
	failed   *prometheus.CounterVec // calls of the store
	ticks    *prometheus.CounterVec // of crons
	repaired *prometheus.CounterVec // limit keys
	waits    *waits
	queues   places[string]
	crons    places[string]

	mu      sync.Mutex
	workers []watched
}

// New returns a collector. Register it, or serve it with [Collector.Handler].
func New(c Config) *Collector {
	m := &Collector{
		limit: cmp.Or(max(c.Limit, 0), defaultLimit),
		jobs:  newAttempts(),
		waits: newWaits(),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_store_errors_total",
			Help: "Calls of the store that failed, by call.",
		}, []string{"call"}),
		ticks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_cron_ticks_total",
			Help: "Jobs that crons have enqueued, by the workers of this process.",
		}, []string{"cron"}),
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_lane_repairs_total",
			Help: "Limit keys whose state in the store did not match their jobs, and was repaired by the workers of this process.",
		}, []string{"queue"}),
	}
	for _, call := range []string{"claim", "settle", "renew", "counts", "queues"} {
		m.failed.WithLabelValues(call)
	}
	if c.Store != nil {
		m.store = &source{store: c.Store, interval: cmp.Or(max(c.Interval, 0), defaultInterval), failed: m.failed}
	}
	return m
}

// Describe implements [prometheus.Collector].
func (m *Collector) Describe(ch chan<- *prometheus.Desc) {
	m.jobs.describe(ch)
	m.failed.Describe(ch)
	m.ticks.Describe(ch)
	m.repaired.Describe(ch)
	m.waits.seconds.Describe(ch)
	for _, d := range gauges {
		ch <- d
	}
}

// Collect implements [prometheus.Collector]. It queries the store if the last result is too old, and waits for at most two
// seconds.
func (m *Collector) Collect(ch chan<- prometheus.Metric) {
	m.collectStore(ch)
	m.collectWorkers(ch)
	collectTasks(ch)
	m.jobs.collect(ch)
	m.failed.Collect(ch)
	m.ticks.Collect(ch)
	m.repaired.Collect(ch)
	m.waits.collect(ch, inspect.Waits)
}

// gauge sends the current value of a gauge.
func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}
