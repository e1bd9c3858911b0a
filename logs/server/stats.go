package server

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// Stats has the counters of a server, since it began, and the state of its alerts and outputs.
type Stats struct {
	Began    time.Time                 `json:"began"`
	Inputs   map[string]InputStats     `json:"ways"`     // by the names of their listeners
	Services map[string]ServiceTraffic `json:"services"` // by their names
	Outputs  []OutputStats             `json:"outputs"`  // the store, line files and sockets

	// Redacted is the number of messages and values that a [Redaction] has changed, by its name.
	Redacted map[string]int64 `json:"redacted,omitempty"`

	Alerts []AlertStats `json:"alerts,omitempty"`
}

// AlertStats is the state of an [Alert].
type AlertStats struct {
	Name    string     `json:"name"`
	Filter  string     `json:"filter"`
	Count   int        `json:"count"`
	Window  string     `json:"window"`
	Firing  bool       `json:"firing"`
	Since   *time.Time `json:"since,omitempty"` // when it began to fire; nil while it does not fire
	Records int64      `json:"records"`         // matching records within the window that ends now
	Fired   int64      `json:"fired"`           // how often it has fired since the server began or the alert was changed
}

// InputStats has the counters of one input.
type InputStats struct {
	Open        int64            `json:"open"`        // connections that are open
	Connections int64            `json:"connections"` // connections since the server began
	Records     int64            `json:"records"`
	Bytes       int64            `json:"bytes"`   // of the messages of these records
	Refused     map[string]int64 `json:"refused"` // what was refused: connections, requests and malformed input, by reason

	// Repaired is the number of records whose service had an invalid name, which are stored under a repaired one, by the reasons
	// of [logs.RepairService].
	Repaired map[string]int64 `json:"repaired"`
}

// ServiceTraffic has the counters of one service.
type ServiceTraffic struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`   // of the messages of these records
	Cut     int64 `json:"cut"`     // records that were truncated because they were too long
	Limited int64 `json:"limited"` // records that exceeded a [Limit] and were dropped
}

// OutputStats is the state of one output.
type OutputStats struct {
	Name    string `json:"name"`
	Written int64  `json:"written"`           // bytes of lines, or records of the store
	Waiting int64  `json:"waiting"`           // bytes that wait to be written
	Repeats int64  `json:"repeats"`           // records that repeated the one before, and were counted instead of written
	Lost    int64  `json:"lost"`              // bytes of lines, or records, that could not be written before the server ended
	Failure string `json:"failure,omitempty"` // the error of the last write; empty if it succeeded
}

type inputCounts struct {
	open, connections, records, bytes atomic.Int64

	mu       sync.Mutex
	refused  map[string]int64
	repaired map[string]int64
}

// received counts records of a service that arrived at this input at the time now.
func (c *inputCounts) received(of *serviceCounts, now, records, bytes int64) {
	of.lastSeen.Store(now)
	of.records.Add(records)
	of.bytes.Add(bytes)
	c.records.Add(records)
	c.bytes.Add(bytes)
}

// mostReasons is how many reasons for refusals are counted separately; further ones count as "other".
const mostReasons = 64

func (c *inputCounts) refuse(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = map[string]int64{}
	}
	if _, ok := c.refused[reason]; !ok && len(c.refused) >= mostReasons {
		reason = "other"
	}
	c.refused[reason]++
}

func (c *inputCounts) repair(reason string, n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.repaired == nil {
		c.repaired = map[string]int64{}
	}
	c.repaired[reason] += n
}

// inputCounts returns the counters of an input, and makes them if there are none yet.
func (s *Server) inputCounts(name string) *inputCounts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.inputs[name]
	if c == nil {
		c = &inputCounts{}
		s.inputs[name] = c
	}
	return c
}

// Stats returns the counters of the server. It may be called at any time, and concurrently.
func (s *Server) Stats() Stats {
	st := Stats{Began: s.began, Inputs: map[string]InputStats{}, Services: map[string]ServiceTraffic{}}
	s.mu.Lock()
	for name, c := range s.inputs {
		w := InputStats{Open: c.open.Load(), Connections: c.connections.Load(), Records: c.records.Load(), Bytes: c.bytes.Load(), Refused: map[string]int64{}, Repaired: map[string]int64{}}
		c.mu.Lock()
		maps.Copy(w.Refused, c.refused)
		maps.Copy(w.Repaired, c.repaired)
		c.mu.Unlock()
		st.Inputs[name] = w
	}
	for name, c := range s.services {
		if c.lastSeen.Load() == 0 {
			continue // known from the store only: it has received nothing yet
		}
		st.Services[name] = ServiceTraffic{Records: c.records.Load(), Bytes: c.bytes.Load(), Cut: c.cut.Load(), Limited: c.limited.Load()}
	}
	for name, n := range s.redacted {
		if st.Redacted == nil {
			st.Redacted = map[string]int64{}
		}
		st.Redacted[name] = n.Load()
	}
	s.mu.Unlock()
	for _, c := range s.routing.Load().alerts {
		st.Alerts = append(st.Alerts, c.stats())
	}
	for _, o := range s.outputs.all() {
		l := o.Stats()
		one := OutputStats{Name: o.Name(), Written: l.Written, Waiting: l.Waiting, Repeats: l.Repeated, Lost: l.Lost}
		if l.Failure != nil {
			one.Failure = l.Failure.Error()
		}
		st.Outputs = append(st.Outputs, one)
	}
	if o := s.outputs.store; o != nil {
		st.Outputs = append(st.Outputs, o.stats())
	}
	return st
}

func (o *storeOutput) stats() OutputStats {
	o.mu.Lock()
	defer o.mu.Unlock()
	st := OutputStats{Name: "store", Written: o.appended + o.beside, Waiting: int64(o.bytes), Repeats: o.repeats, Lost: o.lost}
	if o.failure != nil {
		st.Failure = o.failure.Error()
	}
	return st
}
