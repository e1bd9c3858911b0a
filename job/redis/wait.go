package redis

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/internal/wakeup"
	"github.com/meanwhile-go/meanwhile/job"
)

// waits wakes the callers of Wait. A message that a script publishes is an event of its queue. One connection, made by the first caller of Wait,
// receives for all.
type waits struct {
	mu      sync.Mutex
	events  wakeup.Events
	lost    <-chan error // the end of the connection; nil if there is none
	release func()       // gives the connection back
}

// noticed handles a published message: the name of a queue, or "" for all queues.
func (w *waits) noticed(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if queue == "" {
		w.events.NotifyAll()
	} else {
		w.events.Notify(queue)
	}
}

// Wait returns nil if a job may have become due in one of the queues since the last call. It returns an error while the server cannot be reached.
func (s *Store) Wait(ctx context.Context, queues ...string) error {
	_, err := s.WaitQueues(ctx, queues...)
	return err
}

// WaitQueues is Wait, and returns the queues in which a job may have become due.
func (s *Store) WaitQueues(ctx context.Context, queues ...string) ([]string, error) {
	due, err := s.wait(ctx, queues)
	if err != nil {
		return nil, fmt.Errorf("wait for jobs: %w", err)
	}
	return due, nil
}

func (s *Store) wait(ctx context.Context, queues []string) ([]string, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	timer := time.NewTimer(job.LongestWait)
	defer timer.Stop()
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	waiter := w.events.Wait(queues)
	defer waiter.End()
	for {
		if err := s.listen(ctx); err != nil {
			return nil, s.explain(ctx, err)
		}
		if due := waiter.News(); len(due) > 0 {
			return due, nil
		}
		changed, lost := w.events.Changed(), w.lost
		w.mu.Unlock()
		over, err := false, error(nil)
		select {
		case <-changed:
		case <-lost:
			s.unlisten(lost)
		case <-timer.C:
			over = true
		case <-ctx.Done():
			over, err = true, ctx.Err()
		}
		w.mu.Lock()
		switch {
		case s.closing.Load():
			return nil, job.ErrClosed
		case err != nil:
			return nil, err
		case over:
			return queues, nil
		}
	}
}

// listen subscribes, if there is no connection for that. The caller holds the lock.
func (s *Store) listen(ctx context.Context) error {
	w := &s.waits
	if w.lost != nil {
		return nil
	}
	if s.closing.Load() {
		return job.ErrClosed
	}
	w.mu.Unlock()
	bound, cancel := bounded(ctx)
	defer cancel()
	made, err := s.connected(bound)
	w.mu.Lock()
	if err != nil || w.lost != nil {
		return err
	}
	client, release := made.Dedicate()
	w.lost = client.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { w.noticed(m.Message) },
		OnSubscription: func(rueidis.PubSubSubscription) { w.noticed("") }, // messages before this may have been missed
	})
	w.release = release
	lost := w.lost
	w.mu.Unlock()
	err = client.Do(bound, client.B().Subscribe().Channel(s.prefix+"wake").Build()).Error()
	if err != nil {
		s.unlisten(lost)
	}
	w.mu.Lock()
	return err
}

// unlisten releases a lost connection.
func (s *Store) unlisten(lost <-chan error) {
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == lost && lost != nil {
		release := w.release
		w.lost, w.release = nil, nil
		w.events.Wake()
		w.mu.Unlock()
		release()
		w.mu.Lock()
	}
}

// close ends all waits.
func (w *waits) close() {
	w.mu.Lock()
	lost, release := w.lost, w.release
	w.lost, w.release = nil, nil
	w.events.Wake()
	w.mu.Unlock()
	if lost != nil {
		release()
	}
}
