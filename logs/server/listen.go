package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/logwire"
	"github.com/meanwhile-go/meanwhile/logs"
)

// An openListener is a listener whose address is open.
type openListener struct {
	*Listener
	stream net.Listener
	packet net.PacketConn
}

// open opens all addresses, or none.
func (s *Server) open() (all []*openListener, err error) {
	for i := range s.config.Listeners {
		l := &openListener{Listener: &s.config.Listeners[i]}
		if l.network() == "udp" {
			l.packet, err = s.config.ListenPacket(l.Listener)
		} else {
			l.stream, err = s.config.Listen(l.Listener)
		}
		if err != nil {
			for _, l := range all {
				l.close()
			}
			if op, ok := errors.AsType[*net.OpError](err); ok {
				err = op.Err
			}
			return nil, fmt.Errorf("listen on %s for %s: %w", l.Address, l.Name, err)
		}
		if l.stream != nil {
			l.stream = &allowed{l.stream, s, l.Listener}
		}
		all = append(all, l)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range all {
		s.addresses[l.Name] = l.address()
		s.logger.Info("logs: listening", "for", l.Name, "network", l.network(), "address", l.address().String(), "tls", l.TLS != nil)
	}
	return all, nil
}

func (l *openListener) address() net.Addr {
	if l.packet != nil {
		return l.packet.LocalAddr()
	}
	return l.stream.Addr()
}

func (l *openListener) close() {
	if l.packet != nil {
		_ = l.packet.SetReadDeadline(longAgo) // its buffer is read before it is closed
	} else {
		_ = l.stream.Close()
	}
}

// Addr returns the address of the listener with this name, with the port that was chosen for port 0, once Run has opened it.
func (s *Server) Addr(listener string) net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.addresses[listener]
}

// listen serves one address.
func (s *Server) listen(ctx context.Context, l *openListener) error {
	switch {
	case l.packet != nil:
		return s.datagrams(ctx, l)
	case l.Handler != nil:
		return s.web(ctx, l)
	}
	return meanwhile.Supervise(ctx, func(ctx context.Context) error { return s.accept(ctx, l) }, meanwhile.Name("connections"))
}

// accept starts a task for each connection, until the listener is closed.
func (s *Server) accept(ctx context.Context, l *openListener) error {
	wait := time.Duration(0)
	for {
		if err := s.slot(ctx); err != nil {
			return nil // the server ends
		}
		conn, err := l.stream.Accept()
		if err != nil {
			s.slots.Release(1)
			if s.ends() {
				return nil
			}
			// Usually there are no file descriptors left. Open connections continue, and accepting is tried again.
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.logLimited("logs: accept a connection", l.Name, "", err)
			if meanwhile.Sleep(ctx, wait) != nil {
				return nil
			}
			continue
		}
		wait = 0
		s.serveConn(ctx, l.Listener, HandoverConn{Conn: conn, Listener: l.Name, Origin: conn.RemoteAddr().String()})
	}
}

// slot waits until there may be another connection.
func (s *Server) slot(ctx context.Context) error {
	if s.slots.TryAcquire(1) {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()
	return s.slots.Acquire(ctx, 1)
}

func (s *Server) ends() bool {
	return s.stopped.Err() != nil
}

// serveConn starts the task of a connection, which releases its slot at the end.
func (s *Server) serveConn(ctx context.Context, l *Listener, h HandoverConn) {
	counts := s.inputCounts(l.Name)
	counts.connections.Add(1)
	counts.open.Add(1)
	meanwhile.Go(ctx, func(ctx context.Context) error {
		defer s.slots.Release(1)
		defer counts.open.Add(-1)
		if l.TLS != nil {
			secure := tls.Server(h.Conn, l.TLS)
			if err := s.shakeHands(ctx, secure); err != nil {
				_ = h.Conn.Close()
				if !s.ends() {
					counts.refuse("no TLS")
					s.logLimited("logs: a connection is closed", l.Name, h.Origin, err)
				}
				return nil
			}
			h.Conn = secure
		}
		if l.Serve != nil {
			s.serveOther(ctx, l, h)
			return nil
		}
		c := s.newConnection(l, h)
		s.enroll(c)
		defer s.leave(c)
		c.run(ctx)
		return nil
	}, meanwhile.ID(h.Origin))
}

// shakeHands does the handshake of TLS. It returns when the server ends, also if the client is silent.
func (s *Server) shakeHands(ctx context.Context, conn *tls.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.FrameTime)
	defer cancel()
	defer context.AfterFunc(s.stopped, cancel)()
	return conn.HandshakeContext(ctx)
}

// serveOther serves a connection by the listener's Serve, with a ctx that is canceled when the server ends.
func (s *Server) serveOther(ctx context.Context, l *Listener, h HandoverConn) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.stopped, func() {
		if s.handingOver.Load() && l.TLS == nil {
			cancel(ErrHandOver)
			return
		}
		cancel(errServerEnds)
	})()
	state, err := l.Serve(ctx, h.Conn, h.State)
	if err == nil && state != nil {
		h.State = state
		s.handOver(h)
		return
	}
	if err != nil && !s.ends() {
		if reason := refusedFor(err); reason != "" {
			s.inputCounts(l.Name).refuse(reason)
		}
		s.logLimited("logs: a connection is closed", l.Name, h.Origin, err)
	}
	_ = h.Conn.Close()
}

// refusedFor returns the reason, as it is counted, for which the server has refused a session; "" if it ended otherwise.
func refusedFor(err error) string {
	refusal, refused := errors.AsType[*logs.Refusal](err)
	switch {
	case refused && refusal.Code == logs.RefusedKey:
		return "wrong key"
	case errors.Is(err, logwire.ErrVersion):
		return "another protocol"
	case errors.Is(err, logwire.ErrSize):
		return "too long"
	case errors.Is(err, logwire.ErrChecksum):
		return "wrong checksum"
	case errors.Is(err, logwire.ErrBody):
		return "no frame"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "half a frame"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "nothing in time"
	}
	return ""
}

// enroll registers a connection to be notified when the server ends.
func (s *Server) enroll(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = struct{}{}
	if s.ends() {
		_ = c.conn.SetReadDeadline(longAgo)
	}
}

func (s *Server) leave(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// endAll notifies listeners and connections that the server ends.
func (s *Server) endAll(all []*openListener) {
	s.end()
	for _, l := range all {
		if l.Handler == nil {
			l.close()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.conn.SetReadDeadline(longAgo)
	}
}

// A logLimit bounds the log lines about connections, since anybody who can connect can cause them.
type logLimit struct {
	mu    sync.Mutex
	since time.Time
	n     int
}

const mostLogged = 20 // lines each minute

// logLimited logs why a connection was closed, unless there were too many such lines in this minute.
func (s *Server) logLimited(what, listener, origin string, err error) {
	s.logLimit.mu.Lock()
	if now := time.Now(); now.Sub(s.logLimit.since) > time.Minute {
		s.logLimit.since, s.logLimit.n = now, 0
	}
	s.logLimit.n++
	n := s.logLimit.n
	s.logLimit.mu.Unlock()
	switch {
	case n < mostLogged:
		s.logger.Warn(what, "listener", listener, "from", origin, slog.Any("error", err))
	case n == mostLogged:
		s.logger.Warn("logs: more goes wrong with connections; the counters tell of it", "listener", listener)
	}
}
