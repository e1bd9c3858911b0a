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

// A Conn is the connection of a detached answer, and is closed when the answer is over. One goroutine uses it; Wake may be called concurrently. The
// first Write sends the head of the answer.
type Conn struct {
	conn  net.Conn
	head  []byte // of the answer, until it is sent
	woken atomic.Bool
	ends  atomic.Bool // its ctx is canceled
}

// lastTime is how long an answer may still send after its ctx is canceled, to a client that does not receive.
const lastTime = time.Second

// hijack takes over the connection from net/http. It returns nil if that is impossible. It drops the buffers: what a client has sent after its
// request is not answered.
func hijack(w http.ResponseWriter) *Conn {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil
	}
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = w.Header().Write(&head) // writing to a buffer cannot fail
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

// SetWriteDeadline sets when a Write that waits for the client fails: at most a second after the ctx is canceled.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	err := c.conn.SetWriteDeadline(t)
	if c.ends.Load() { // this may have replaced the deadline that interrupt set
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

// Flush does nothing: nothing is buffered.
func (c *Conn) Flush() error { return nil }

// Wake makes the current Wait, or the next one, return.
func (c *Conn) Wake() {
	if !c.woken.Swap(true) {
		_ = c.conn.SetReadDeadline(time.Unix(1, 0))
	}
}

var errMore = errors.New("the client sent more than a request")

// Wait returns nil at the time until, or when Wake was called since the last Wait returned; it may return earlier. It returns an error when the
// client has disconnected, or ctx is canceled.
func (c *Conn) Wait(ctx context.Context, until time.Time) error {
	_ = c.conn.SetReadDeadline(until) // before checking for a Wake, whose deadline this may replace
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
