package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile/job"
)

// waits wakes those that wait for jobs. A notice from the server is an event of its queue, with a number. One of the
// callers of Wait listens for all: it reads the connection until something has come for it, then another one goes on.
type waits struct {
	mu        sync.Mutex
	event     uint64
	all       uint64            // the last event that is one of every queue
	events    map[string]uint64 // the last event by queue
	changed   chan struct{}     // closed with the next event, and when nobody listens any more
	listening bool
	interrupt context.CancelFunc // stops the one that listens
	timer     *time.Timer        // see wakeIn

	// seen has, by their queues, the events up to which callers that are not waiting now have been told. A caller takes
	// the lowest: callers cannot be told apart, and one that is told twice is better than one that is not told.
	seen map[string][]uint64

	listener listener // belongs to the one that listens
}

func (w *waits) setUp() {
	w.events, w.seen, w.changed = map[string]uint64{}, map[string][]uint64{}, make(chan struct{})
}

// maxEvents bounds how many queues are told apart; beyond them, an event is one of every queue.
const maxEvents = 10000

// noticed takes a notice from the server.
func (s *Store) noticed(n *pgconn.Notification) {
	if n.Channel != s.schema || strings.HasPrefix(n.Payload, testNotice) {
		return
	}
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event++
	if _, known := w.events[n.Payload]; known || len(w.events) < maxEvents {
		w.events[n.Payload] = w.event
	} else {
		w.all = w.event
	}
	w.wake()
}

// noticedAll makes everybody look.
func (w *waits) noticedAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event++
	w.all = w.event
	w.wake()
}

func (w *waits) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// wakeIn makes everybody look after d, unless that is to happen anyway: for jobs that a claim may have passed over.
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

// Wait returns nil when a job may have become due in one of the queues since the last call. While the server cannot be
// reached it returns an error.
func (s *Store) Wait(ctx context.Context, queues ...string) error {
	if err := s.wait(ctx, queues); err != nil {
		return fmt.Errorf("wait for jobs: %w", err)
	}
	return nil
}

func (s *Store) wait(ctx context.Context, queues []string) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	bound, cancel := context.WithTimeout(ctx, job.LongestWait)
	defer cancel()
	w := &s.waits
	key := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.take(key)
	defer func() { w.giveBack(key, told) }()
	for {
		switch {
		case s.closing.Load():
			return job.ErrClosed
		case ctx.Err() != nil:
			return ctx.Err()
		case w.news(queues, told) || bound.Err() != nil:
			told = w.event
			return nil
		}
		if w.listening {
			changed := w.changed
			w.mu.Unlock()
			select {
			case <-changed:
			case <-bound.Done():
			}
			w.mu.Lock()
			continue
		}
		if err := s.listen(bound); err != nil && bound.Err() == nil && !s.closing.Load() && !w.news(queues, told) {
			return err
		}
	}
}

// listen waits for one notice, or until ctx is canceled. It is called with the lock held.
func (s *Store) listen(ctx context.Context) error {
	w := &s.waits
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.listening, w.interrupt = true, cancel
	w.mu.Unlock()
	err := s.listenOnce(ctx)
	w.mu.Lock()
	w.listening, w.interrupt = false, nil
	w.wake()
	return err
}

// news reports whether something has happened in the queues that a caller was not told.
func (w *waits) news(queues []string, told uint64) bool {
	return w.all > told || slices.ContainsFunc(queues, func(q string) bool { return w.events[q] > told })
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
	i, _ := slices.BinarySearch(w.seen[key], told)
	w.seen[key] = slices.Insert(w.seen[key], i, told)
}

// reconnect makes the one that listens do so on a new connection.
func (w *waits) reconnect() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener.stale.Store(true)
	if w.interrupt != nil {
		w.interrupt()
	}
}

// close ends all waiting, and the connection.
func (w *waits) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.listening {
		w.interrupt()
		changed := w.changed
		w.mu.Unlock()
		<-changed
		w.mu.Lock()
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.wake()
	w.listener.close()
}
