package fetch

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"
)

// A phase is what an attempt is waiting for.
type phase int

const (
	starting  phase = iota // nothing from the network yet
	lookup                 // DNS lookup of the host
	connect                // a connection
	handshake              // TLS
	waiting                // the first byte of the response, including sending the request
	receiving              // the rest of the response
	phaseCount
)

func (p phase) String() string {
	return [...]string{"starting", "looking up the host", "connecting", "in the TLS handshake", "waiting for an answer", "receiving"}[p]
}

// phases are the times spent in each phase; redirects add up.
type phases [phaseCount]time.Duration

// A clock measures the phases of one attempt. net/http reports the changes, from several goroutines.
type clock struct {
	begun time.Time

	mu      sync.Mutex
	now     phase
	since   time.Time
	spent   phases
	seeking bool // no connection yet: further dials after a connection was found do not count
}

func newClock() *clock { return &clock{begun: time.Now()} }

func (c *clock) enter(p phase, whileSeeking bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if whileSeeking && !c.seeking {
		return
	}
	now := time.Now()
	if !c.since.IsZero() {
		c.spent[c.now] += now.Sub(c.since)
	}
	c.now, c.since = p, now
}

// stop ends the last phase and returns the times.
func (c *clock) stop() phases {
	last := c.phase()
	c.enter(last, false)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spent
}

func (c *clock) phase() phase {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) seek(yes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeking = yes
}

func (c *clock) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:              func(string) { c.seek(true); c.enter(starting, false) },
		DNSStart:             func(httptrace.DNSStartInfo) { c.enter(lookup, true) },
		DNSDone:              func(httptrace.DNSDoneInfo) { c.enter(starting, true) },
		ConnectStart:         func(string, string) { c.enter(connect, true) },
		TLSHandshakeStart:    func() { c.enter(handshake, true) },
		TLSHandshakeDone:     func(tls.ConnectionState, error) { c.enter(starting, true) },
		GotConn:              func(httptrace.GotConnInfo) { c.seek(false); c.enter(waiting, false) },
		GotFirstResponseByte: func() { c.enter(receiving, false) },
	}
}
