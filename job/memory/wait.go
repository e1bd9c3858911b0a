package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// notify wakes those that wait for a queue: it may have a due job.
func (s *Store) notify(name string) { s.events.Notify(name) }

// Wait returns when a job may have become due in some of the queues since the last call, and returns these.
func (s *Store) Wait(ctx context.Context, queues ...string) ([]string, error) {
	if _, err := s.enter(ctx, "wait for jobs"); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	waiter := s.events.Wait(queues)
	defer waiter.End()
	timer := time.NewTimer(job.LongestWait)
	defer timer.Stop()
	for !s.closed {
		if due := waiter.News(); len(due) > 0 {
			return due, nil
		}
		changed := s.events.Changed()
		s.mu.Unlock()
		over, err := false, error(nil)
		select {
		case <-changed:
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over, err = true, fmt.Errorf("wait for jobs: %w", ctx.Err())
		}
		s.mu.Lock()
		if over && err == nil {
			return queues, nil
		}
		if over {
			return nil, err
		}
	}
	return nil, fmt.Errorf("wait for jobs: %w", job.ErrClosed)
}
