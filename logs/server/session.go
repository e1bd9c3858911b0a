package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/cond"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A session is one connection of a client of the own protocol. One task reads batches, another one appends and acknowledges them, so that
// reading continues during a write to disk, and one sync is for all batches that arrived in the meantime.
type session struct {
	s      *Sessions
	in     *logwire.Reader
	passed chan struct{} // closed when the next connection of its client supersedes this one
	over   chan struct{} // closed when it appends nothing more
	behind *session      // the session of the same client that it has not waited for when it ends; nil for none

	begun   bool // whether the magic was read
	greeted bool // whether the hello was answered
	client  logs.Client
	last    uint64 // of the data frames read

	writing sync.Mutex // held while a frame is sent
	conn    net.Conn

	mu      sync.Mutex
	why     error         // why it has to stop; nil while it does not
	failed  error         // why nothing is appended any more; nil while batches are
	pending []pending     // batches that were read and not appended yet
	size    int           // the bytes of their records
	ended   bool          // whether nothing more is added to pending
	more    chan struct{} // has a value after pending or ended has changed
	less    chan struct{} // has a value after size has decreased or failed was set
}

// A pending batch waits to be appended.
type pending struct {
	batch logs.Batch
	buf   []byte // the buffer with its data, which goes back to the pool
	held  int    // bytes acquired from SessionConfig.Memory
}

func newSession(s *Sessions, conn net.Conn) *session {
	return &session{
		s: s, conn: conn, in: logwire.NewReader(conn), passed: make(chan struct{}), over: make(chan struct{}),
		more: make(chan struct{}, 1), less: make(chan struct{}, 1),
	}
}

// stop makes reading end, also while it waits for data. A batch that waits for memory is still kept.
func (c *session) stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

func (c *session) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// allow sets the deadline of the next read, unless the session has to stop.
func (c *session) allow(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return c.why
	}
	return c.conn.SetReadDeadline(time.Now().Add(d))
}

func (c *session) serve(ctx context.Context) error {
	err := c.work(ctx)
	close(c.over)
	return c.refuse(err)
}

func (c *session) work(ctx context.Context) error {
	if !c.greeted {
		if err := c.greet(ctx); err != nil {
			return c.because(err)
		}
	} else if err := c.s.enter(ctx, c); err != nil {
		return err
	}
	keeping := meanwhile.Async(ctx, func(ctx context.Context) (failed, _ error) {
		if failed = c.keep(ctx); failed != nil {
			c.fail(failed)
		}
		return failed, nil // as a result: a failure would cancel the scope, and the client would get no refusal
	}, meanwhile.Name("keep"))
	err := c.read(ctx)
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	cond.Signal(c.more)
	if failed, _ := keeping.Wait(context.WithoutCancel(ctx)); failed != nil {
		return failed
	}
	return err
}

// greet reads the hello and answers with the welcome.
func (c *session) greet(ctx context.Context) error {
	if err := c.allow(c.s.c.HelloTimeout); err != nil {
		return err
	}
	if err := c.in.ReadMagic(); err != nil {
		return err
	}
	c.begun = true
	h, err := c.in.ReadHello()
	if err != nil {
		return err
	}
	if !c.s.allowed(h.Key) {
		return &logs.Refusal{Code: logs.RefusedKey, Text: "the key is wrong or missing"}
	}
	c.client = h.Client
	if err := c.s.enter(ctx, c); err != nil {
		return err
	}
	var last uint64
	if c.client != (logs.Client{}) {
		if last, err = c.s.acceptor.Last(ctx, c.client); err != nil {
			return &unavailable{err}
		}
	}
	c.greeted = true
	return c.send(logwire.Welcome{Last: last, Compressions: 1 << logwire.CompressZstd}.Append(nil))
}

// read reads frames until the client's bye. It returns an error if the session has to stop before that.
func (c *session) read(ctx context.Context) error {
	for {
		if err := c.allow(c.s.c.IdleTimeout); err != nil {
			return err
		}
		f, err := c.in.Next(func() error { return c.allow(c.s.c.FrameTimeout) })
		if err != nil {
			return c.because(err)
		}
		switch f.Kind {
		case logwire.KindData:
			if err := c.addBatch(ctx, f); err != nil {
				return err
			}
			continue
		case logwire.KindPing:
			n, err := logwire.ParseNumber(f.Body)
			if err == nil {
				err = c.send(logwire.AppendNumber(nil, logwire.KindPong, n))
			}
			if err != nil {
				return err
			}
		case logwire.KindBye:
			return nil
		default:
			return logwire.ErrBody
		}
		logwire.GiveBuffer(f.Room)
	}
}

// because returns the error of a read, or why the session has to stop if that made the read fail.
func (c *session) because(err error) error {
	if why := c.stopped(); why != nil {
		return why
	}
	if errors.Is(err, io.EOF) { // between frames
		return nil
	}
	return err
}

// send sends a frame.
func (c *session) send(frame []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.s.c.FrameTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write(frame)
	return err
}

// An unavailable error is an error of the server, such as a full disk. The client does not see its details.
type unavailable struct{ err error }

func (u *unavailable) Error() string { return u.err.Error() }
func (u *unavailable) Unwrap() error { return u.err }

// refuse sends the client a refusal for an error, unless the client has ended the connection or it is handed over, and returns the error.
func (c *session) refuse(err error) error {
	if err == nil || errors.Is(err, ErrHandOver) {
		return nil
	}
	var refusal *logs.Refusal
	switch why := c.stopped(); {
	case errors.As(err, &refusal):
	case errors.As(err, new(*unavailable)):
		refusal = &logs.Refusal{Code: logs.RefusedUnavailable, Text: "the records cannot be kept at present"}
	case errors.Is(err, logwire.ErrVersion):
		refusal = &logs.Refusal{Code: logs.RefusedVersion, Text: "this is not the protocol in a version that is spoken here"}
	case logwire.IsFrameError(err):
		refusal = &logs.Refusal{Code: logs.RefusedFrame, Text: err.Error()}
	case why != nil:
		refusal = &logs.Refusal{Code: logs.RefusedLeaving, Text: "the server ends"}
	default:
		return err // of the network
	}
	if c.send(logwire.AppendRefusal(nil, byte(refusal.Code), refusal.Text)) == nil {
		c.drain()
	}
	return err
}

// drain reads what is still arriving, for a moment: closing a connection with unread input resets it, and the client would lose the refusal.
func (c *session) drain() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, c.conn, 4*logs.MaxBatch)
}
