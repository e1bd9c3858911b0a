// Package access is the authentication and authorization of "meanwhile serve": a middleware around all of its pages and APIs. People sign in with a
// password and get a session; programs send a token. Each of them may either read only or do everything.
package access

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/loopback"
)

// A Config configures who may use the server. Without users and tokens there is no authentication, and everybody may do everything.
type Config struct {
	Users  []User
	Tokens []Token
	// Local refuses requests that do not come from a program on this machine, or that a proxy passed on.
	Local bool
	// Hosts are the names and addresses, without a port, that the Host header of a request may have, besides localhost and loopback addresses. A page
	// of another site, whose name was made to resolve to this server (DNS rebinding), sends that name. An unspecified address such as 0.0.0.0 stands
	// for all addresses. With users or tokens the default is any name, since such a page has no session here.
	Hosts []string
	// Proxy trusts the last X-Forwarded-For and X-Forwarded-Proto: a proxy sets them, and no client can bypass it.
	Proxy  bool
	Public []string // paths without authentication, such as those of health checks
	// Personal are paths to which viewers may post, too: the changes belong to their own browser.
	Personal []string
	// ForWorkers reports whether a token of the role worker may send a request. Default: none.
	ForWorkers func(*http.Request) bool
	// Failed is called for each refused password and token, with the reason "password", "token", or "limited" if it came too soon after others.
	// Default: nothing.
	Failed func(reason string)
	Title  string       // of the sign-in page; default "meanwhile"
	Logger *slog.Logger // for sign-ins and failures; default slog.Default()
}

// A Guard is the middleware of a Config. Its sessions are in memory and end with the process.
type Guard struct {
	config     Config
	public     map[string]bool
	personal   map[string]bool
	hosts      *loopback.Hosts
	checksHost bool
	users      *users
	tokens     tokens
	sessions   sessions
	attempts   limiter
	cross      http.CrossOriginProtection
}

// New creates a guard. It returns an error for empty or repeated names, and for invalid hosts and hashes.
func New(c Config) (*Guard, error) {
	c.Logger = cmp.Or(c.Logger, slog.Default())
	c.Title = cmp.Or(c.Title, "meanwhile")
	if c.ForWorkers == nil {
		c.ForWorkers = func(*http.Request) bool { return false }
	}
	if c.Failed == nil {
		c.Failed = func(string) {}
	}
	g := &Guard{config: c, public: map[string]bool{}, personal: map[string]bool{}, tokens: c.Tokens}
	g.checksHost = !g.Asks() || len(c.Hosts) > 0
	for _, path := range c.Public {
		g.public[path] = true
	}
	for _, path := range c.Personal {
		g.personal[path] = true
	}
	var err error
	if g.hosts, err = loopback.NewHosts(c.Hosts); err != nil {
		return nil, fmt.Errorf("--host: %w", err)
	}
	seen := map[string]bool{}
	for _, u := range c.Users {
		if seen[u.Name] {
			return nil, fmt.Errorf("user %q is named twice", u.Name)
		}
		seen[u.Name] = true
	}
	clear(seen)
	for _, t := range c.Tokens {
		if seen[t.Name] {
			return nil, fmt.Errorf("token %q is named twice", t.Name)
		}
		seen[t.Name] = true
	}
	g.users, err = newUsers(c.Users)
	return g, err
}

// Asks reports whether the guard authenticates anybody.
func (g *Guard) Asks() bool { return len(g.config.Users)+len(g.config.Tokens) > 0 }

// HostOf returns the host of a listen address as one of Config.Hosts: an empty host is all addresses.
func HostOf(listen string) string { return cmp.Or(listen, "0.0.0.0") }

// client returns the address that a request comes from. For IPv6 it is the network of 64 bits, which is what one customer gets. The zero prefix is a
// Unix socket, or an address that cannot be parsed.
func (g *Guard) client(r *http.Request) netip.Prefix {
	var a netip.Addr
	if port, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		a = port.Addr()
	}
	if g.config.Proxy {
		if forwarded, err := parseForwarded(lastOf(r.Header.Values("X-Forwarded-For"))); err == nil {
			a = forwarded
		}
	}
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	network, _ := a.Prefix(bits)
	return network
}

// parseForwarded parses an address that a proxy forwards. Some add the port, and then IPv6 is in brackets.
func parseForwarded(text string) (netip.Addr, error) {
	if port, err := netip.ParseAddrPort(text); err == nil {
		return port.Addr(), nil
	}
	return netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
}

// secure reports whether the browser uses TLS, to this process or to the proxy.
func (g *Guard) secure(r *http.Request) bool {
	return r.TLS != nil || g.config.Proxy && lastOf(r.Header.Values("X-Forwarded-Proto")) == "https"
}
