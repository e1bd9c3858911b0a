package detach

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"
)

// A Conn is the connection of a detached answer, which ends with it. One goroutine uses it; any may call Wake. The head of the answer is sent
// by the first Write.
type Conn struct {
	conn  net.Conn
	head  []byte // of the answer, until it was sent
	woken atomic.Bool
	ends  atomic.Bool // its ctx is canceled
}

// lastTime is for how long something may be sent when the ctx of an answer is canceled, to a client that does not receive.
const lastTime = time.Second

// hijack takes the connection from net/http, and returns nil where that cannot be. The buffers are left to the garbage collector: a client that
// has sent more than its request gets no answer to that.
func hijack(w http.ResponseWriter) *Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = w.Header().Write(&head) // a buffer takes everything
	head.WriteString("Date: " + time.Now().UTC().Format(http.TimeFormat) + "\r\nConnection: close\r\n\r\n")
	return &Conn{conn: conn, head: head.Bytes()}
}

// Write sends a part of the answer.
func (c *Conn) Write(b []byte) (int, error) {
	if c.head != nil {
		if _, err := c.conn.Write(c.head); err != nil {
			return 0, err
		}
		c.head = nil
	}
	return c.conn.Write(b)
}

// SetWriteDeadline sets when a Write that waits for the client fails: a second after the ctx is canceled if that is earlier.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	err := c.conn.SetWriteDeadline(t)
	if c.ends.Load() { // after the deadline of interrupt may have been replaced
		err = c.conn.SetWriteDeadline(time.Now().Add(lastTime))
	}
	return err
}

// interrupt is called when the ctx is canceled.
func (c *Conn) interrupt() {
	c.ends.Store(true)
	_ = c.conn.SetWriteDeadline(time.Now().Add(lastTime))
	c.Wake()
}

// Flush does nothing: nothing is kept back.
func (c *Conn) Flush() error { return nil }

// Wake has the Wait that runs, or the next one, return.
func (c *Conn) Wake() {
	if !c.woken.Swap(true) {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

var errMore = errors.New("the client sent more than a request")

// Wait returns nil at a time, or when Wake was called since the last one returned; it may do so earlier. It returns an error when the client
// has left, and when ctx is canceled.
func (c *Conn) Wait(ctx context.Context, until time.Time) error {
	_ = c.conn.SetReadDeadline(until) // before a Wake is looked for, whose deadline it may replace
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.woken.Swap(false) {
		return nil
	}
	var b [1]byte
	switch _, err := c.conn.Read(b[:]); {
	case err == nil:
		return errMore
	case !errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	c.woken.Store(false)
	return nil
}
