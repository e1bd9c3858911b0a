package forward

import (
	"errors"
	"math/rand/v2"
	"time"
)

// maxRetryAfter is the longest Retry-After of an output that is honored.
const maxRetryAfter = 10 * time.Minute

// backoff returns how long to wait after an error that follows that many others: the error's Retry-After, or a random time up to a bound
// that doubles with each error, so that forwarders that failed together do not retry together.
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

// An outage is the state of the log messages about an output that fails, so that they are not repeated for each service and call.
type outage struct {
	since       time.Time // when it began to fail; zero while it takes records
	logged      time.Time // when it was last logged that it fails
	refused     int64     // refusals since the last one that was logged
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

// reportReachableLocked logs the end of an outage, after the output has taken records, if no other service waits for it any more.
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
