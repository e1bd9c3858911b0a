package server

import "sync/atomic"

// A rate lets through so many records a second, and so many at once. Any number of feeds may use it at once.
type rate struct {
	each  int64 // nanoseconds
	ahead int64 // that many nanoseconds of records at once
	limit float64
	next  atomic.Int64 // when the next record is due, if they came evenly
	over  atomic.Int64 // that were left out since it was last reported
}

func newRate(l *Limit) *rate {
	burst := l.Burst
	if burst <= 0 {
		burst = max(int(l.Rate), 1)
	}
	each := int64(1e9 / l.Rate)
	return &rate{each: each, ahead: each * int64(burst-1), limit: l.Rate}
}

// allow reports whether a record may come in at a time, in nanoseconds since the server began: the time of day may be set back, after
// which the limit would leave out all records until it has caught up.
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
