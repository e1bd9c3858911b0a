package loopback

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Hosts are the names that the Host header of a request may have. The names of this machine, localhost and loopback addresses,
// are always allowed; nil Hosts allow only these.
type Hosts struct {
	names     map[string]bool
	addresses bool // all addresses are allowed: no page of another site has an address as its name
}

// NewHosts returns Hosts that allow the given names and addresses, without a port, and those of this machine. An unspecified
// address stands for all addresses.
func NewHosts(names []string) (*Hosts, error) {
	h := &Hosts{names: map[string]bool{}}
	for _, name := range names {
		a, err := netip.ParseAddr(strings.Trim(name, "[]"))
		switch {
		case err == nil && a.IsUnspecified():
			h.addresses = true
		case err == nil:
			h.names[a.String()] = true
		case name == "" || strings.ContainsAny(name, ":/ *@"):
			return nil, fmt.Errorf("%.100q is not a host such as jobs.example.org: give a name or an address, without a port", name)
		default:
			h.names[fold(name)] = true
		}
	}
	return h, nil
}

// fold maps names of the same host to the same text.
func fold(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// Has reports whether a Host header, with a port or without, is allowed.
func (h *Hosts) Has(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	if IsHost(name) {
		return true
	}
	if h == nil {
		return false
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return h.addresses || h.names[a.String()]
	}
	return h.names[fold(name)]
}
