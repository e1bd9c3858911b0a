package live_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/live"
)

// A POST of sale passes all access checks and then fails with 404: no task of shop is in a tree that can be canceled.
const sale = "cancel=4&path=shop/orders/sell"

func TestAccess(t *testing.T) {
	tests := []struct {
		name       string
		remoteAddr string
		host       string
		header     string
		refused    string // part of the message; "" if the request is answered
	}{
		{"IPv4", "127.0.0.1:4000", "localhost:6060", "", ""},
		{"all of 127/8", "127.9.8.7:4000", "127.9.8.7:6060", "", ""},
		{"IPv6", "[::1]:4000", "[::1]:6060", "", ""},
		{"IPv4 in IPv6", "[::ffff:127.0.0.1]:4000", "[::ffff:127.0.0.1]:6060", "", ""},
		{"no port in Host", "127.0.0.1:4000", "localhost", "", ""},
		{"no port in Host, IPv4", "127.0.0.1:4000", "127.0.0.1", "", ""},
		{"no port in Host, IPv6", "127.0.0.1:4000", "[::1]", "", ""},
		{"upper case", "127.0.0.1:4000", "LocalHost:6060", "", ""},
		{"Unix socket", "@", "localhost", "", ""},
		{"Unix socket without a name", "", "localhost", "", ""},
		{"other headers", "127.0.0.1:4000", "localhost", "X-Request-Id: 1", ""},

		{"another machine", "192.0.2.7:4000", "localhost:6060", "", "comes from another"},
		{"another machine, IPv6", "[2001:db8::7]:4000", "localhost:6060", "", "comes from another"},
		{"the same network", "10.0.0.5:4000", "localhost:6060", "", "comes from another"},
		{"link-local", "[fe80::1%eth0]:4000", "localhost:6060", "", "comes from another"},
		{"unspecified", "0.0.0.0:4000", "localhost:6060", "", "comes from another"},
		{"IPv4 of another in IPv6", "[::ffff:192.0.2.7]:4000", "localhost:6060", "", "comes from another"},
		{"address that a handler put there", "127.0.0.1", "localhost:6060", "", "comes from another"},
		{"name instead of an address", "localhost:4000", "localhost:6060", "", "comes from another"},
		{"no address", "pipe", "localhost:6060", "", "comes from another"},

		{"rebound name", "127.0.0.1:4000", "evil.example:6060", "", "asks for another"},
		{"rebound name, Unix socket", "@", "evil.example", "", "asks for another"},
		{"no Host", "127.0.0.1:4000", "", "", "asks for another"},
		{"port only", "127.0.0.1:4000", ":6060", "", "asks for another"},
		{"localhost as the beginning", "127.0.0.1:4000", "localhost.evil.example", "", "asks for another"},
		{"localhost as the end", "127.0.0.1:4000", "evil.localhost", "", "asks for another"},
		{"loopback address as the beginning", "127.0.0.1:4000", "127.0.0.1.evil.example", "", "asks for another"},
		{"public address", "127.0.0.1:4000", "192.0.2.7:6060", "", "asks for another"},
		{"unspecified address", "127.0.0.1:4000", "0.0.0.0:6060", "", "asks for another"},
		{"short address", "127.0.0.1:4000", "127.1:6060", "", "asks for another"},
		{"number as an address", "127.0.0.1:4000", "2130706433", "", "asks for another"},
		{"user before a host", "127.0.0.1:4000", "localhost@evil.example", "", "asks for another"},
		{"no number as a port", "127.0.0.1:4000", "localhost:evil", "", "asks for another"},

		{"proxy", "127.0.0.1:4000", "localhost:6060", "X-Forwarded-For: 192.0.2.7", "header X-Forwarded-For"},
		{"proxy for this machine", "127.0.0.1:4000", "localhost:6060", "X-Forwarded-For: 127.0.0.1", "header X-Forwarded-For"},
		{"proxy that says nothing", "127.0.0.1:4000", "localhost:6060", "X-Forwarded-For: ", "header X-Forwarded-For"},
		{"proxy over a Unix socket", "@", "localhost", "Forwarded: for=192.0.2.7", "header Forwarded"},
		{"Forwarded", "127.0.0.1:4000", "localhost:6060", "Forwarded: for=192.0.2.7", "header Forwarded"},
		{"X-Real-IP", "127.0.0.1:4000", "localhost:6060", "X-Real-IP: 192.0.2.7", "header X-Real-Ip"},
		{"X-Forwarded-Host", "127.0.0.1:4000", "localhost:6060", "X-Forwarded-Host: a.example", "header X-Forwarded-Host"},
		{"X-Forwarded-Proto", "127.0.0.1:4000", "localhost:6060", "X-Forwarded-Proto: https", "header X-Forwarded-Proto"},
		{"Via", "127.0.0.1:4000", "localhost:6060", "Via: 1.1 a", "header Via"},
		{"True-Client-IP", "127.0.0.1:4000", "localhost:6060", "True-Client-IP: 192.0.2.7", "header True-Client-Ip"},
		{"CF-Connecting-IP", "127.0.0.1:4000", "localhost:6060", "CF-Connecting-IP: 192.0.2.7", "header Cf-Connecting-Ip"},
	}
	passed := map[string]int{"GET": http.StatusOK, "POST": http.StatusNotFound, "DELETE": http.StatusMethodNotAllowed}
	for _, test := range tests {
		for method, status := range passed {
			for _, remote := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/remote=%t", test.name, method, remote), func(t *testing.T) {
					r := local(method, "/tree", sale)
					r.RemoteAddr, r.Host = test.remoteAddr, test.host
					if name, value, ok := strings.Cut(test.header, ": "); ok {
						r.Header.Set(name, value)
					}
					w := ask(t, live.HandlerOf(live.Config{Remote: remote, CancelToken: secret}, shop), r)
					got := w.Body.String()
					if test.refused == "" || remote {
						if w.Code != status {
							t.Errorf("got status %d, want %d: %s", w.Code, status, got)
						}
						return
					}
					if w.Code != http.StatusForbidden || !strings.Contains(got, test.refused) || !strings.Contains(got, "set Remote in live.Config") {
						t.Errorf("got status %d, want 403 and %q: %s", w.Code, test.refused, got)
					}
					if strings.Contains(got, "orders") {
						t.Errorf("the refused response shows tasks: %s", got)
					}
				})
			}
		}
	}
}

// send sends a request over the network and returns status and body of the response.
func send(t *testing.T, c *http.Client, r *http.Request) (status int, body string) {
	t.Helper()
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	checkAnswer(t, answer.StatusCode, answer.Header, string(b))
	return answer.StatusCode, string(b)
}

// request returns a GET, or a POST of sale with the token.
func request(t *testing.T, method, url string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(sale))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = local(method, "/", "").Header
	return r
}

// The server of the standard library sets the fields that the checks read.
func TestAccessOverTheNetwork(t *testing.T) {
	servers := map[string]live.Config{"local": {CancelToken: secret}, "remote": {CancelToken: secret, Remote: true}}
	edits := map[string]func(*http.Request){
		"as it is":        func(*http.Request) {},
		"hostile Host":    func(r *http.Request) { r.Host = "evil.example" },
		"X-Forwarded-For": func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") },
		"x-real-ip":       func(r *http.Request) { r.Header["x-real-ip"] = []string{"192.0.2.7"} },
		"Forwarded":       func(r *http.Request) { r.Header.Set("Forwarded", "for=192.0.2.7") },
	}
	for which, config := range servers {
		server := httptest.NewServer(live.HandlerOf(config, shop))
		defer server.Close()
		for name, edit := range edits {
			for method, want := range map[string]int{"GET": http.StatusOK, "POST": http.StatusNotFound} {
				if which == "local" && name != "as it is" {
					want = http.StatusForbidden
				}
				r := request(t, method, server.URL+"/tree")
				edit(r)
				if got, body := send(t, server.Client(), r); got != want {
					t.Errorf("%s, %s, %s: got status %d, want %d: %s", which, name, method, got, want, body)
				}
			}
		}
	}
}

// A connection to an address of this machine that others can reach also comes from that address.
func TestAccessFromAnotherAddress(t *testing.T) {
	for _, remote := range []bool{false, true} {
		server := serveOn(t, live.Config{Remote: remote, CancelToken: secret}, "tcp", net.JoinHostPort(publicAddress(t), "0"))
		for method, want := range map[string]int{"GET": http.StatusOK, "POST": http.StatusNotFound} {
			if !remote {
				want = http.StatusForbidden
			}
			r := request(t, method, server.URL)
			r.Host = "localhost"
			if got, body := send(t, server.Client(), r); got != want || !remote && !strings.Contains(body, "comes from another") {
				t.Errorf("%s, remote=%t: got status %d, want %d: %s", method, remote, got, want, body)
			}
		}
	}
}

// serveOn serves shop at an address; it skips the test if the machine has no such address.
func serveOn(t *testing.T, c live.Config, network, address string) *httptest.Server {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Skip(err)
	}
	server := httptest.NewUnstartedServer(live.HandlerOf(c, shop))
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func publicAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Skip(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has loopback addresses only")
	return ""
}

func TestAccessByUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	serveOn(t, live.Config{CancelToken: secret}, "unix", path)
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	for method, want := range map[string]int{"GET": http.StatusOK, "POST": http.StatusNotFound} {
		if got, body := send(t, client, request(t, method, "http://localhost/tree")); got != want {
			t.Errorf("%s: got status %d, want %d: %s", method, got, want, body)
		}
		if got, body := send(t, client, request(t, method, "http://evil.example/tree")); got != http.StatusForbidden {
			t.Errorf("%s with a hostile Host: got status %d, want 403: %s", method, got, body)
		}
	}
}
