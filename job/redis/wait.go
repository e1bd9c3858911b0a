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
	mu       sync.Mutex
	events   wakeup.Events
	listener *listener // nil if there is none
}

// A listener is the connection that receives messages, or the attempt to make it. All callers of Wait share it.
type listener struct {
	done   chan struct{} // closed when the attempt ends; the fields below are set by then
	err    error         // why there is no connection
	client *client       // to whose server the connection is
	lost   <-chan error  // the end of the connection
	close  func()
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
	timer := time.NewTimer(job.LongestWait)
	defer timer.Stop()
	w := &s.waits
	waiter := w.begin(queues)
	defer w.end(waiter)
	for {
		l, err := s.listening(ctx)
		if err != nil {
			return nil, s.explain(ctx, err)
		}
		due, changed := w.news(waiter)
		if len(due) > 0 {
			return due, nil
		}
		select {
		case <-changed:
		case <-l.lost:
			w.drop(l)
		case <-timer.C:
			return queues, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *waits) begin(queues []string) *wakeup.Waiter {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.events.Wait(queues)
}

func (w *waits) end(waiter *wakeup.Waiter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	waiter.End()
}

// news returns the queues in which there is news for a waiter, and a channel that is closed when it should ask again.
func (w *waits) news(waiter *wakeup.Waiter) (due []string, changed <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return waiter.News(), w.events.Changed()
}

// listening returns the listener. If there is none, the first call starts to make it, and all calls share the result. Each waits no longer than its ctx
// allows.
func (s *Store) listening(ctx context.Context) (*listener, error) {
	w := &s.waits
	w.mu.Lock()
	if s.closing.Load() {
		w.mu.Unlock()
		return nil, job.ErrClosed
	}
	l := w.listener
	if l == nil {
		l = &listener{done: make(chan struct{})}
		w.listener = l
		go s.listen(l) // not in a task of this call: other calls wait for it even if the ctx of this one ends
	}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, job.LongestWait)
	defer cancel()
	select {
	case <-l.done:
		return l, l.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to Redis at %s: %w", s.place.shown, ctx.Err())
	}
}

// listen makes the connection of a listener, within the timeouts of connect and of a call.
func (s *Store) listen(l *listener) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	var lost <-chan error
	var end func()
	c, err := s.connected(ctx)
	if err == nil {
		lost, end, err = s.subscribe(ctx, c)
	}
	w := &s.waits
	w.mu.Lock()
	current := w.listener == l
	if current {
		if err != nil {
			w.listener = nil
		}
		l.client, l.lost, l.close, l.err = c, lost, end, err
		close(l.done)
	}
	w.mu.Unlock()
	switch {
	case err != nil:
	case !current:
		end()
	case s.client.Load() != c: // the store has left this server meanwhile
		w.drop(l)
	}
}

// subscribe returns a channel that receives the end of the connection, and a function that closes it.
func (s *Store) subscribe(ctx context.Context, c *client) (lost <-chan error, end func(), err error) {
	w := &s.waits
	conn, _ := c.Dedicate() // dials, regardless of any ctx
	lost = conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage:      func(m rueidis.PubSubMessage) { w.noticed(m.Message) },
		OnSubscription: func(rueidis.PubSubSubscription) { w.noticed("") }, // messages before this may have been missed
	})
	if err := conn.Do(ctx, conn.B().Subscribe().Channel(s.prefix+"wake").Build()).Error(); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return lost, conn.Close, nil
}

// leave closes the connection to the server of a client that is not used any more.
func (w *waits) leave(c *client) {
	w.mu.Lock()
	l := w.listener
	w.mu.Unlock()
	if l == nil {
		return
	}
	select {
	case <-l.done:
		if l.client == c {
			w.drop(l)
		}
	default: // listen will notice
	}
}

// drop closes a connection that is lost or not used any more.
func (w *waits) drop(l *listener) {
	w.mu.Lock()
	current := w.listener == l
	if current {
		w.listener = nil
		w.events.Wake()
	}
	w.mu.Unlock()
	if current {
		l.close()
	}
}

// stop ends all waits. A connection that is being made is closed once it is made.
func (w *waits) stop() {
	w.mu.Lock()
	l := w.listener
	w.listener = nil
	w.events.Wake()
	made := false
	if l != nil {
		select {
		case <-l.done:
			made = true
		default:
			l.err = job.ErrClosed
			close(l.done)
		}
	}
	w.mu.Unlock()
	if made {
		l.close()
	}
}
