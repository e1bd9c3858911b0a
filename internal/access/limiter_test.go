package access

import (
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestAttemptsOfOneAddress(t *testing.T) {
	hash() // not in the bubble: it takes time
	synctest.Test(t, func(t *testing.T) {
		_, h, _ := newGuard(t, nil)
		for i := range burstOfOne {
			if w := signIn(h, "ada", "wrong", ""); w.Code != 401 {
				t.Fatalf("attempt %d: got %d, want 401", i, w.Code)
			}
		}
		w := signIn(h, "ada", password, "")
		if w.Code != 429 || w.Header().Get("Retry-After") != "30" {
			t.Errorf("after %d attempts: got %d, Retry-After %s; want 429 and 30", burstOfOne, w.Code, w.Header().Get("Retry-After"))
		}
		if w := ask(h, "GET", "/", with("Authorization", "Bearer "+token)); w.Code != 429 {
			t.Errorf("a token from the same address: got %d, want 429", w.Code)
		}
		if w := signIn(h, "ada", password, "", from("192.0.2.99:1")); w.Code != 303 {
			t.Errorf("another address: got %d, want 303", w.Code)
		}
		time.Sleep(29 * time.Second)
		if w := signIn(h, "ada", password, ""); w.Code != 429 || w.Header().Get("Retry-After") != "1" {
			t.Errorf("after 29 s: got %d, Retry-After %s", w.Code, w.Header().Get("Retry-After"))
		}
		time.Sleep(time.Second)
		for range 3 { // one that succeeds does not count
			if w := signIn(h, "ada", password, ""); w.Code != 303 {
				t.Errorf("after 30 s: got %d, want 303", w.Code)
			}
		}
	})
}

func TestAttemptsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		attempt := func(i int) time.Duration {
			return l.take(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32), time.Now())
		}
		for i := range burstOfAll {
			if wait := attempt(i); wait > 0 {
				t.Fatalf("attempt %d: wait %v", i, wait)
			}
		}
		if wait := attempt(1000); wait != time.Second {
			t.Errorf("after %d attempts of as many addresses: wait %v, want 1 s", burstOfAll, wait)
		}
		for i := range 10_000 { // a second each: as fast as all of them may
			time.Sleep(eachOfAll)
			if wait := attempt(i); wait > 0 {
				t.Fatalf("attempt %d: wait %v", i, wait)
			}
		}
		if n := len(l.clients); n > mostClients {
			t.Errorf("%d addresses are remembered, more than %d", n, mostClients)
		}
	})
}

func TestForgetKeepsThoseWhoFailedMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		guesser := netip.MustParsePrefix("192.0.2.1/32")
		for range burstOfOne {
			l.charge(guesser, time.Now())
		}
		for i := range 2 * mostClients {
			l.charge(netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32), time.Now())
		}
		if wait := l.blocked(guesser, time.Now()); wait <= 0 || len(l.clients) > mostClients {
			t.Errorf("the guesser waits %v, %d addresses are remembered", wait, len(l.clients))
		}
	})
}

func TestClient(t *testing.T) {
	for _, test := range []struct {
		proxy           bool
		address, header string
		want            string
	}{
		{false, "192.0.2.1:5", "", "192.0.2.1/32"},
		{false, "192.0.2.1:5", "198.51.100.1", "192.0.2.1/32"},
		{true, "192.0.2.1:5", "198.51.100.7, 198.51.100.1", "198.51.100.1/32"},
		{true, "192.0.2.1:5", "nobody", "192.0.2.1/32"},
		{true, "192.0.2.1:5", "", "192.0.2.1/32"},
		{false, "[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{false, "[::ffff:192.0.2.1]:5", "", "192.0.2.1/32"},
		{false, "[fe80::1%eth0]:5", "", "fe80::/64"},
		{false, "@", "", "invalid Prefix"},
	} {
		g, _, _ := newGuard(t, func(c *Config) { c.Proxy = test.proxy })
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.address
		if test.header != "" {
			r.Header.Set("X-Forwarded-For", test.header)
		}
		if got := g.client(r).String(); got != test.want {
			t.Errorf("%+v: got %s", test, got)
		}
	}
}
