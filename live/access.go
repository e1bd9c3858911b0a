package live

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// ofProxies are the headers by which a proxy tells for whom it asks. A connection from this machine that carries one may
// speak for any other.
var ofProxies = []string{
	"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip",
}

const remoteRemedy = ": set Remote in live.Config to answer it"

// checkLocal refuses a request unless a program on this machine sent it for itself.
func checkLocal(r *http.Request) error {
	if !isUnixSocket(r.RemoteAddr) && !isLoopbackPort(r.RemoteAddr) {
		return refuse(http.StatusForbidden, "this program shows its tasks to its own machine only, and the request comes from another"+remoteRemedy)
	}
	// The browser sends the name of the page, whatever address somebody had it resolved to.
	if !isLocalHost(r.Host) {
		return refuse(http.StatusForbidden, "this program shows its tasks under the name localhost or a loopback address only, "+
			"and the request asks for another"+remoteRemedy)
	}
	for _, name := range ofProxies {
		if _, ok := r.Header[name]; ok {
			return refuse(http.StatusForbidden, "this program shows its tasks to its own machine only, and the header "+name+
				" tells of a proxy that may speak for another"+remoteRemedy)
		}
	}
	return nil
}

// isUnixSocket reports whether a request with this RemoteAddr came by a Unix socket, whose far side has no address.
func isUnixSocket(remoteAddr string) bool { return remoteAddr == "" || remoteAddr == "@" }

// isLoopbackPort wants the port, too: an address without one was put there by a handler that believes some header.
func isLoopbackPort(remoteAddr string) bool {
	a, err := netip.ParseAddrPort(remoteAddr)
	return err == nil && a.Addr().IsLoopback()
}

// isLocalHost reports whether a Host header, with a port or without, names this machine and nothing else.
func isLocalHost(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if strings.EqualFold(name, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(name)
	return err == nil && a.IsLoopback()
}
