package forward

import (
	"errors"
	"math/rand/v2"
	"time"
)

// maxRetryAfter bounds what an output that is unreachable may ask for.
const maxRetryAfter = 10 * time.Minute

// backoff is how long to wait after an error that came after so many others: what the error says, or a random time up to a
// bound that doubles, so that those who failed together do not come back together.
func (f *Forwarder) backoff(failures int, err error) time.Duration {
	if delayed, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return min(max(delayed.RetryAfter(), f.RetryMin), maxRetryAfter)
	}
	bound := f.RetryMax
	if failures < 20 {
		bound = min(bound, f.RetryMin<<failures)
	}
	return bound/2 + rand.N(bound/2+1)
}

// An outage is what was reported of an output that does not take records, so that each is reported once.
type outage struct {
	since       time.Time // zero: it takes them
	logged      time.Time // when it was last reported as unreachable
	refused     int64     // refusals since the last one that was reported
	refusedTold time.Time
}

func (f *Forwarder) reportUnreachable(service string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.outage.since.IsZero() {
		f.outage.since = now
	}
	if now.Sub(f.outage.logged) < time.Minute {
		return
	}
	f.outage.logged = now
	f.Logger.Warn("logs: an output does not take records; they stay in the store until it does", "output", f.Name, "service", service, "error", err)
}

// reportReachableLocked notes that something was taken. It is over when no service waits any more.
func (f *Forwarder) reportReachableLocked() {
	if f.outage.since.IsZero() {
		return
	}
	for _, s := range f.services {
		if s.unreachable {
			return
		}
	}
	f.Logger.Info("logs: an output takes records again", "output", f.Name, "unreachable", time.Since(f.outage.since).Round(time.Millisecond))
	f.outage.since = time.Time{}
}

func (f *Forwarder) reportRefused(service, why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.outage.refused++
	if now := time.Now(); now.Sub(f.outage.refusedTold) >= 10*time.Second {
		f.Logger.Warn("logs: an output refuses records; they are left out", "output", f.Name, "service", service, "times", f.outage.refused, "why", why)
		f.outage.refused, f.outage.refusedTold = 0, now
	}
}
