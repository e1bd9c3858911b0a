package memory

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A hold says which job has a unique key.
type hold struct {
	id    job.ID
	until time.Time // zero while the job is unfinished
}

// holder returns the job that holds a unique key.
func (s *Store) holder(key string, now time.Time) (job.ID, bool) {
	h, ok := s.keys[key]
	if ok && !h.until.IsZero() && !h.until.After(now) {
		delete(s.keys, key)
		ok = false
	}
	return h.id, ok
}

// letGo is called for a job that has finished: its key is free, now or when UniqueFor is over.
func (s *Store) letGo(e *entry, now time.Time) {
	h, ok := s.keys[e.UniqueKey]
	if !ok || h.id != e.ID {
		return
	}
	if h.until = e.Created.Add(e.UniqueFor); h.until.After(now) {
		s.keys[e.UniqueKey] = h
	} else {
		delete(s.keys, e.UniqueKey)
	}
}

// pruneKeys removes what letGo left.
func (s *Store) pruneKeys(now time.Time) {
	for key, h := range s.keys {
		if !h.until.IsZero() && !h.until.After(now) {
			delete(s.keys, key)
		}
	}
}
