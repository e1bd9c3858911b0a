package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Load describes the messages to send.
type Load struct {
	Address     string // a port of this machine
	Format      Format
	Connections int    // at once
	Messages    int    // on all connections together
	Key         string // the key of Analogger
}

const (
	batchSize = 64 << 10 // bytes per write
	timeLimit = time.Minute
)

// each returns how many messages a connection sends; the first connections send the remainder.
func (l Load) each(conn int) int {
	n := l.Messages / l.Connections
	if conn < l.Messages%l.Connections {
		n++
	}
	return n
}

// Send sends all messages and closes the connections. It returns when they have been written to the sockets, or after a minute
// with an error.
func (l Load) Send(ctx context.Context) error {
	host, _, err := net.SplitHostPort(l.Address)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not an address of this machine, to which alone a load is sent", l.Address)
	}
	if l.Connections < 1 || l.Connections > mostConns || l.each(0) > mostEach {
		return fmt.Errorf("%d messages over %d connections do not fit into their numbers", l.Messages, l.Connections)
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for conn := range l.Connections {
			meanwhile.Go(ctx, func(ctx context.Context) error { return l.send(ctx, conn) }, meanwhile.Name("connection "+strconv.Itoa(conn)))
		}
		return nil
	}, meanwhile.Name("load"), meanwhile.Timeout(timeLimit))
}

// send sends the messages of one connection, from one buffer in which only the numbers change.
func (l Load) send(ctx context.Context, conn int) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", l.Address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if l.Format == Own {
		return l.sendOwn(ctx, c, conn)
	}
	frame, digits, err := l.Format.frame(conn)
	if err != nil {
		return err
	}
	if err := l.greet(c); err != nil {
		return err
	}
	var buffer []byte
	for len(buffer)+len(frame) <= batchSize {
		buffer = append(buffer, frame...)
	}
	for n, left := 0, l.each(conn); left > 0; {
		size := 0
		for ; size < len(buffer) && left > 0; left-- {
			number(buffer[size+digits-8:size+digits], n)
			n++
			size += len(frame)
		}
		if _, err := c.Write(buffer[:size]); err != nil {
			return fmt.Errorf("send message %d: %w", n, err)
		}
	}
	return c.(*net.TCPConn).CloseWrite()
}

// greet sends the handshake, if there is one, and waits for the answer.
func (l Load) greet(c net.Conn) error {
	if l.Format != Analogger {
		return nil
	}
	size := 8 + 3 + len("authentication") + len(l.Key)
	if _, err := fmt.Fprintf(c, "%04d%04d::authentication:%s", size, size, l.Key); err != nil {
		return err
	}
	const want = "accepted\n"
	answer := make([]byte, len(want))
	if n, err := io.ReadFull(c, answer); string(answer) != want {
		return fmt.Errorf("the server answers %q to the key: %v", answer[:n], err)
	}
	return nil
}

// number writes n with leading zeros.
func number(digits []byte, n int) {
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = byte('0' + n%10)
		n /= 10
	}
}
