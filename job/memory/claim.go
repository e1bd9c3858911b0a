package memory

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Claim takes due jobs for a worker.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	now, err := s.enter(ctx, "claim jobs")
	if err != nil {
		return job.Claimed{}, err
	}
	defer s.mu.Unlock()
	var taken []*entry
	room := c.Limit
	limits := make([]int, len(c.Queues)) // what is left of each
	take := func(i int, h *heap, due func(*entry) bool) {
		var others []*entry // of kinds that were not asked for
		defer func() {
			for _, e := range others {
				h.push(e)
			}
		}()
		for e := h.top(); e != nil && room > 0 && limits[i] > 0 && due(e); e = h.top() {
			if c.Kinds != nil && !slices.Contains(c.Kinds, e.Kind) {
				h.remove(e)
				others = append(others, e)
				continue
			}
			s.unlink(e)
			taken = append(taken, e)
			room--
			limits[i]--
		}
	}
	for i, q := range c.Queues {
		if queue := s.queues[q.Queue]; queue != nil && !queue.paused {
			limits[i] = q.Limit
			if c.Expired {
				take(i, &queue.running, func(e *entry) bool { return !e.lease.After(now) })
			}
		}
	}
	expired := len(taken)
	for i, q := range c.Queues {
		for p := job.HighestPriority - 1; p >= 0 && limits[i] > 0; p-- {
			if queue := s.queues[q.Queue]; queue != nil { // until its last job is taken
				take(i, &queue.ready[p], func(e *entry) bool { return !e.RunAt.After(now) })
			}
		}
	}
	claimed := job.Claimed{Jobs: make([]*job.Job, len(taken)), Next: s.nextOf(c, room, now)}
	for i, e := range taken {
		if i < expired {
			if claimed.Expired == nil {
				claimed.Expired = map[job.ID]string{}
			}
			claimed.Expired[e.ID] = e.Worker
			e.Died++
		} else {
			e.CancelRequested = false
		}
		e.State, e.Started, e.Worker, e.lease = job.Running, now, c.Worker, now.Add(c.Lease)
		e.Attempt++
		s.link(e)
		claimed.Jobs[i] = e.copyOut()
	}
	return claimed, nil
}

// nextOf returns when to claim again, for a claim that had room for so many more jobs.
func (s *Store) nextOf(c job.Claim, room int, now time.Time) time.Duration {
	var next time.Duration
	if room <= 0 {
		return 0
	}
	for _, q := range c.Queues {
		if queue := s.queues[q.Queue]; queue != nil && !queue.paused && q.Limit > 0 {
			if n := queue.next(now); n > 0 && (next == 0 || n < next) {
				next = n
			}
		}
	}
	return next
}
