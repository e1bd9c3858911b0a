package metrics

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// readyAge is how old the result of the store may be for Readyz.
const readyAge = time.Second

// A report is the body of an answer about health.
type report struct {
	Status  string   `json:"status"` // ok or failed
	Reasons []string `json:"reasons,omitempty"`
}

// Healthz answers 200 while the claim loop of each watched worker and the store have advanced within [Config].Limit, and otherwise 503 with the
// reasons as JSON, such as {"status":"failed","reasons":["…"]}. A worker that is at capacity or stopping is healthy; one that does not run is
// unhealthy, once the limit is over. The store is queried no more often than for scrapes, and with the same deadline. The reasons do not contain
// the store's error texts, which may name hosts: those are in the log.
func (m *Collector) Healthz(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	for i, worker := range m.watching() {
		if still := worker.still(worker.Health()); still > m.limit {
			reasons = append(reasons, fmt.Sprintf("worker %d: the claim loop has stood still for %v, longer than %v", i+1, still.Round(time.Second), m.limit))
		}
	}
	if m.store != nil {
		if silent := m.store.silence(); silent > m.limit {
			reasons = append(reasons, fmt.Sprintf("the store has not answered for %v, longer than %v", silent.Round(time.Second), m.limit))
		}
	}
	answer(w, r, reasons)
}

// Readyz answers 200 if each watched worker claims and the store answers, and otherwise 503 with the reasons, as [Collector.Healthz]
// does. The result of the store is at most a second old. So it answers 503 before the first claim, and from the moment a worker
// begins to stop.
func (m *Collector) Readyz(w http.ResponseWriter, r *http.Request) {
	var reasons []string
	for i, worker := range m.watching() {
		h := worker.Health()
		why := ""
		switch {
		case h.Started.IsZero():
			why = "it does not run"
		case h.Stopping:
			why = "it stops"
		case h.Claimed.Before(h.Started):
			why = "it has not claimed yet"
		case worker.still(h) > m.limit:
			why = fmt.Sprintf("the claim loop has stood still for longer than %v", m.limit)
		}
		if why != "" {
			reasons = append(reasons, fmt.Sprintf("worker %d: %s", i+1, why))
		}
	}
	if m.store != nil && !m.store.readWithin(min(m.store.interval, readyAge)).ok {
		reasons = append(reasons, "the store does not answer")
	}
	answer(w, r, reasons)
}

func answer(w http.ResponseWriter, r *http.Request, reasons []string) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "health knows GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	body, status := report{Status: "ok", Reasons: reasons}, http.StatusOK
	if len(reasons) > 0 {
		body.Status, status = "failed", http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error concerns the client alone
}
