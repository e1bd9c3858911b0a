package httprequest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	maxRedirects   = 10
	connectTimeout = 10 * time.Second
	idleTimeout    = 30 * time.Second
	maxIdlePerHost = 1000
)

// newClient returns the client of a handler.
func newClient(allowPrivate bool) *http.Client {
	if allowPrivate {
		client := newGuardedClient(func(netip.Addr) error { return nil })
		client.Transport.(*http.Transport).Proxy = http.ProxyFromEnvironment
		return client
	}
	return newGuardedClient(checkPublic)
}

// newDialer returns a dialer that asks guard about the address that a socket is about to connect to, after every lookup of a name.
func newDialer(guard func(netip.Addr) error) *net.Dialer {
	return &net.Dialer{Timeout: connectTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("address %q: %w", address, err)
		}
		return guard(to.Addr())
	}}
}

// newGuardedClient returns a client that connects only where guard allows. It uses no proxy, which would connect without asking guard.
func newGuardedClient(guard func(netip.Addr) error) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:            newDialer(guard).DialContext,
			TLSHandshakeTimeout:    connectTimeout,
			IdleConnTimeout:        idleTimeout,
			MaxIdleConns:           2 * maxIdlePerHost,
			MaxIdleConnsPerHost:    maxIdlePerHost,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: checkRedirect,
	}
}

type expectKey struct{}

// withExpect passes the expected statuses to checkRedirect.
func withExpect(ctx context.Context, expect Statuses) context.Context {
	return context.WithValue(ctx, expectKey{}, expect)
}

var errTooManyRedirects = fmt.Errorf("more than %d redirects", maxRedirects)

// A redirectError is the error about a redirect to a URL that cannot be requested.
type redirectError struct{ err error }

func (e *redirectError) Error() string { return "redirected to a URL that " + e.err.Error() }

// harmless are the headers that are kept when a redirect leads to another host.
var harmless = map[string]bool{"Accept": true, "Accept-Language": true, "Content-Type": true, "User-Agent": true}

// checkRedirect decides whether to follow a redirect. Headers that the caller gave for one host, port and scheme are not sent to another, except
// harmless ones.
func checkRedirect(next *http.Request, before []*http.Request) error {
	expect, _ := next.Context().Value(expectKey{}).(Statuses)
	if next.Response != nil && expect.names(next.Response.StatusCode) {
		return http.ErrUseLastResponse
	}
	if len(before) > maxRedirects {
		return errTooManyRedirects
	}
	if err := checkURL(next.URL); err != nil {
		return &redirectError{err}
	}
	next.Header.Del("Referer")
	for _, request := range append(before[1:], next) {
		if origin(request.URL) == origin(before[0].URL) {
			continue
		}
		next.Host = ""
		for name := range next.Header {
			if !harmless[name] {
				next.Header.Del(name)
			}
		}
	}
	return nil
}

// origin returns the scheme, host and port of a URL.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}
