package dash

import (
	"context"
	"errors"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostHinted is how long a store may look for the jobs of an action itself before all jobs are read instead.
const mostHinted = 500 * time.Millisecond

// listed reports whether only h.list can evaluate the filter of the target.
func (t *target) listed() bool { return len(t.filter.Args) > 0 || t.filter.Error != "" }

// applyListed does the same as apply for such filters. It gets further in each part, also if no job matches, and adds to the jobs that can be restored.
func (h *handler) applyListed(ctx, limited context.Context, c *continuation) (over bool, err error) {
	paged := &pagedStore{Store: h.Store}
	var ids []job.ID
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		done, err := job.Apply(ctx, h.Store, job.Filter{IDs: ids, States: c.filter.States, Queues: c.filter.Queues}, c.do)
		c.add(done)
		if err == nil {
			c.passed(ids[len(ids)-1])
			ids = ids[:0]
		}
		if c.Done+c.skipped+c.conflict > mostUndone {
			c.queued = nil
		}
		return err
	}
	begun := c.filter.Before
	for j, err := range h.listOf(limited, paged, c.filter) {
		if err != nil && errors.Is(context.Cause(limited), errLate) {
			if err := flush(); err != nil {
				return false, err
			}
			if paged.read != (job.ID{}) {
				c.passed(paged.read)
			}
			if c.filter.Before == begun {
				return false, context.DeadlineExceeded // the next part would not get further either
			}
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if c.queued != nil && j.State == job.Queued {
			c.queued[j.ID] = standingOf(j)
		}
		if ids = append(ids, j.ID); len(ids) == mostSelected {
			if err := flush(); err != nil || limited.Err() != nil {
				return false, err
			}
		}
	}
	return true, flush()
}

// A pagedStore is a store for one listing by args or error. A store may take long to find the next such job among many others, and a call that takes too
// long finds nothing. So after one that does, the pagedStore reads a page of all jobs that match the rest of the filter at a time.
type pagedStore struct {
	job.Store
	slow bool
	read job.ID // the last job of the previous page
}

func (s *pagedStore) List(ctx context.Context, f job.Filter) (jobs []*job.Job, err error) {
	if !s.slow {
		hinted, cancel := context.WithTimeout(ctx, mostHinted)
		defer cancel()
		jobs, err = s.Store.List(hinted, f)
		s.slow = err != nil && hinted.Err() != nil && ctx.Err() == nil
	}
	if s.slow {
		f.Args, f.Error = nil, ""
		jobs, err = s.Store.List(ctx, f)
	}
	if len(jobs) > 0 {
		s.read = jobs[len(jobs)-1].ID
	}
	return jobs, err
}
