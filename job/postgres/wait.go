package postgres

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile/internal/wakeup"
	"github.com/meanwhile-go/meanwhile/job"
)

// waits wakes the callers of Wait. A notice from the server is an event of its queue. One of the callers listens for all: it reads the connection
// until it gets an event of its own queues, and then another one takes over.
type waits struct {
	mu        sync.Mutex
	events    wakeup.Events // that wake callers even if none is listening any more
	listening bool
	interrupt context.CancelFunc // stops the caller that listens
	timer     *time.Timer        // see wakeIn

	listener listener // used by the caller that listens
}

// noticed handles a notice from the server.
func (s *Store) noticed(n *pgconn.Notification) {
	if n.Channel != s.schema || strings.HasPrefix(n.Payload, testNotice) {
		return
	}
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events.Notify(n.Payload)
}

// noticedAll wakes all waiters.
func (w *waits) noticedAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events.NotifyAll()
}

// wakeIn wakes all waiters after d, unless that will happen earlier anyway: a claim may have skipped jobs.
func (w *waits) wakeIn(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		return
	}
	w.timer = time.AfterFunc(d, func() {
		w.noticedAll()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer = nil
		if w.interrupt != nil {
			w.interrupt()
		}
	})
}

// Wait returns when a job may have become due in some of the queues since the last call, and returns these. It returns an error while the server cannot be reached.
func (s *Store) Wait(ctx context.Context, queues ...string) ([]string, error) {
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
	bound, cancel := context.WithTimeout(ctx, job.LongestWait)
	defer cancel()
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	waiter := w.events.Wait(queues)
	defer waiter.End()
	for {
		switch {
		case s.closing.Load():
			return nil, job.ErrClosed
		case ctx.Err() != nil:
			return nil, ctx.Err()
		}
		if due := waiter.News(); len(due) > 0 {
			return due, nil
		}
		if bound.Err() != nil {
			return queues, nil
		}
		if w.listening {
			changed := w.events.Changed()
			w.mu.Unlock()
			select {
			case <-changed:
			case <-bound.Done():
			}
			w.mu.Lock()
			continue
		}
		if err := s.listen(bound); err != nil && bound.Err() == nil && !s.closing.Load() {
			if due := waiter.News(); len(due) > 0 {
				return due, nil
			}
			return nil, err
		}
	}
}

// listen waits for one notice, or until ctx ends. The caller holds the lock.
func (s *Store) listen(ctx context.Context) error {
	w := &s.waits
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.listening, w.interrupt = true, cancel
	w.mu.Unlock()
	err := s.listenOnce(ctx)
	w.mu.Lock()
	w.listening, w.interrupt = false, nil
	w.events.Wake()
	return err
}

// reconnect makes the listening caller connect again.
func (w *waits) reconnect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener.stale.Store(true)
	if w.interrupt != nil {
		w.interrupt()
	}
}

// close ends all waits, and closes the connection.
func (w *waits) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.listening {
		w.interrupt()
		changed := w.events.Changed()
		w.mu.Unlock()
		<-changed
		w.mu.Lock()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.events.Wake()
	w.listener.close()
}
