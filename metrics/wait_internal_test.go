package metrics

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// TestOverlappingScrapes: a scrape that has read the profile before another one, and would count it after that one, adds nothing twice.
func TestOverlappingScrapes(t *testing.T) {
	w := newWaits()
	scrape := func(total time.Duration, during func()) {
		ch := make(chan prometheus.Metric, 1)
		w.collect(ch, func() inspect.WaitProfile {
			p := inspect.WaitProfile{Tasks: []inspect.TaskWaits{{Name: "shop", Totals: map[string]time.Duration{"sleep": total}}}}
			during()
			return p
		})
	}
	overtaken := false
	scrape(10*time.Second, func() {
		if overtaken = w.mu.TryLock(); overtaken {
			w.mu.Unlock()
			scrape(20*time.Second, func() {})
		}
	})
	if !overtaken { // the second one has waited
		scrape(20*time.Second, func() {})
	}
	if got := testutil.ToFloat64(w.seconds); got != 20 {
		t.Errorf("%v s, want 20", got)
	}
}
