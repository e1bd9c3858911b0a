package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// waits wakes those that wait for jobs. What a script publishes is an event of its queue, with a number. One connection, which the first
// caller of Wait makes, hears for all.
type waits struct {
	mu      sync.Mutex
	event   uint64
	all     uint64            // the last event that is one of every queue
	events  map[string]uint64 // the last event by queue
	changed chan struct{}     // closed with the next event

	// seen has, by their queues, the events up to which callers that are not waiting now have been told. A caller takes
	// the lowest: callers cannot be told apart, and one that is told twice is better than one that is not told.
	seen map[string][]uint64

	lost    <-chan error // of the connection; nil where there is none
	release func()       // gives the connection back
}

// maxEvents bounds how many queues are told apart; beyond them, an event is one of every queue.
const maxEvents = 10000

func (w *waits) setUp() {
	w.events, w.seen, w.changed = map[string]uint64{}, map[string][]uint64{}, make(chan struct{})
}

// noticed takes what a script published: the name of a queue. An empty one stands for all queues.
func (w *waits) noticed(queue string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.event++
	if _, known := w.events[queue]; queue != "" && (known || len(w.events) < maxEvents) {
		w.events[queue] = w.event
	} else {
		w.all = w.event
	}
	w.wake()
}

func (w *waits) wake() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// Wait returns nil when a job may have become due in one of the queues since the last call. While the server cannot be reached it
// returns an error.
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
	timer := time.NewTimer(job.LongestWait)
	defer timer.Stop()
	w := &s.waits
	key := strings.Join(slices.Sorted(slices.Values(queues)), "\n")
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.take(key)
	defer func() { w.giveBack(key, told) }()
	for {
		if err := s.listen(ctx); err != nil {
			return s.explain(ctx, err)
		}
		if w.news(queues, told) {
			told = w.event
			return nil
		}
		changed, lost := w.changed, w.lost
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
			return job.ErrClosed
		case over:
			return err
		}
	}
}

// listen makes the connection that hears of jobs, where there is none. It is called with the lock held.
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
		OnSubscription: func(rueidis.PubSubSubscription) { w.noticed("") }, // what came before was not heard
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

// unlisten gives a connection back that is lost.
func (s *Store) unlisten(lost <-chan error) {
	w := &s.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == lost && lost != nil {
		release := w.release
		w.lost, w.release = nil, nil
		w.wake()
		w.mu.Unlock()
		release()
		w.mu.Lock()
	}
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

// close ends all waiting.
func (w *waits) close() {
	w.mu.Lock()
	lost, release := w.lost, w.release
	w.lost, w.release = nil, nil
	w.wake()
	w.mu.Unlock()
	if lost != nil {
		release()
	}
}
