package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A queue has the unfinished jobs of one name. It exists while there are some, or while it is paused or has limits, also of single
// keys.
type queue struct {
	job.LaneQueue
	lanes   lanes // of queued jobs
	queued  int
	running heap
	paused  bool
	holders map[string]*ordered // discarded jobs that hold their limit keys, by key
	// throttled is the time until which the queue, or one of its lanes, is throttled.
	throttled time.Time
	overrides map[string]job.KeyLimits // limits of single keys; Overrides is their number
}

// queue returns the queue, and creates it if it is new.
func (s *Store) queue(name string) *queue {
	q := s.queues[name]
	if q == nil {
		q = &queue{running: heap{less: dueBefore}, lanes: lanes{byKey: map[string]*lane{}}, holders: map[string]*ordered{}}
		s.queues[name] = q
	}
	return q
}

// limited reports whether the queue or one of its keys has limits.
func (q *queue) limited() bool { return q.Limits != (job.Limits{}) || q.Overrides > 0 }

// dropIdle deletes a queue without jobs and settings.
func (s *Store) dropIdle(name string) {
	if q := s.queues[name]; q != nil && !q.paused && !q.throttled.After(time.Now()) && !q.limited() && q.queued == 0 && q.running.Len() == 0 {
		delete(s.queues, name)
	}
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
		info := job.QueueInfo{Name: name, Paused: q.paused, Queued: int64(q.queued), Running: int64(q.running.Len())}
		if !q.paused && info.Queued+info.Running == 0 {
			continue // it has limits
		}
		for _, l := range q.lanes.byKey {
			for i := range l.ready {
				if e := l.ready[i].top(); e != nil {
					info.Wait = max(info.Wait, now.Sub(e.RunAt))
				}
			}
		}
		infos = append(infos, info)
	}
	slices.SortFunc(infos, func(a, b job.QueueInfo) int { return cmp.Compare(a.Name, b.Name) })
	return infos, nil
}

// Pause stops claims from a queue, or resumes them.
func (s *Store) Pause(ctx context.Context, name string, paused bool) error {
	if _, err := s.enter(ctx, "pause or resume queue "+name); err != nil {
		return err
	}
	defer s.mu.Unlock()
	q := s.queue(name)
	if q.paused = paused; !paused {
		q.Held, q.throttled = time.Time{}, time.Time{}
		for _, l := range q.lanes.byKey {
			if !l.Held.IsZero() {
				l.Held = time.Time{}
				q.lanes.touch(l)
			}
		}
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
