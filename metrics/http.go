package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/internal/detach"
)

// HTTP counts the requests of a server, by the part of the server that answers them; it is a [prometheus.Collector]. Its methods may be
// called by many goroutines at once.
type HTTP struct {
	part     func(*http.Request) string
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
	refused  *prometheus.CounterVec
	parts    places[string]
}

// NewHTTP returns a collector of requests. part names the part of the server that a request is for, such as "api": a few names, which are
// labels.
func NewHTTP(part func(*http.Request) string) *HTTP {
	return &HTTP{
		part: part,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_http_requests_total",
			Help: "Requests that were answered, by part of the server, method and status.",
		}, []string{"part", "method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "meanwhile_http_request_seconds",
			Help:    "How long requests took, to the end of the answer, by part of the server.",
			Buckets: buckets,
			// As those of attempts.
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		}, []string{"part"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "meanwhile_http_in_flight",
			Help: "Requests that are being answered, live pages included.",
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "meanwhile_sign_in_failures_total",
			Help: "Passwords and tokens that were refused, by reason.",
		}, []string{"reason"}),
	}
}

// SignInFailed counts a refused password or token, by the reason, which is a label.
func (m *HTTP) SignInFailed(reason string) { m.refused.WithLabelValues(reason).Inc() }

// Wrap returns a handler that passes requests on to next and counts them.
func (m *HTTP) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		part := label(&m.parts, m.part(r))
		answer := &counted{ResponseWriter: w, code: http.StatusOK}
		m.inFlight.Inc()
		defer func() { // also if next panics, as handlers do to abort a response
			method, code := methodOf(r), answer.code
			detach.Defer(r.Context(), func() {
				m.inFlight.Dec()
				m.seconds.WithLabelValues(part).Observe(time.Since(begun).Seconds())
				m.requests.WithLabelValues(part, method, strconv.Itoa(code)).Inc()
			})
		}()
		next.ServeHTTP(answer, r)
	})
}

// methodOf returns the method of a request as a label: clients may send any.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return other
}

// A counted response records its status.
type counted struct {
	http.ResponseWriter
	code  int
	begun bool
}

func (c *counted) WriteHeader(code int) {
	if !c.begun && code >= http.StatusOK { // an informational status is not the answer
		c.code, c.begun = code, true
	}
	c.ResponseWriter.WriteHeader(code)
}

func (c *counted) Write(b []byte) (int, error) {
	c.begun = true
	return c.ResponseWriter.Write(b)
}

// Unwrap is for [http.ResponseController].
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Describe implements [prometheus.Collector].
func (m *HTTP) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	m.seconds.Describe(ch)
	m.inFlight.Describe(ch)
	m.refused.Describe(ch)
}

// Collect implements [prometheus.Collector].
func (m *HTTP) Collect(ch chan<- prometheus.Metric) {
	m.requests.Collect(ch)
	m.seconds.Collect(ch)
	m.inFlight.Collect(ch)
	m.refused.Collect(ch)
}
