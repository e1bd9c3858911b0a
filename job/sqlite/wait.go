package sqlite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/wakeup"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	polling  = 20 * time.Millisecond // between two checks for writes of other processes
	everyone = ""                    // stands for all queues
)

// waits wakes the callers of Wait.
type waits struct {
	mu     sync.Mutex
	events wakeup.Events

	pollMu  sync.Mutex
	polled  time.Time
	version int64 // of the data, as the writer's connection sees the writes of others
}

// notify records that jobs of some queues may have become due, and wakes waiters.
func (w *waits) notify(queues map[string]bool) {
	if len(queues) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for name := range queues {
		if name == everyone {
			w.events.NotifyAll()
		} else {
			w.events.Notify(name)
		}
	}
}

func (w *waits) enter(queues []string) *wakeup.Waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events.Wait(queues)
}

func (w *waits) leave(waiter *wakeup.Waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiter.End()
}

// check returns the queues in which a waiter has news, and a channel to wait on.
func (w *waits) check(waiter *wakeup.Waiter) (news []string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return waiter.News(), w.events.Changed()
}

// Wait returns when a job may have become due in some of the queues since the last call: at once for changes made by this
// store, within about 20 ms for those made by others. It returns these queues, and all of them for changes made by others.
func (s *Store) Wait(ctx context.Context, queues ...string) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("wait for jobs: %w", err)
	}
	waiter := s.waits.enter(queues)
	defer s.waits.leave(waiter)
	over := time.NewTimer(job.LongestWait)
	defer over.Stop()
	poll := time.NewTicker(polling)
	defer poll.Stop()
	for {
		news, changed := s.waits.check(waiter)
		if len(news) > 0 && !s.isClosed() {
			return news, nil
		}
		select {
		case <-changed:
		case <-poll.C:
			if err := s.poll(); err != nil {
				return nil, s.explain("wait for jobs", err)
			}
		case <-over.C:
			return queues, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for jobs: %w", ctx.Err())
		case <-s.closed:
			return nil, fmt.Errorf("wait for jobs: %w", job.ErrClosed)
		}
	}
}

// poll checks whether others have written to the file, unless another caller has just done so or the writer is in use: then the
// next check detects it.
func (s *Store) poll() error {
	w := &s.waits
	if !w.pollMu.TryLock() {
		return nil
	}
	defer w.pollMu.Unlock()
	if time.Since(w.polled) < polling/2 || !s.writerMu.TryLock() {
		return nil
	}
	defer s.writerMu.Unlock()
	if s.isClosed() {
		return nil
	}
	w.polled = time.Now()
	row, err := one(s.writer, statement("data_version"))
	if err != nil {
		return err
	}
	if version := integer(row[0]); version != w.version {
		w.version = version
		w.notify(map[string]bool{everyone: true})
	}
	return nil
}
