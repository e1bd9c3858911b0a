package memory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// waits wakes those that wait for jobs. Each thing that makes a job due is an event of its queue, with a number.
type waits struct {
	event   uint64
	changed chan struct{} // closed with the next event; nil when nobody waits

	// seen has, by their queues, the events up to which callers that are not waiting now have been told. A caller takes
	// the lowest: callers cannot be told apart, and one that is told twice is better than one that is not told.
	seen map[string][]uint64
}

func (w *waits) wake() {
	if w.changed != nil {
		close(w.changed)
		w.changed = nil
	}
}

// notify says that there may be a due job in a queue.
func (s *Store) notify(name string) {
	s.waits.event++
	s.queue(name).event = s.waits.event
	s.waits.wake()
}

// Wait returns nil when a job may have become due in one of the queues since the last call.
func (s *Store) Wait(ctx context.Context, queues ...string) error {
	if _, err := s.enter(ctx, "wait for jobs"); err != nil {
		return err
	}
	defer s.mu.Unlock()
	key := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	told := s.waits.take(key)
	defer func() { s.waits.giveBack(key, told) }()
	timer := time.NewTimer(job.LongestWait)
	defer timer.Stop()
	for !s.closed {
		for _, name := range queues {
			if q := s.queues[name]; q != nil && q.event > told {
				told = s.waits.event
				return nil
			}
		}
		if s.waits.changed == nil {
			s.waits.changed = make(chan struct{})
		}
		changed := s.waits.changed
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
		if over {
			return err
		}
	}
	return fmt.Errorf("wait for jobs: %w", job.ErrClosed)
}

// take returns up to which event a caller that waits for some queues has been told.
func (w *waits) take(key string) uint64 {
	known := w.seen[key]
	if len(known) == 0 {
		return 0
	}
	w.seen[key] = known[1:]
	return known[0]
}

// giveBack keeps what take is to return to a later caller.
func (w *waits) giveBack(key string, told uint64) {
	if w.seen == nil {
		w.seen = map[string][]uint64{}
	}
	i, _ := slices.BinarySearch(w.seen[key], told)
	w.seen[key] = slices.Insert(w.seen[key], i, told)
}
