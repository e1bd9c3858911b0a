package httprequest

import (
	"net/netip"
	"testing"
)

func TestCheckPublic(t *testing.T) {
	tests := []struct {
		address string
		public  bool
	}{
		{"8.8.8.8", true},
		{"100.63.255.255", true},
		{"172.32.0.1", true},
		{"2606:4700::1", true},
		{"::ffff:8.8.8.8", true},
		{"64:ff9b::8.8.8.8", true},
		{"2002:808:808::1", true},

		{"127.0.0.1", false},
		{"127.255.255.254", false},
		{"0.0.0.0", false},
		{"0.1.2.3", false},
		{"10.0.0.1", false},
		{"100.64.0.1", false}, // carriers' NAT
		{"169.254.169.254", false},
		{"172.16.0.1", false},
		{"172.31.255.255", false},
		{"192.0.0.1", false},
		{"192.0.2.1", false},
		{"192.168.1.1", false},
		{"198.18.0.1", false},
		{"224.0.0.1", false},
		{"240.0.0.1", false},
		{"255.255.255.255", false},

		{"::", false},
		{"::1", false},
		{"::127.0.0.1", false}, // IPv4-compatible
		{"::ffff:127.0.0.1", false},
		{"::ffff:169.254.169.254", false},
		{"::ffff:0:127.0.0.1", false}, // IPv4-translated
		{"64:ff9b::127.0.0.1", false},
		{"64:ff9b::a9fe:a9fe", false},
		{"64:ff9b:1::8.8.8.8", false}, // a site's own NAT64
		{"2002:7f00:1::1", false},
		{"2002:a9fe:a9fe::", false},
		{"2001::1", false},     // Teredo
		{"2001:db8::1", false}, // documentation
		{"2606:4700::5efe:7f00:1", false},
		{"2606:4700::200:5efe:7f00:1", false},
		{"fc00::1", false},
		{"fd12:3456::1", false},
		{"fe80::1", false},
		{"fe80::1%eth0", false},
		{"2606:4700::1%eth0", false},
		{"fec0::1", false},
		{"ff02::1", false},
		{"100::1", false},
		{"5f00::1", false},
	}
	for _, test := range tests {
		if err := checkPublic(netip.MustParseAddr(test.address)); (err == nil) != test.public {
			t.Errorf("%s: got %v, want public %v", test.address, err, test.public)
		}
	}
	if checkPublic(netip.Addr{}) == nil {
		t.Error("the zero address is accepted")
	}
}
