package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/input"
)

const (
	readRoom       = 64 << 10 // a read
	tlsRoom        = 8 << 10
	replyTime      = 10 * time.Second
	quietTime      = 10 * time.Millisecond // of a read at the end of the server, after which it counts as quiet
	mostQuietReads = 2                     // quiet reads in a row after which a connection is drained. With one, its time may be over before it begins
	drainTime      = 2 * time.Second       // the longest time to drain a connection
	deadlineGrain  = time.Second
	waiterTime     = 200 * time.Millisecond // without a byte, after which Waiter.Quiet is called
)

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readRoom); return &b }}

// A connection is a connection of a Protocol. While it is idle it has no buffer, unless it has read the beginning of a frame.
type connection struct {
	s       *Server
	l       *Listener
	conn    net.Conn
	raw     syscall.RawConn // reads without a buffer while nothing arrives; nil: conn reads
	origin  string
	parser  input.Parser
	batcher *batcher
	rest    []byte       // the beginning of a frame
	waiter  input.Waiter // the parser, while it waits to see what follows

	buf     *[]byte // the buffer; nil while it is idle
	filled  int
	readErr error
	tryRead func(fd uintptr) bool

	deadline   time.Time // the read deadline that is set
	lastRead   time.Time // when the last byte was read; only kept if there is an idle time
	frameFrom  time.Time // when the frame in rest began; zero while rest is empty
	drainTill  time.Time // when draining ends; zero until the server ends
	quietReads int       // quiet reads in a row since then
}

func (s *Server) newConnection(l *Listener, h HandoverConn) *connection {
	c := &connection{
		s: s, l: l, conn: h.Conn, origin: h.Origin, rest: h.Rest,
		parser: l.Protocol.Parser(h.Origin, h.State), batcher: &batcher{s: s, counts: s.inputCounts(l.Name)},
	}
	c.lastRead = time.Now()
	if len(c.rest) > 0 {
		c.frameFrom = c.lastRead
		c.waiter, _ = c.parser.(input.Waiter) // it may have waited in the process before
	}
	c.prepare()
	return c
}

// run receives records until the peer closes the connection or violates the protocol, or the server ends.
func (c *connection) run(ctx context.Context) {
	defer c.put()
	handedOver := false
	defer func() {
		if !handedOver {
			_ = c.conn.Close()
		}
	}()
	for {
		if c.s.handingOver.Load() && c.canHandOver() {
			c.s.handOver(HandoverConn{Conn: c.conn, Listener: c.l.Name, Origin: c.origin, State: c.parser.State(), Rest: c.rest})
			handedOver = true
			return
		}
		c.setDeadline()
		data, err := c.read()
		if len(data) > len(c.rest) {
			c.quietReads = 0
		}
		if len(data) > 0 && !c.parse(ctx, data) {
			return
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if !c.late(ctx) {
				return
			}
		default:
			c.finish(ctx, err)
			return
		}
	}
}

// parse parses what was read, and reports whether the connection continues.
func (c *connection) parse(ctx context.Context, data []byte) bool {
	if c.s.config.IdleTime > 0 {
		c.lastRead = time.Now()
	}
	var wrong error
	var reply []byte
	before := len(data)
	for len(data) > 0 {
		taken, more, err := c.parser.Parse(data, c.batcher)
		data = data[taken:]
		reply = append(reply, more...)
		if wrong = err; err != nil || taken == 0 {
			break
		}
	}
	if err := c.batcher.Flush(ctx); err != nil {
		return false // the server ends, and its outputs have logged what they lose
	}
	if len(reply) > 0 && !c.reply(reply) {
		return false
	}
	if wrong != nil {
		c.s.logLimited("logs: a connection is closed", c.l.Name, c.origin, wrong)
		return false
	}
	if len(data) >= c.s.config.MaxFrame {
		c.batcher.Refuse("too long")
		c.s.logLimited("logs: a connection is closed", c.l.Name, c.origin, errors.New("a frame is longer than there is room for"))
		return false
	}
	switch {
	case len(data) == 0:
		c.frameFrom = time.Time{}
		if cap(c.rest) > 4<<10 {
			c.rest = nil
		}
	case len(data) < before || c.frameFrom.IsZero():
		if now := time.Now(); now.Sub(c.frameFrom) > deadlineGrain || len(c.rest) == 0 {
			c.frameFrom = now
		}
	}
	c.rest = append(c.rest[:0], data...)
	if c.waiter, _ = c.parser.(input.Waiter); c.waiter != nil && !c.waiter.Waits() {
		c.waiter = nil
	}
	c.put()
	return true
}

func (c *connection) reply(text []byte) bool {
	if c.conn.SetWriteDeadline(time.Now().Add(replyTime)) != nil {
		return false
	}
	_, err := c.conn.Write(text)
	return err == nil
}

// due returns when the connection exceeds its idle time or the time for a frame; zero for never.
func (c *connection) due() time.Time {
	switch conf := &c.s.config; {
	case !c.frameFrom.IsZero():
		return c.frameFrom.Add(conf.FrameTime)
	case conf.IdleTime > 0:
		return c.lastRead.Add(conf.IdleTime)
	}
	return time.Time{}
}

// setDeadline makes the next read end when the connection is due, or earlier. Setting a deadline costs a lock, so an earlier one is left.
func (c *connection) setDeadline() {
	if !c.drainTill.IsZero() {
		_ = c.conn.SetReadDeadline(time.Now().Add(quietTime))
		return
	}
	if c.waiter != nil {
		c.setRead(time.Now().Add(waiterTime))
		return
	}
	due := c.due()
	if due.IsZero() || !c.deadline.IsZero() && c.deadline.Sub(due) < deadlineGrain {
		return
	}
	c.setRead(due)
}

func (c *connection) setRead(deadline time.Time) {
	c.deadline = deadline
	_ = c.conn.SetReadDeadline(deadline)
	// At its end the server interrupts reads by a deadline, which this one must not replace.
	if c.s.ends() {
		_ = c.conn.SetReadDeadline(longAgo)
	}
}

// Deadlines: one that has passed, and none.
var longAgo, noDeadline = time.Unix(1, 0), time.Time{}

// late is called when nothing arrived before the deadline. It reports whether the connection continues.
func (c *connection) late(ctx context.Context) bool {
	now := time.Now()
	if c.s.ends() {
		switch {
		case c.s.handingOver.Load() && c.canHandOver():
			return true
		case c.drainTill.IsZero():
			c.drainTill = now.Add(drainTime)
			return true
		}
		if c.quietReads++; c.quietReads < mostQuietReads {
			return true
		}
		c.finish(ctx, io.EOF)
		return false
	}
	if c.waiter != nil {
		c.waiter.Quiet()
		return c.parse(ctx, c.rest)
	}
	if due := c.due(); due.IsZero() || due.After(now) {
		c.setRead(due)
		return true
	}
	if !c.frameFrom.IsZero() {
		c.batcher.Refuse("half a frame in time")
	} else {
		c.batcher.Refuse("idle")
	}
	c.finish(ctx, io.EOF)
	return false
}

// finish parses what is left when the peer has closed the connection, or it is drained.
func (c *connection) finish(ctx context.Context, err error) {
	if len(c.rest) > 0 {
		c.parser.End(c.rest, c.batcher)
		_ = c.batcher.Flush(ctx)
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, net.ErrClosed) {
		c.s.logLimited("logs: a connection broke", c.l.Name, c.origin, err)
	}
}

// read waits for data, without a buffer where it can, and returns the rest of the last read with the data behind it.
func (c *connection) read() ([]byte, error) {
	if !c.drainTill.IsZero() && time.Now().After(c.drainTill) {
		return nil, io.EOF
	}
	if c.raw == nil {
		c.get()
		n, err := c.conn.Read((*c.buf)[len(c.rest):])
		return (*c.buf)[:len(c.rest)+n], unlessMore(n, err)
	}
	c.filled, c.readErr = 0, nil
	if err := c.raw.Read(c.tryRead); err != nil {
		return nil, err
	}
	if c.buf == nil {
		return nil, c.readErr
	}
	return (*c.buf)[:c.filled], c.readErr
}

// unlessMore returns no error if there is data before it: the next read returns the error again.
func unlessMore(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

// get gets a buffer that begins with the rest of the last read.
func (c *connection) get() {
	if c.buf == nil {
		size := readRoom
		if c.raw == nil {
			size = tlsRoom
		}
		if need := 2 * len(c.rest); need > size || size != readRoom {
			b := make([]byte, min(max(need, size), max(c.s.config.MaxFrame, size)+1))
			c.buf = &b
		} else {
			c.buf = readBuffers.Get().(*[]byte)
		}
	}
	copy(*c.buf, c.rest)
}

// put returns the buffer to its pool, and keeps the rest.
func (c *connection) put() {
	if c.buf == nil || c.raw == nil && len(*c.buf) == tlsRoom && len(c.rest) < tlsRoom/2 {
		return // without raw, the next read needs it while it waits
	}
	if len(*c.buf) == readRoom {
		readBuffers.Put(c.buf)
	}
	c.buf = nil
}
