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

// A session is one connection of a client. One task reads, another appends what has gathered and acknowledges it, so that
// reading goes on while the disk is written and one sync serves all that came meanwhile.
type session struct {
	s      *Sessions
	in     *logwire.Reader
	passed chan struct{} // closed when the next connection of its client has come
	over   chan struct{} // closed when nothing more is kept
	behind *session      // the one that it has not waited for, when it is over; nil for none

	begun   bool // the magic was taken
	greeted bool // and the hello answered
	client  logs.Client
	last    uint64 // of the data frames read

	writing sync.Mutex // held while a frame is sent
	conn    net.Conn

	mu      sync.Mutex
	why     error         // why it is to stop; nil while it is not
	pending []pending     // read, not yet appended
	size    int           // of their records
	ended   bool          // nothing is added to pending
	more    chan struct{} // has a value when pending or ended changed
	less    chan struct{} // has one when size became less
}

// A pending batch is one that waits to be kept.
type pending struct {
	batch logs.Batch
	buf   []byte // its data lies in, to be given back
	held  int    // of the memory of all
}

func newSession(s *Sessions, conn net.Conn) *session {
	return &session{
		s: s, conn: conn, in: logwire.NewReader(conn), passed: make(chan struct{}), over: make(chan struct{}),
		more: make(chan struct{}, 1), less: make(chan struct{}, 1),
	}
}

// stop ends the reading, whatever it waits for.
func (c *session) stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
		_ = c.conn.SetReadDeadline(time.Unix(1, 0))
		cond.Signal(c.less)
	}
}

func (c *session) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// allow sets the time by which the next read must be done, unless the session is to stop.
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
		return c.keep(ctx), nil // as a result: a failure would cancel the scope, and nobody could be told of it
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

// greet takes the hello and answers it.
func (c *session) greet(ctx context.Context) error {
	if err := c.allow(c.s.c.HelloTimeout); err != nil {
		return err
	}
	if err := c.in.ReadMagic(); err != nil {
		return err
	}
	c.begun = true
	f, err := c.in.Next(nil)
	if err != nil {
		return err
	}
	defer logwire.GiveBuffer(f.Room)
	var h logwire.Hello
	if f.Kind != logwire.KindHello {
		return logwire.ErrBody
	} else if err := h.Parse(f.Body); err != nil {
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

// read takes frames until the client says bye or the session is to stop, which is an error.
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
			if err := c.take(ctx, f); err != nil {
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

// because returns why the session is to stop, when that is what made a read fail.
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

// An unavailable error is trouble of the server's own, which is reported to the client without its details.
type unavailable struct{ err error }

func (u *unavailable) Error() string { return u.err.Error() }
func (u *unavailable) Unwrap() error { return u.err }

// refuse tells the client why the connection ends, unless it has ended it or goes on elsewhere, and returns the error.
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

// drain reads what is on the way, for a moment, because closing with unread input would take the refusal from the client.
func (c *session) drain() {
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.CopyN(io.Discard, c.conn, 4*logs.MaxBatch)
}
