// Package loopback distinguishes requests that a program on this machine sent for itself from all others.
package loopback

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

// ofProxies are the headers with which a proxy says for whom it sends a request. A connection from this machine with one of them
// may come from any other machine.
var ofProxies = []string{
	"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
}

// Reasons why a request did not come from this machine, besides a [ProxyError].
var (
	ErrAddress = errors.New("the request comes from another machine")
	ErrHost    = errors.New("the request asks for a host that is neither localhost nor a loopback address")
)

// A ProxyError reports a header that a proxy has set.
type ProxyError struct{ Header string }

// Error returns a text with the name of the header.
func (e *ProxyError) Error() string {
	return "the header " + e.Header + " tells of a proxy that may speak for another machine"
}

// Check returns an error unless a program on this machine sent the request for itself, with a Host header of this machine.
func Check(r *http.Request) error {
	if err := CheckSender(r); err != nil {
		return err
	}
	// The browser sends the name of the page, whatever address that name was made to resolve to.
	if !(*Hosts)(nil).Has(r.Host) {
		return ErrHost
	}
	return nil
}

// CheckSender is Check without the check of the Host header, for which there are [Hosts].
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

// isLoopbackPort requires a port, too: an address without one was set by a handler that trusts some header.
func isLoopbackPort(remoteAddr string) bool {
	a, err := netip.ParseAddrPort(remoteAddr)
	return err == nil && a.Addr().IsLoopback()
}

// IsHost reports whether a name or an address, without a port, is this machine and cannot be reached from another one.
func IsHost(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
