package metrics

import (
	"maps"
	"net/http"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/meanwhile-go/meanwhile/logs/server"
)

// Logs gathers the metrics of a log server; it is a [prometheus.Collector]. Its methods may be called by many
// goroutines at once.
type Logs struct {
	stats    func() server.Stats
	services places[string]

	mu   sync.Mutex
	last map[string]server.ServiceTraffic // by service, of the last statistics
	sums map[string]server.ServiceTraffic // by label
}

// NewLogs returns a collector of the statistics of a server; stats is usually its method Stats.
func NewLogs(stats func() server.Stats) *Logs {
	return &Logs{stats: stats, sums: map[string]server.ServiceTraffic{}}
}

var (
	logConnections = desc("logs_connections", "Connections that are open, by input.", "input")
	logConnected   = desc("logs_connections_total", "Connections that were opened, by input.", "input")
	logRecords     = desc("logs_records_total", "Records that came in, by input.", "input")
	logBytes       = desc("logs_message_bytes_total", "Bytes of their messages, by input.", "input")
	logRefused     = desc("logs_refused_total", "Input that was not a record, by input and the reason.", "input", "reason")
	logRepaired    = desc("logs_repaired_total", "Records of services without a valid name, which are stored under a repaired one, by input and the reason.", "input", "reason")
	logRedacted    = desc("logs_redacted_total", "Messages and values of attributes that a redaction has changed, by its name.", "rule")
	logAlertFiring = desc("logs_alert_firing", "Whether the alert fires.", "alert")
	logAlertFired  = desc("logs_alert_fired_total", "How many times the alert has fired.", "alert")
	logOfService   = desc("logs_service_records_total", "Records of the service that came in.", "service")
	logLimited     = desc("logs_service_limited_total", "Records of the service that came too fast and were left out.", "service")
	logCut         = desc("logs_service_cut_total", "Records of the service that were too long and were cut.", "service")
	logWaiting     = desc("logs_output_waiting", "Bytes that wait for the output, or records where it is the store.", "output")
	logLost        = desc("logs_output_lost_total", "Bytes that the output did not take before the end, or records where it is the store.", "output")
	logUp          = desc("logs_output_up", "Whether the output takes what it is given.", "output")

	logDescs = []*prometheus.Desc{
		logConnections, logConnected, logRecords, logBytes, logRefused, logRepaired, logRedacted, logAlertFiring, logAlertFired, logOfService, logLimited, logCut, logWaiting, logLost, logUp,
	}
)

// Describe implements [prometheus.Collector].
func (l *Logs) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range logDescs {
		ch <- d
	}
}

// Collect implements [prometheus.Collector]. Services beyond the first MaxLabels are counted together.
func (l *Logs) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
	}
	stats, services := l.count()
	for name, input := range stats.Inputs {
		gauge(ch, logConnections, float64(input.Open), name)
		counter(logConnected, input.Connections, name)
		counter(logRecords, input.Records, name)
		counter(logBytes, input.Bytes, name)
		for reason, n := range input.Refused {
			counter(logRefused, n, name, reason)
		}
		for reason, n := range input.Repaired {
			counter(logRepaired, n, name, reason)
		}
	}
	for name, n := range stats.Redacted {
		counter(logRedacted, n, name)
	}
	for _, alert := range stats.Alerts {
		firing := 0.0
		if alert.Firing {
			firing = 1
		}
		gauge(ch, logAlertFiring, firing, alert.Name)
		counter(logAlertFired, alert.Fired, alert.Name)
	}
	for name, traffic := range services {
		counter(logOfService, traffic.Records, name)
		counter(logLimited, traffic.Limited, name)
		counter(logCut, traffic.Cut, name)
	}
	for _, output := range stats.Outputs {
		gauge(ch, logWaiting, float64(output.Waiting), output.Name)
		counter(logLost, output.Lost, output.Name)
		up := 1.0
		if output.Failure != "" {
			up = 0
		}
		gauge(ch, logUp, up, output.Name)
	}
}

// count returns the statistics, and what each service, or all beyond the first together, has sent. A server that forgets a service leaves out
// its traffic, or starts it again at zero, so what has been added since the last call is counted. The statistics are read with the lock, so that
// concurrent scrapes count them in their order.
func (l *Logs) count() (server.Stats, map[string]server.ServiceTraffic) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stats := l.stats()
	for name, traffic := range stats.Services {
		last, service := l.last[name], label(&l.services, name)
		sum := l.sums[service]
		sum.Records += added(last.Records, traffic.Records)
		sum.Limited += added(last.Limited, traffic.Limited)
		sum.Cut += added(last.Cut, traffic.Cut)
		l.sums[service] = sum
	}
	l.last = stats.Services
	return stats, maps.Clone(l.sums)
}

// added returns by how much a total has grown. One that has become smaller has started again at zero.
func added(last, total int64) int64 {
	if total < last {
		return total
	}
	return total - last
}

// Handler returns a handler for /metrics, like that of a [Collector].
func (l *Logs) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(l, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes, EnableOpenMetrics: true})
}
