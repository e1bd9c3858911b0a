package redis

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/redis/rueidis"

	"github.com/meanwhile-go/meanwhile/job"
)

// A client is a connection to a server that has passed the check.
type client struct{ rueidis.Client }

// A making is an attempt to connect. All calls that need a client wait for it.
type making struct {
	done   chan struct{} // closed when the attempt ends
	client *client
	err    error
}

// connected returns the client. If there is none, the first call starts to connect, and all calls share the result. Each waits no longer than its ctx
// allows.
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
		go s.make(m) // not in a task of this call: other calls wait for it even if the ctx of this one ends
	}
	s.mu.Unlock()
	select {
	case <-m.done:
		return m.client, m.err
	case <-ctx.Done():
		return nil, fmt.Errorf("connect to Redis at %s: %w", s.place.shown, ctx.Err())
	}
}

// make connects, within the timeouts of connect and of a call.
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
	if errors.Is(err, io.EOF) && !s.place.tls {
		err = fmt.Errorf("what listens there closed the connection without a response: it is no Redis, or one with TLS, for which the URL begins with rediss: (%w)", err)
	}
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

// stopMaking ends the wait for a connection when the store is closed. The client is closed once it is made.
func (s *Store) stopMaking() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making != nil {
		s.making.err = job.ErrClosed
		close(s.making.done)
		s.making = nil
	}
}

// reconnect makes the next call connect anew, since after a failover the address may lead to another server. Running calls on the client fail.
func (s *Store) reconnect(c *client) {
	if s.client.CompareAndSwap(c, nil) {
		c.Close()
		s.waits.leave(c)
	}
}
