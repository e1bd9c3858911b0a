package access

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAttemptsOfOneName: failures for one name lock out only that name at that address.
func TestAttemptsOfOneName(t *testing.T) {
	hash() // not in the bubble: it takes time
	synctest.Test(t, func(t *testing.T) {
		_, h, _ := newGuard(t, nil)
		ada := cookieOf(t, signIn(h, "ada", password, ""))
		for i := range 10 {
			if w := signIn(h, "ada", "wrong", ""); w.Code != 401 {
				t.Fatalf("attempt %d: got %d, want 401", i, w.Code)
			}
		}
		w := signIn(h, "ada", password, "")
		if w.Code != 429 || w.Header().Get("Retry-After") != "30" {
			t.Errorf("after 10 attempts: got %d, Retry-After %s; want 429 and 30", w.Code, w.Header().Get("Retry-After"))
		}
		if w := ask(h, "GET", "/", ada); w.Code != 200 {
			t.Errorf("a session from the same address: got %d, want 200", w.Code)
		}
		if w := ask(h, "GET", "/", with("Authorization", "Bearer "+token)); w.Code != 200 {
			t.Errorf("a token from the same address: got %d, want 200", w.Code)
		}
		if w := signIn(h, "vi", password, ""); w.Code != 303 {
			t.Errorf("another name from the same address: got %d, want 303", w.Code)
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

// TestWrongTokens: a program with an old token locks nobody out, however long it tries, and its attempts are limited.
func TestWrongTokens(t *testing.T) {
	hash()
	synctest.Test(t, func(t *testing.T) {
		_, h, log := newGuard(t, nil)
		ada := cookieOf(t, signIn(h, "ada", password, ""))
		for i := range 300 { // five minutes
			want := 401
			if i >= 10 && i%30 != 0 {
				want = 429
			}
			w := ask(h, "GET", "/", with("Authorization", "Bearer old"))
			if w.Code != want || want == 429 && w.Header().Get("Retry-After") == "" {
				t.Fatalf("attempt %d: got %d %v, want %d", i, w.Code, w.Header(), want)
			}
			if w := ask(h, "POST", "/", with("Authorization", "Bearer "+token)); w.Code != 200 {
				t.Fatalf("after attempt %d: a correct token gets %d", i, w.Code)
			}
			if w := ask(h, "GET", "/", ada); w.Code != 200 {
				t.Fatalf("after attempt %d: a session gets %d", i, w.Code)
			}
			if w := signIn(h, "vi", password, ""); w.Code != 303 {
				t.Fatalf("after attempt %d: a correct password gets %d", i, w.Code)
			}
			time.Sleep(time.Second)
		}
		if n := strings.Count(log.String(), "a wrong token"); n > 20 {
			t.Errorf("the log has %d wrong tokens, want at most 20", n)
		}
	})
}

// TestAttemptsOfOneAddress tries many names from one address.
func TestAttemptsOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h, _ := newGuard(t, nil)
		compared := 0
		for i := range 1000 {
			if w := signIn(h, fmt.Sprint("name", i), "wrong", ""); w.Code == 401 {
				compared++
			}
		}
		if compared != 30 {
			t.Errorf("%d passwords were compared, want 30", compared)
		}
		if w := signIn(h, "ada", "wrong", ""); w.Code != 429 || w.Header().Get("Retry-After") != "10" {
			t.Errorf("one more: got %d, Retry-After %s; want 429 and 10", w.Code, w.Header().Get("Retry-After"))
		}
		if w := ask(h, "GET", "/", with("Authorization", "Bearer "+token)); w.Code != 200 {
			t.Errorf("a correct token gets %d", w.Code)
		}
	})
}

func TestAttemptsOfAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		attempt := func(i int) time.Duration { return l.attempt(addressOf(i), "ada", time.Now()) }
		for i := range 100 {
			if wait := attempt(i); wait > 0 {
				t.Fatalf("attempt %d: wait %v", i, wait)
			}
		}
		if wait := attempt(1000); wait != time.Second {
			t.Errorf("after 100 attempts of as many addresses: wait %v, want 1 s", wait)
		}
		for i := range 10_000 { // one a second: the limit for all of them together
			time.Sleep(time.Second)
			if wait := attempt(i); wait > 0 {
				t.Fatalf("attempt %d: wait %v", i, wait)
			}
			l.wrongToken(addressOf(i), time.Now())
		}
		if len(l.clients) > mostKept || len(l.names) > mostKept || len(l.tokens) > mostKept {
			t.Errorf("%d addresses, %d names and %d addresses with tokens are remembered, more than %d", len(l.clients), len(l.names), len(l.tokens), mostKept)
		}
	})
}

func addressOf(i int) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 32)
}

func TestForgetKeepsThoseWhoFailedMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		guesser := netip.MustParsePrefix("192.0.2.1/32")
		for range 10 {
			l.wrongToken(guesser, time.Now())
		}
		for i := range 2 * mostKept {
			l.wrongToken(addressOf(i), time.Now())
		}
		if wait := l.wrongToken(guesser, time.Now()); wait <= 0 || len(l.tokens) > mostKept {
			t.Errorf("the guesser waits %v, %d addresses are remembered", wait, len(l.tokens))
		}
	})
}

// TestForgetMakesRoomForMany: even if only one key has few failures, an eighth of the places is freed, so that the next keys are
// added without a scan.
func TestForgetMakesRoomForMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limiter
		for i := range mostKept + 1 {
			for range 1 + min(i, 8) {
				l.wrongToken(addressOf(i), time.Now())
			}
		}
		if got, want := len(l.tokens), mostKept-mostKept/8+1; got != want {
			t.Errorf("%d addresses are remembered, want %d", got, want)
		}
		if l.tokens[addressOf(0)] != nil {
			t.Error("the address with the fewest failures is remembered")
		}
	})
}

// TestClientsWithPorts: clients whose proxy forwards their ports, too, are limited separately, and one client is one with each of its ports.
func TestClientsWithPorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, h, _ := newGuard(t, func(c *Config) { c.Proxy = true })
		try := func(client string) int {
			return signIn(h, "ada", "wrong", "", with("X-Forwarded-For", client)).Code
		}
		for port := range 10 {
			try(fmt.Sprint("198.51.100.1:", 50000+port))
		}
		if got, other := try("198.51.100.1:60000"), try("198.51.100.2:60000"); got != 429 || other != 401 {
			t.Errorf("after ten failures, the client gets %d and another one %d, want 429 and 401", got, other)
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
		{true, "192.0.2.1:5", "198.51.100.7:1234, 198.51.100.1:49152", "198.51.100.1/32"},
		{true, "192.0.2.1:5", "[2001:db8:1:2:3:4:5:6]:49152", "2001:db8:1:2::/64"},
		{true, "192.0.2.1:5", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"},
		{true, "192.0.2.1:5", "[2001:db8:1:2:3:4:5:6]", "2001:db8:1:2::/64"},
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
