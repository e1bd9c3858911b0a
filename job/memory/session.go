package memory

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A session is the lease of a worker's jobs.
type session struct {
	until time.Time
	from  int64 // claims with a lower number take nothing
}

// startClaim returns whether a claim may take jobs, and begins its session where that is not under way, or
// sets the lease anew after claims that were not answered.
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

// renew sets the lease of a session.
func (s *Store) renew(id job.Session, until time.Time) {
	if held := s.sessions[id]; held != nil {
		held.until = until
	} else {
		s.sessions[id] = &session{until: until}
	}
}

// expired reports whether the lease of a running job is over.
func (s *Store) expired(e *entry, now time.Time) bool {
	held := s.sessions[e.session]
	return held == nil || !held.until.After(now)
}
