package server

import (
	"context"
	"time"
)

// alertEvery is how often alerts are checked, and the longest delay of a report.
const alertEvery = time.Second

// newAlerts returns the counters of alerts. An alert that counts the same records as one before keeps its counter.
func (s *Server) newAlerts(alerts []Alert) (all []*alertCounter) {
	var before []*alertCounter
	if r := s.routing.Load(); r != nil {
		before = r.alerts
	}
next:
	for _, a := range alerts {
		for _, c := range before {
			if c.reuse(a) {
				all = append(all, c)
				continue next
			}
		}
		all = append(all, newAlertCounter(a))
	}
	return all
}

// alertsOf returns the counters of the alerts that may match records of a service.
func (r *routing) alertsOf(service string) (some []*alertCounter) {
	for _, c := range r.alerts {
		if c.filter.Service(service) {
			some = append(some, c)
		}
	}
	return some
}

// reportAlerts reports which alerts fire and which are over, also as records.
func (s *Server) reportAlerts(ctx context.Context) error {
	alerts := s.routing.Load().alerts
	if len(alerts) == 0 {
		return nil
	}
	f := &batcher{s: s, counts: s.inputCounts("server"), internal: true}
	for _, c := range alerts {
		for _, e := range c.events(time.Now()) {
			if e.Alert.Notify != nil {
				e.Alert.Notify(e)
			}
			v := e.view()
			f.Add(&v)
		}
	}
	_ = f.Flush(ctx) // it fails when ctx ends; the event is reported anyway
	return nil
}
