package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// List returns jobs by ID, newest first. The args and the error of the filter are ignored, as they are hints.
func (s *Store) List(ctx context.Context, f job.Filter) ([]*job.Job, error) {
	now, err := s.enter(ctx, "list jobs")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if f.Limit <= 0 {
		return nil, fmt.Errorf("list jobs: a limit of %d", f.Limit)
	}
	var jobs []*job.Job
	for _, e := range s.find(f, now) {
		jobs = append(jobs, e.copyOut())
	}
	return jobs, nil
}

// find returns the newest jobs that match a filter, at most as many as its limit.
func (s *Store) find(f job.Filter, now time.Time) (found []*entry) {
	meta := f.MetaTexts()
	add := func(e *entry) bool {
		if !e.removed && matches(f, e, now) && hasMeta(e, meta) {
			found = append(found, e)
		}
		return len(found) < f.Limit
	}
	if f.IDs != nil {
		for _, id := range slices.Backward(slices.Compact(slices.SortedFunc(slices.Values(f.IDs), compareIDs))) {
			if e := s.jobs[id]; e != nil && !add(e) {
				break
			}
		}
		return found
	}
	if f.MetaID() != "" {
		same := slices.SortedFunc(slices.Values(s.metaIDs[f.Meta[job.MetaID]]), func(a, b *entry) int { return compareIDs(b.ID, a.ID) })
		for _, e := range same {
			if !add(e) {
				break
			}
		}
		return found
	}
	end := len(s.order.entries)
	if f.Before != (job.ID{}) {
		end = s.order.find(f.Before)
	}
	for _, e := range slices.Backward(s.order.entries[:end]) {
		if !add(e) || e.ID.Time().Before(f.CreatedAfter) {
			break
		}
	}
	return found
}

func matches(f job.Filter, e *entry, now time.Time) bool {
	among := func(names []string, name string) bool { return len(names) == 0 || slices.Contains(names, name) }
	switch {
	case !among(f.Kinds, e.Kind), !among(f.Queues, e.Queue), len(f.States) > 0 && !inStates(f.States, &e.Job, now),
		f.Worker != "" && f.Worker != e.Worker, f.UniqueKey != "" && f.UniqueKey != e.UniqueKey:
		return false
	case f.Before != (job.ID{}) && compareIDs(e.ID, f.Before) >= 0,
		!f.CreatedAfter.IsZero() && e.ID.Time().Before(f.CreatedAfter),
		!f.CreatedBefore.IsZero() && !e.ID.Time().Before(f.CreatedBefore),
		!f.FinishedBefore.IsZero() && (!e.State.Finished() || !e.Finished.Before(f.FinishedBefore)):
		return false
	}
	return true
}

func hasMeta(e *entry, texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		return !bytes.Contains(e.options, []byte("{"+text)) && !bytes.Contains(e.options, []byte(","+text))
	})
}

// inStates reports whether the job is in one of the states; Scheduled and Retrying are parts of Queued.
func inStates(states []job.State, j *job.Job, now time.Time) bool {
	return slices.Contains(states, j.State) || slices.Contains(states, j.View(now))
}
