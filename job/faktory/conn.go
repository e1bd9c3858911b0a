package faktory

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A conn is a connection of a client. Its commands are executed one after the other.
type conn struct {
	server *Server
	socket net.Conn
	lines  lineReader
	client *client // that the handshake named; nil for one that only enqueues
	work   context.Context
}

// handle serves a connection until it ends. Its errors concern nobody else.
func (s *Server) handle(ctx, work context.Context, socket net.Conn) {
	defer socket.Close()
	if tcp, ok := socket.(*net.TCPConn); ok {
		_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4})
	}
	var secure *tls.Conn
	if s.config.TLS != nil {
		secure = tls.Server(socket, s.config.TLS)
		defer secure.Close()
		socket = secure
	}
	c := &conn{server: s, socket: socket, work: work}
	c.lines = lineReader{socket: socket, buffer: bufio.NewReaderSize(socket, usualLine), large: s.large}
	if !s.enter(c) { // before the TLS handshake, in which the client may send nothing
		if secure == nil {
			_ = c.write(failed(&refusal{"ERR", "this server has too many connections"}))
		}
		return
	}
	defer s.leave(c)
	if secure != nil {
		if err := shakeHands(ctx, secure); err != nil {
			if ctx.Err() == nil {
				s.handshakes.Warn(s.config.Logger, "faktory: a TLS handshake failed", "address", socket.RemoteAddr().String(), "error", err)
			}
			return
		}
	}
	defer c.forget()
	if err := c.greet(ctx); err != nil {
		return
	}
	for c.next(ctx) {
	}
}

func shakeHands(ctx context.Context, secure *tls.Conn) error {
	within, cancel := context.WithTimeout(ctx, tlsTime)
	defer cancel()
	return secure.HandshakeContext(within)
}

// forget unregisters the connection from its client.
func (c *conn) forget() {
	if c.client != nil {
		c.server.clients.disconnect(c.client)
	}
}

// next executes a command, and reports whether there may be another.
func (c *conn) next(ctx context.Context) bool {
	if c.lines.idle() != nil {
		return false
	}
	begun := !c.lines.whole() // the rest has to come in time
	if begun && c.lines.readWithin(ctx, lineTime) != nil {
		return false
	}
	line, done, err := c.lines.line(ctx, MaxLine)
	defer done()
	if err != nil {
		if refused, ok := errors.AsType[*refusal](err); ok {
			_ = c.write(failed(refused))
			c.linger()
		}
		return false
	}
	if begun && c.socket.SetReadDeadline(time.Time{}) != nil || ctx.Err() != nil {
		return false
	}
	c.server.commands.Add(1)
	verb, args, _ := bytes.Cut(line, []byte(" "))
	if string(verb) == "END" {
		return false
	}
	answer, delivered := c.answer(ctx, string(verb), args)
	done() // the client may be slow to read the answer
	// A write to a connection that the client has closed while it waited for a job does not fail yet.
	if delivered != nil && c.ended(ctx) || c.write(answer) != nil {
		if delivered != nil {
			c.server.release(c.work, delivered)
		}
		return false
	}
	if delivered != nil {
		delivered.wire = nil
	}
	return true
}

// ended reports whether the client has closed the connection, as far as that is known by now. With TLS its end is a message, which has to be read.
func (c *conn) ended(ctx context.Context) bool {
	socket := socketOf(c.socket)
	closed, sent := gone(socket)
	if closed || !sent || socket == c.socket || c.lines.buffer.Buffered() > 0 || c.lines.readWithin(ctx, messageTime) != nil {
		return closed
	}
	_, err := c.lines.buffer.Peek(1)
	_ = c.socket.SetReadDeadline(time.Time{})
	if ctx.Err() != nil { // the server may have interrupted the connection before
		_ = c.socket.SetReadDeadline(time.Unix(1, 0))
	}
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

// socketOf returns the connection below TLS.
func socketOf(conn net.Conn) net.Conn {
	if secure, ok := conn.(*tls.Conn); ok {
		return secure.NetConn()
	}
	return conn
}

// linger reads a little of what the client still sends: if the connection is closed before, the last answer is dropped.
func (c *conn) linger() {
	if c.socket.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.socket, shortLine)
	}
}

// answer executes a command. delivered is the job that must be released if the answer does not reach the client.
func (c *conn) answer(ctx context.Context, verb string, args []byte) (r reply, delivered *reservation) {
	var err error
	if verb == "FETCH" {
		delivered, err = c.fetch(ctx, args)
		if err == nil && delivered == nil {
			return nothing, nil
		}
		if err == nil {
			return bulk(delivered.wire), delivered
		}
	} else if do := verbs[verb]; do != nil {
		within, cancel := context.WithTimeout(c.work, callTime)
		defer cancel()
		r, err = do(c, within, bytes.TrimSpace(args))
	} else {
		err = refuse("unknown command %.40q", verb)
	}
	if err == nil {
		return r, nil
	}
	if refused, ok := errors.AsType[*refusal](err); ok {
		return failed(refused), nil
	}
	if !errors.Is(err, job.ErrClosed) || ctx.Err() == nil {
		c.server.config.Logger.Warn("faktory: a command failed", "command", verb, "error", err)
	}
	return failed(&refusal{"ERR", "the store failed; the log of the server says why. Try again"}), nil
}

// verbs are the commands beside FETCH and END.
var verbs = map[string]func(c *conn, ctx context.Context, args []byte) (reply, error){
	"PUSH":   (*conn).push,
	"PUSHB":  (*conn).pushAll,
	"ACK":    (*conn).ack,
	"FAIL":   (*conn).fail,
	"BEAT":   (*conn).beat,
	"INFO":   (*conn).info,
	"FLUSH":  (*conn).flush,
	"QUEUE":  (*conn).queue,
	"MUTATE": (*conn).mutate,
	"TRACK":  (*conn).track,
	"BATCH":  (*conn).batch,
}

func (*conn) batch(context.Context, []byte) (reply, error) {
	return nil, refuse("BATCH: this server has no batches")
}
