package redis

import (
	"context"
	"fmt"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// A client is a connection to a server that has passed the check.
type client struct{ rueidis.Client }

// A making is the attempt to make a client, which all calls wait for that need one meanwhile.
type making struct {
	done   chan struct{} // closed at its end
	client *client
	err    error
}

// connected returns the client. Where there is none the first call has one made, and all share what becomes of it; each waits no longer than its
// ctx lets it.
func (s *Store) connected(ctx context.Context) (*client, error) {
	if c := s.client.Load(); c != nil {
		return c, nil
	}
	s.mu.Lock()
	c, m := s.client.Load(), s.making
	if c != nil || s.closing.Load() {
		s.mu.Unlock()
		if c == nil {
			return nil, job.ErrClosed
		}
		return c, nil
	}
	if m == nil {
		m = &making{done: make(chan struct{})}
		s.making = m
		go s.make(m) // outside of a task: others wait for it when the ctx of this call has ended
	}
	s.mu.Unlock()
	select {
	case <-m.done:
		return m.client, m.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to Redis at %s: %w", s.place.shown, ctx.Err())
	}
}

// make makes a client, within the times that connect gives it and that of a call.
func (s *Store) make(m *making) {
	c, err := s.dial()
	s.mu.Lock()
	current := s.making == m
	if current {
		s.making = nil
		if m.client, m.err = c, err; err == nil {
			s.client.Store(c)
		}
		close(m.done)
	}
	s.mu.Unlock()
	if !current && err == nil {
		c.Close()
	}
}

func (s *Store) dial() (*client, error) {
	made, err := s.place.connect()
	if err != nil {
		return nil, fmt.Errorf("connect to Redis at %s: %w", s.place.shown, err)
	}
	c := &client{made}
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.check(ctx, c); err != nil {
		made.Close()
		return nil, err
	}
	return c, nil
}

// stopMaking ends the wait for a client that is being made, when the store is closed: it is closed as well.
func (s *Store) stopMaking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making != nil {
		s.making.err = job.ErrClosed
		close(s.making.done)
		s.making = nil
	}
}

// reconnect has the next call connect anew: after a failover the address may lead elsewhere. Calls under way on the client fail.
func (s *Store) reconnect(c *client) {
	if s.client.CompareAndSwap(c, nil) {
		c.Close()
	}
}
