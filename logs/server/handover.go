package server

import (
	"context"
	"fmt"
	"net"

	"github.com/meanwhile-go/meanwhile"
)

// A HandoverConn is a connection on its way from one server to another, which may be in another process.
type HandoverConn struct {
	Conn     net.Conn `json:"-"`
	Listener string   // the name of its listener
	Origin   string   // the address of the peer
	State    []byte   // the state of its parser
	Rest     []byte   // what was read and not parsed yet: the beginning of a frame
}

// HandOver makes Run end without closing the connections over plain TCP: their next bytes are for another server. Connections
// over TLS are closed as always. When Run has returned, [Server.HandoverConns] returns the open ones.
func (s *Server) HandOver() {
	s.handingOver.Store(true)
	s.end()
}

// HandoverConns returns the connections that are open after [Server.HandOver], once Run has returned.
func (s *Server) HandoverConns() []HandoverConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handovers
}

func (c *connection) canHandOver() bool { return c.raw != nil }

// handOver keeps a connection for the next server, between two reads.
func (s *Server) handOver(h HandoverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handovers = append(s.handovers, h)
}

// resume serves the connections that another server has handed over. Those of listeners that this server does not have are closed.
func (s *Server) resume(ctx context.Context) error {
	if len(s.config.Resume) == 0 {
		return nil
	}
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		for _, h := range s.config.Resume {
			l := s.listenerFor(h.Listener)
			if l == nil {
				s.logLimited("logs: a connection is closed", h.Listener, h.Origin, fmt.Errorf("no listener %.40q takes it over", h.Listener))
				_ = h.Conn.Close()
				continue
			}
			if !l.allowsOrigin(h.Origin) {
				s.notAllowed(l, h.Origin)
				_ = h.Conn.Close()
				continue
			}
			if err := s.slots.Acquire(ctx, 1); err != nil {
				return err
			}
			_ = h.Conn.SetReadDeadline(noDeadline)
			s.serveConn(ctx, l, h)
		}
		return nil
	}, meanwhile.Name("connections that went on"))
}

func (s *Server) listenerFor(name string) *Listener {
	for i := range s.config.Listeners {
		if l := &s.config.Listeners[i]; l.Name == name && (l.Protocol != nil || l.Serve != nil) && l.TLS == nil {
			return l
		}
	}
	return nil
}
