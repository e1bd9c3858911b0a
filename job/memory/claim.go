package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Claim claims due jobs for a worker.
func (s *Store) Claim(ctx context.Context, c job.Claim) (job.Claimed, error) {
	now, err := s.enter(ctx, "claim jobs")
	if err != nil {
		return job.Claimed{}, err
	}
	defer s.mu.Unlock()
	if !s.startClaim(c, now) {
		return job.Claimed{}, nil
	}
	again := s.unanswered(c)
	claimed := job.Claimed{}
	for _, e := range again {
		claimed.Jobs = append(claimed.Jobs, e.copyOut())
	}
	c.Limit -= len(again)
	left := make([]int, len(c.Queues)) // of each queue's limit
	take := func(i int, taken []*entry) {
		left[i] -= len(taken)
		c.Limit -= len(taken)
		for _, e := range taken {
			claimed.Jobs = append(claimed.Jobs, e.copyOut())
		}
	}
	for i, q := range c.Queues {
		if queue := s.queues[q.Queue]; queue != nil && !queue.paused && !named(c.Queues[:i], q.Queue) {
			left[i] = q.Limit
			if c.Expired {
				take(i, s.claimExpired(c, queue, min(c.Limit, q.Limit), now, &claimed))
			}
		}
	}
	for i, q := range c.Queues {
		queue := s.queues[q.Queue]
		if queue == nil || queue.paused || q.Limit <= 0 || c.Limit <= 0 || named(c.Queues[:i], q.Queue) {
			continue
		}
		taken, next, err := s.claimDue(c, queue, min(left[i], c.Limit), now)
		if err != nil {
			return job.Claimed{}, err
		}
		take(i, taken)
		if next > 0 && (claimed.Next == 0 || next < claimed.Next) {
			claimed.Next = next
		}
	}
	if c.Limit <= 0 {
		claimed.Next = 0
	}
	return claimed, nil
}

// named reports whether a queue is among the queues, with a limit.
func named(queues []job.QueueLimit, queue string) bool {
	return slices.ContainsFunc(queues, func(q job.QueueLimit) bool { return q.Queue == queue && q.Limit > 0 })
}

// claimExpired claims up to n jobs of a queue whose leases have expired.
func (s *Store) claimExpired(c job.Claim, q *queue, n int, now time.Time, claimed *job.Claimed) []*entry {
	taken := s.expiredOf(q, c, now, n)
	for _, e := range taken {
		if claimed.Expired == nil {
			claimed.Expired = map[job.ID]string{}
		}
		claimed.Expired[e.ID] = e.Worker
		e.Crashed++
		s.leave(e)
		s.hold(e, c, now)
	}
	return taken
}

// hold assigns an unlinked job to the worker.
func (s *Store) hold(e *entry, c job.Claim, now time.Time) {
	e.State, e.Started, e.Worker, e.session, e.call = job.Running, now, c.Worker, c.Session, c.Call
	e.Attempt++
	s.link(e)
}

// wants reports whether a claim is for jobs of the kind of e.
func wants(c job.Claim, e *entry) bool { return c.Kinds == nil || slices.Contains(c.Kinds, e.Kind) }

// unanswered returns the jobs that the session got by claims whose answers were lost.
func (s *Store) unanswered(c job.Claim) (jobs []*entry) {
	if c.Since == 0 {
		return nil
	}
	for _, e := range s.jobs {
		if e.State == job.Running && e.session == c.Session && e.call >= c.Since {
			jobs = append(jobs, e)
		}
	}
	slices.SortFunc(jobs, inOrder)
	return jobs
}

// expiredOf returns at most n jobs of a queue whose leases have expired.
func (s *Store) expiredOf(q *queue, c job.Claim, now time.Time, n int) (jobs []*entry) {
	for _, e := range q.running.items {
		if wants(c, e) && s.expired(e, now) {
			jobs = append(jobs, e)
		}
	}
	slices.SortFunc(jobs, inOrder)
	return jobs[:max(min(n, len(jobs)), 0)]
}

// inOrder compares jobs of a queue by the order in which they should run.
func inOrder(a, b *entry) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.RunAt.Compare(b.RunAt), compareIDs(a.ID, b.ID))
}
