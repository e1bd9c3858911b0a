// Package loopback tells the requests that a program on this machine sent for itself from all others.
package loopback

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

// ofProxies are the headers by which a proxy tells for whom it asks. A connection from this machine that carries one may
// speak for any other.
var ofProxies = []string{
	"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
}

// Why a request is not one of this machine, beside a [ProxyError].
var (
	ErrAddress = errors.New("the request comes from another machine")
	ErrHost    = errors.New("the request asks for a host that is neither localhost nor a loopback address")
)

// A ProxyError tells of a header that a proxy has set.
type ProxyError struct{ Header string }

// Error names the header.
func (e *ProxyError) Error() string {
	return "the header " + e.Header + " tells of a proxy that may speak for another machine"
}

// Check returns an error unless a program on this machine sent the request for itself, and asked for this machine.
func Check(r *http.Request) error {
	if err := CheckSender(r); err != nil {
		return err
	}
	// The browser sends the name of the page, whatever address somebody had it resolved to.
	if !(*Hosts)(nil).Has(r.Host) {
		return ErrHost
	}
	return nil
}

// CheckSender is Check without the host that was asked for, which [Hosts] know.
func CheckSender(r *http.Request) error {
	if !IsUnixSocket(r.RemoteAddr) && !isLoopbackPort(r.RemoteAddr) {
		return ErrAddress
	}
	for _, name := range ofProxies {
		if _, ok := r.Header[name]; ok {
			return &ProxyError{name}
		}
	}
	return nil
}

// IsUnixSocket reports whether a request with this RemoteAddr came over a Unix socket, whose clients have no address.
func IsUnixSocket(remoteAddr string) bool { return remoteAddr == "" || remoteAddr == "@" }

// isLoopbackPort wants the port, too: an address without one was put there by a handler that believes some header.
func isLoopbackPort(remoteAddr string) bool {
	a, err := netip.ParseAddrPort(remoteAddr)
	return err == nil && a.Addr().IsLoopback()
}

// IsHost reports whether a name or an address, without a port, is this machine and can be reached by no other.
func IsHost(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
