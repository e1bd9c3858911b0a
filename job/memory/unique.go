package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A hold records which job has a unique key.
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

// keepsOut reports whether the holder of a job's key is in a state in which it keeps the job out.
func (s *Store) keepsOut(holder job.ID, j *job.Job) bool {
	if j.UniqueWhile == nil {
		return true
	}
	e := s.jobs[holder]
	return e != nil && slices.Contains(j.UniqueWhile, e.State)
}

// replace gives the args and the time of a job with Replace to the holder of its key, if the holder is queued.
func (s *Store) replace(holder job.ID, j *job.Job, now time.Time) {
	e := s.jobs[holder]
	if !j.Replace || e == nil || e.State != job.Queued {
		return
	}
	s.unlink(e)
	e.Args = bytes.Clone(j.Args)
	again := e.RunAt
	e.setDue(j, now)
	if latest := e.Created.Add(j.ReplaceWithin); j.ReplaceWithin > 0 && e.RunAt.After(latest) {
		if e.RunAt = latest; latest.Before(now) {
			e.RunAt = now
		}
	}
	if j.ReplaceWithin > 0 && e.Attempt > 0 && e.RunAt.Before(again) {
		e.RunAt = again
	}
	s.link(e)
	s.notify(e.Queue)
}

// letGo is called for a job that has finished: it frees the job's key, now or when UniqueFor is over.
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

// pruneKeys deletes the keys whose UniqueFor is over.
func (s *Store) pruneKeys(now time.Time) {
	for key, h := range s.keys {
		if !h.until.IsZero() && !h.until.After(now) {
			delete(s.keys, key)
		}
	}
}
