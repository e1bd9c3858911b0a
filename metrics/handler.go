package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// mostScrapes bounds how many requests are answered at once; more get 503.
const mostScrapes = 10

// Handler returns a handler for /metrics with what the collector and others gather, such as an [HTTP], and with what client_golang measures
// of the process and the Go runtime. Programs that have their own registry register the collector there instead.
func (m *Collector) Handler(more ...prometheus.Collector) http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(more...)
	r.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: mostScrapes, EnableOpenMetrics: true})
}
