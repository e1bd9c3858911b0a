package server

import (
	"errors"
	"net"
	"net/netip"
)

var errNotAllowed = errors.New("its address is none of those that are allowed")

const refusedAddress = "address not allowed"

// allows reports whether an address may use the listener: one of the allowed networks, or of this machine.
func (l *Listener) allows(from netip.Addr) bool {
	if from = from.Unmap().WithZone(""); len(l.Allow) == 0 || from.IsLoopback() {
		return true
	}
	for _, n := range l.Allow {
		if n.Contains(from) {
			return true
		}
	}
	return false
}

// allowsOrigin is allows for the address of a connection.
func (l *Listener) allowsOrigin(origin string) bool {
	from, err := netip.ParseAddrPort(origin)
	return len(l.Allow) == 0 || err == nil && l.allows(from.Addr())
}

// An allowed listener closes connections from networks that are not allowed.
type allowed struct {
	net.Listener
	s *Server
	l *Listener
}

// Accept returns the next connection that is allowed.
func (a *allowed) Accept() (net.Conn, error) {
	for {
		conn, err := a.Listener.Accept()
		if err != nil || a.l.allowsOrigin(conn.RemoteAddr().String()) {
			return conn, err
		}
		_ = conn.Close()
		a.s.notAllowed(a.l, conn.RemoteAddr().String())
	}
}

// notAllowed counts and logs a connection that was closed.
func (s *Server) notAllowed(l *Listener, origin string) {
	s.inputCounts(l.Name).refuse(refusedAddress)
	s.logLimited("logs: a connection is closed", l.Name, origin, errNotAllowed)
}
