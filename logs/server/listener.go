package server

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"

	"github.com/meanwhile-go/meanwhile/logs/input"
)

// A Listener is an address at which a [Server] receives records, or answers requests. One of Protocol, Serve and Handler
// defines how.
type Listener struct {
	Name    string      // what the tree and the counters call it, such as "analogger"
	Network string      // "tcp", which is the default, or "udp", for a Protocol only
	Address string      // host:port
	TLS     *tls.Config // nil: none

	// Allow are the networks that may use the listener, beside this machine; none: all. Connections from elsewhere are closed, and
	// counted. The sender of a datagram may lie about its address.
	Allow []netip.Prefix

	// Protocol parses what connections or datagrams bring.
	Protocol input.Protocol

	// Serve is called for each connection, in a task of its own, and returns soon after ctx is canceled: [Sessions.Serve] is
	// one. The state is that of a connection that another server has handed over.
	Serve func(ctx context.Context, conn net.Conn, state []byte) (handover []byte, err error)

	// Handler answers HTTP.
	Handler http.Handler
}

func (l *Listener) network() string {
	if l.Network == "" {
		return "tcp"
	}
	return l.Network
}
