package memory

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A session is the lease of a worker's jobs.
type session struct {
	until time.Time
	from  int64 // claims with a lower number get nothing
}

// startClaim reports whether a claim may get jobs. It starts the session unless it is running, or renews its lease after claims
// that were not answered.
func (s *Store) startClaim(c job.Claim, now time.Time) bool {
	held := s.sessions[c.Session]
	if held == nil {
		held = &session{}
		s.sessions[c.Session] = held
	}
	if c.Call < held.from {
		return false
	}
	if c.Since > 0 {
		held.from = c.Call
	}
	if c.Since > 0 || !held.until.After(now) {
		held.until = now.Add(c.Lease)
	}
	return true
}

// renew extends the lease of a session.
func (s *Store) renew(id job.Session, until time.Time) {
	if held := s.sessions[id]; held != nil {
		held.until = until
	} else {
		s.sessions[id] = &session{until: until}
	}
}

// expired reports whether the lease of a running job has expired.
func (s *Store) expired(e *entry, now time.Time) bool {
	held := s.sessions[e.session]
	return held == nil || !held.until.After(now)
}
