package memory

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Insert stores new jobs, all or none.
func (s *Store) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	now, err := s.enter(ctx, "insert jobs")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if err := s.checkNew(jobs); err != nil {
		return nil, fmt.Errorf("insert jobs: %w", err)
	}
	ids := make([]job.ID, len(jobs))
	for i, j := range jobs {
		ids[i] = s.insert(j, now)
	}
	return ids, nil
}

// checkNew returns an error if the ID of one of the jobs exists already.
func (s *Store) checkNew(jobs []*job.Job) error {
	var seen map[job.ID]bool
	if len(jobs) > 1 {
		seen = make(map[job.ID]bool, len(jobs))
	}
	for _, j := range jobs {
		if s.jobs[j.ID] != nil || seen[j.ID] {
			return fmt.Errorf("%v is there already", j.ID)
		}
		if seen != nil {
			seen[j.ID] = true
		}
	}
	return nil
}

// insert stores one job and returns the ID of the stored one: its own, or that of the holder of its key.
func (s *Store) insert(j *job.Job, now time.Time) job.ID {
	if j.UniqueKey != "" {
		if id, held := s.holder(j.UniqueKey, now); held && s.keepsOut(id, j) {
			s.replace(id, j, now)
			return id
		}
		s.keys[j.UniqueKey] = hold{id: j.ID}
	}
	e := &entry{Job: job.Job{
		ID: j.ID, Kind: j.Kind, Queue: j.Queue, Args: bytes.Clone(j.Args), State: job.Queued, Priority: j.Priority,
		MaxAttempts: j.MaxAttempts, UniqueKey: j.UniqueKey, UniqueFor: j.UniqueFor, Created: now,
	}, options: j.EncodeOptions()}
	e.LimitKey, e.Cost = j.LimitKey, j.Cost
	e.setDue(j, now)
	s.jobs[e.ID] = e
	s.order.add(e)
	if e.metaID = j.Meta[job.MetaID]; e.metaID != "" {
		s.metaIDs[e.metaID] = append(s.metaIDs[e.metaID], e)
	}
	s.link(e)
	s.notify(e.Queue)
	return e.ID
}
