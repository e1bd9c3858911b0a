package linefile

import (
	"bytes"
	"context"
	"io"
	"net"
	"time"
)

const (
	socketDial  = 5 * time.Second
	socketWrite = 30 * time.Second
)

// A writerTarget writes lines to a writer that was opened elsewhere, such as standard output.
type writerTarget struct{ w io.Writer }

func (t writerTarget) write(_ context.Context, lines []byte, _ []Received) (int, error) {
	return t.w.Write(lines)
}
func (t writerTarget) sync() error  { return nil }
func (t writerTarget) close() error { return nil }

// NewWriter returns a target for a writer, which it does not close.
func NewWriter(w io.Writer) Target { return writerTarget{w} }

// NewSocket returns a target for a connection to host:port.
func NewSocket(address string) Target { return &socketTarget{address: address} }

// A socketTarget writes lines to a connection, which it reopens when it breaks. A line that was written in part is written again as a
// whole. What was in the buffers of a broken connection is lost, since the peer does not acknowledge lines.
type socketTarget struct {
	address string
	conn    net.Conn
}

func (t *socketTarget) write(ctx context.Context, lines []byte, _ []Received) (n int, err error) {
	if t.conn != nil && hungUp(t.conn) {
		_ = t.close()
	}
	if t.conn == nil {
		dialer := net.Dialer{Timeout: socketDial}
		if t.conn, err = dialer.DialContext(ctx, "tcp", t.address); err != nil {
			t.conn = nil
			return 0, err
		}
	}
	if err := t.conn.SetWriteDeadline(time.Now().Add(socketWrite)); err != nil {
		_ = t.close()
		return 0, err
	}
	if n, err = t.conn.Write(lines); err != nil {
		_ = t.close()
		n = bytes.LastIndexByte(lines[:n], '\n') + 1
	}
	return n, err
}

func (t *socketTarget) sync() error { return nil }

func (t *socketTarget) close() error {
	if t.conn == nil {
		return nil
	}
	conn := t.conn
	t.conn = nil
	return conn.Close()
}
