package httprequest

import (
	"fmt"
	"net/netip"
)

// A refusedError is the error about an address that is not public.
type refusedError struct{ address netip.Addr }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%v is not a public address: Config.AllowPrivate (--allow-private) allows private ones", e.address)
}

// special are the blocks within the public ranges that are not public, by IANA's registries of special-purpose addresses.
var special = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/3", // multicast, reserved and broadcast
	"2001::/23", "2001:db8::/32", "3fff::/20",
)

var (
	globalUnicast = netip.MustParsePrefix("2000::/3") // has all public addresses of IPv6
	// carriers are the blocks of IPv6 whose addresses contain one of IPv4, with the byte where that begins.
	carriers = []struct {
		prefix netip.Prefix
		at     int
	}{
		{netip.MustParsePrefix("2002::/16"), 2},     // 6to4
		{netip.MustParsePrefix("64:ff9b::/96"), 12}, // NAT64
	}
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// checkPublic returns an error unless everybody reaches the same host by the address. An address that contains another, such as one of NAT64, is
// public if that is.
func checkPublic(address netip.Addr) error {
	if !public(address.Unmap()) {
		return &refusedError{address}
	}
	return nil
}

func public(address netip.Addr) bool {
	if address.Zone() != "" {
		return false
	}
	for _, c := range carriers {
		if c.prefix.Contains(address) {
			bytes := address.As16()
			return public(netip.AddrFrom4([4]byte(bytes[c.at : c.at+4])))
		}
	}
	if address.Is6() && (!globalUnicast.Contains(address) || isISATAP(address)) {
		return false
	}
	for _, s := range special {
		if s.Contains(address) {
			return false
		}
	}
	return address.IsValid()
}

// isISATAP reports whether the address leads into a site by a tunnel to an IPv4 address (RFC 5214).
func isISATAP(address netip.Addr) bool {
	b := address.As16()
	return b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
