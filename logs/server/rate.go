package server

import "sync/atomic"

// A rate limits the records of a service: so many a second, and bursts of so many. Batchers of several connections use it concurrently.
type rate struct {
	each  int64 // nanoseconds from one record to the next at this rate
	ahead int64 // the same of a whole burst
	limit float64
	next  atomic.Int64 // when the next record is due at an even rate
	over  atomic.Int64 // records that were dropped since the last report
}

func newRate(l *Limit) *rate {
	burst := l.Burst
	if burst <= 0 {
		burst = max(int(l.Rate), 1)
	}
	each := int64(1e9 / l.Rate)
	return &rate{each: each, ahead: each * int64(burst-1), limit: l.Rate}
}

// allow reports whether a record that arrives at now is within the limit. The time is in nanoseconds since the server began: if it was the
// time of day and the clock was set back, all records would be dropped until it has caught up.
func (r *rate) allow(now int64) bool {
	for {
		next := r.next.Load()
		due := max(next, now)
		if due > now+r.ahead {
			r.over.Add(1)
			return false
		}
		if r.next.CompareAndSwap(next, due+r.each) {
			return true
		}
	}
}
