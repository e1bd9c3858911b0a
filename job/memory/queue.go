package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A queue holds the unfinished jobs of one name. It exists while there are some, or it is paused.
type queue struct {
	ready   [job.HighestPriority]heap // by priority, the lowest first
	running heap
	paused  bool
	event   uint64 // the number of the last one, see waits
}

// queue returns the queue, made when it is new.
func (s *Store) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		q = &queue{running: heap{less: expiresBefore}}
		for i := range q.ready {
			q.ready[i].less = dueBefore
		}
		s.queues[name] = q
	}
	return q
}

// dropIdle forgets a queue of which there is nothing to say.
func (s *Store) dropIdle(name string) {
	if q := s.queues[name]; q != nil && !q.paused && q.queued() == 0 && q.running.Len() == 0 {
		delete(s.queues, name)
	}
}

func (q *queue) queued() int {
	n := 0
	for i := range q.ready {
		n += q.ready[i].Len()
	}
	return n
}

// Queues returns every queue that has unfinished jobs or is paused, by name.
func (s *Store) Queues(ctx context.Context) ([]job.QueueInfo, error) {
	now, err := s.enter(ctx, "list queues")
	if err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	infos := make([]job.QueueInfo, 0, len(s.queues))
	for name, q := range s.queues {
		info := job.QueueInfo{Name: name, Paused: q.paused, Queued: int64(q.queued()), Running: int64(q.running.Len())}
		for i := range q.ready {
			if e := q.ready[i].top(); e != nil {
				info.Wait = max(info.Wait, now.Sub(e.RunAt))
			}
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b job.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// Pause stops the claiming of jobs of a queue, or lets it go on.
func (s *Store) Pause(ctx context.Context, name string, paused bool) error {
	if _, err := s.enter(ctx, "pause queue "+name); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.queue(name).paused = paused
	if !paused {
		s.notify(name)
		s.dropIdle(name)
	}
	return nil
}

// Counts returns how many jobs there are by queue, kind and state.
func (s *Store) Counts(ctx context.Context) ([]job.Count, error) {
	if _, err := s.enter(ctx, "count jobs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	counts := make([]job.Count, 0, len(s.counts))
	for key, n := range s.counts {
		counts = append(counts, job.Count{Queue: key.queue, Kind: key.kind, State: key.state, N: n})
	}
	slices.SortFunc(counts, func(a, b job.Count) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.State, b.State))
	})
	return counts, nil
}

// next returns how long from now the first job that is not due becomes so, or zero when none is known.
func (q *queue) next(now time.Time) time.Duration {
	var next time.Duration
	for i := range q.ready {
		if e := q.ready[i].top(); e != nil && e.RunAt.After(now) && (next == 0 || e.RunAt.Sub(now) < next) {
			next = e.RunAt.Sub(now)
		}
	}
	return next
}
