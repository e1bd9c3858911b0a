package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
)

// An Acceptor keeps the batches that clients of the own protocol send. A [storage.Store] is one.
type Acceptor interface {
	// Append and Last are those of [storage.Store], except that Last may return a lower number: the client resends more then, and what is
	// known is left out. The batches have been checked, except for their services, and all of one call are of one client. Append keeps no
	// reference to their data after it has returned. Records of a service with an invalid name should be stored under the name that
	// [logs.RepairService] returns: the Acceptor of a [Server] does so, a Store on its own returns an error.
	Append(ctx context.Context, batches ...*logs.Batch) error
	Last(ctx context.Context, client logs.Client) (uint64, error)
}

// A SessionConfig configures [Sessions]. The zero value works, and accepts every client.
type SessionConfig struct {
	Keys         []string             // a client has to send one of them; empty: clients need no key
	HelloTimeout time.Duration        // the time for the hello of a client; default 10 s
	IdleTimeout  time.Duration        // the longest time between two frames, before which clients send a ping; default 5 min
	FrameTimeout time.Duration        // the time for the rest of a frame that has begun, and for sending one; default 1 min
	Grace        time.Duration        // the time to append what was read, after ctx is canceled; default 5 s
	Pending      int                  // bytes of one connection's records that wait to be appended, above which it is not read; default 1 MiB
	Memory       *meanwhile.Semaphore // bytes of the records of all connections at once; default 64 MiB, and it must be at least 4 MiB
}

func (c SessionConfig) withDefaults() SessionConfig {
	c.HelloTimeout = cmp.Or(c.HelloTimeout, 10*time.Second)
	c.IdleTimeout = cmp.Or(c.IdleTimeout, 5*time.Minute)
	c.FrameTimeout = cmp.Or(c.FrameTimeout, time.Minute)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	c.Pending = cmp.Or(c.Pending, 1<<20)
	if c.Memory == nil {
		c.Memory = meanwhile.NewSemaphore(64 << 20)
	}
	return c
}

// ErrHandOver is the cause by which a cancellation of [Sessions.Serve] asks for the rest of the connection.
var ErrHandOver = errors.New("the connection goes to another process")

// Sessions is the server's half of the own protocol, which docs/logs-protocol.md describes. Methods may be called concurrently.
type Sessions struct {
	acceptor Acceptor
	c        SessionConfig
	keys     [][sha256.Size]byte

	decompressor func() *zstd.Decoder // made when it is first needed; it may be used concurrently

	mu     sync.Mutex
	active map[logs.Client]*session // the newest session of each client
}

// NewSessions returns sessions that append what clients send to a.
func NewSessions(a Acceptor, c SessionConfig) *Sessions {
	s := &Sessions{acceptor: a, c: c.withDefaults(), active: map[logs.Client]*session{}, decompressor: sync.OnceValue(logwire.NewDecompressor)}
	for _, key := range c.Keys {
		s.keys = append(s.keys, sha256.Sum256([]byte(key)))
	}
	return s
}

// Serve receives what one client sends until the client ends the connection, for which it returns nil, or breaks the protocol, or
// ctx is canceled; after that it keeps and acknowledges what it has read, within the grace. It does not close conn. A
// [*logs.Refusal] is what was sent to the client.
//
// If the cause of the cancellation is [ErrHandOver], the connection can continue: Serve returns what the next process must pass
// to its Serve as state, with the connection. A new connection has no state. The state is as secret as a key.
func (s *Sessions) Serve(ctx context.Context, conn net.Conn, state []byte) (handover []byte, err error) {
	c := newSession(s, conn)
	if err := c.restore(state); err != nil {
		return nil, err
	}
	err = meanwhile.Shield(ctx, s.c.Grace, func(shielded context.Context) error {
		stop := context.AfterFunc(ctx, func() { c.stop(context.Cause(ctx)) })
		defer stop()
		defer s.leave(c)
		return c.serve(shielded)
	}, meanwhile.Name("session"))
	if err == nil && errors.Is(c.stopped(), ErrHandOver) {
		return c.state(), nil
	}
	return nil, err
}

// allowed reports whether a key is valid, in constant time.
func (s *Sessions) allowed(key string) bool {
	sum, found := sha256.Sum256([]byte(key)), len(s.keys) == 0
	for i := range s.keys {
		if subtle.ConstantTimeCompare(sum[:], s.keys[i][:]) == 1 {
			found = true
		}
	}
	return found
}

// enter makes c the session of its client, and waits until earlier ones append nothing any more, so that the number that the client gets
// includes what they have appended, and the order is kept. A session that waits gives up when the next one comes, so at most one of a
// client waits, however long an Append takes.
func (s *Sessions) enter(ctx context.Context, c *session) error {
	if c.client == (logs.Client{}) {
		return nil
	}
	s.mu.Lock()
	before := s.active[c.client]
	s.active[c.client] = c
	s.mu.Unlock()
	if before != nil {
		before.stop(&logs.Refusal{Code: logs.RefusedSuperseded, Text: "this client has opened another connection"})
		close(before.passed)
	}
	passed := c.passed
	for before != nil {
		select {
		case <-before.over:
			before = before.behind
		case <-passed:
			if passed = nil; !errors.Is(c.stopped(), ErrHandOver) { // a session to be handed over is welcomed first
				c.behind = before
				return c.stopped()
			}
		case <-ctx.Done():
			c.behind = before
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *Sessions) leave(c *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active[c.client] == c {
		delete(s.active, c.client)
	}
}
