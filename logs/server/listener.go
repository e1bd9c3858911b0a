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
	Name    string      // its name in the task tree and the statistics, such as "analogger"
	Network string      // "tcp", which is the default, or "udp", for a Protocol only
	Address string      // host:port
	TLS     *tls.Config // nil: none

	// Allow are the networks that may use the listener, besides this machine; empty: all. Connections from other addresses are closed and
	// counted. Senders of datagrams may spoof their address.
	Allow []netip.Prefix

	// Protocol parses the records of connections or datagrams.
	Protocol input.Protocol

	// Serve serves a connection, such as [Sessions.Serve]. It is called for each connection in a task of its own, and has to return soon
	// after ctx is canceled. The state is that of a connection that another server has handed over, nil for a new one.
	Serve func(ctx context.Context, conn net.Conn, state []byte) (handover []byte, err error)

	// Handler handles HTTP requests.
	Handler http.Handler
}

func (l *Listener) network() string {
	if l.Network == "" {
		return "tcp"
	}
	return l.Network
}
