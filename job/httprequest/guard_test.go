package httprequest

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

func TestPrivateRefused(t *testing.T) {
	asked := false
	url := serve(t, func(http.ResponseWriter, *http.Request) { asked = true })
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	t.Setenv("HTTP_PROXY", url)
	t.Setenv("HTTPS_PROXY", url)
	r := newRequester(Config{}, newClient(false))
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0", "169.254.169.254", "[fe80::1]"} {
		_, err := r.do(t.Context(), Args{URL: "http://" + host + ":" + port})
		if err == nil || !strings.Contains(err.Error(), "is not a public address: Config.AllowPrivate (--allow-private)") || !permanent(err) {
			t.Errorf("%s: got %v, want a permanent refusal", host, err)
		}
	}
	if asked {
		t.Error("the server received a request")
	}
}

// only returns a guard that allows one address.
func only(allowed string) func(netip.Addr) error {
	return func(a netip.Addr) error {
		if a.String() != allowed {
			return &refusedError{a}
		}
		return nil
	}
}

func TestPrivateRefusedAfterRedirect(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "http://127.0.0.2:1/metadata", http.StatusFound)
	})
	client := newGuardedClient(only("127.0.0.1"))
	t.Cleanup(client.CloseIdleConnections)
	_, err := newRequester(Config{}, client).do(t.Context(), Args{URL: url})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.2 is not a public address") || !permanent(err) || asked.Load() != 1 {
		t.Errorf("got %v after %d requests, want the second refused", err, asked.Load())
	}
}

// TestPrivateRefusedAfterDNSChange requests the same name twice; the second time it resolves to another address.
func TestPrivateRefusedAfterDNSChange(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	_, port, _ := strings.Cut(strings.TrimPrefix(url, "http://"), ":")
	var address atomic.Value
	address.Store([4]byte{127, 0, 0, 1})
	server := serveDNS(t, &address)
	client := newGuardedClient(only("127.0.0.1"))
	t.Cleanup(client.CloseIdleConnections)
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}
	transport := client.Transport.(*http.Transport)
	dial := newDialer(only("127.0.0.1"))
	dial.Resolver = resolver
	transport.DialContext = dial.DialContext
	r := newRequester(Config{}, client)
	name := "http://changes.example.com:" + port
	if _, err := r.do(t.Context(), Args{URL: name}); err != nil {
		t.Fatal(err)
	}
	address.Store([4]byte{127, 0, 0, 2})
	_, err := r.do(t.Context(), Args{URL: name})
	if err == nil || !strings.Contains(err.Error(), "127.0.0.2 is not a public address") {
		t.Errorf("got %v, want the new address refused", err)
	}
}

// serveDNS answers every question for an A record with the address, and others with nothing.
func serveDNS(t *testing.T, address *atomic.Value) (server string) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			end := 12 // of the question: a name, two bytes of type, two of class
			for end < n && packet[end] != 0 {
				end += int(packet[end]) + 1
			}
			end += 5
			answer := append([]byte{}, packet[:end]...)
			copy(answer[2:12], []byte{0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0})
			if binary.BigEndian.Uint16(packet[end-4:]) == 1 {
				ip := address.Load().([4]byte)
				answer[7] = 1
				answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				answer = append(answer, ip[:]...)
			}
			_, _ = conn.WriteTo(answer, from)
		}
	}()
	return conn.LocalAddr().String()
}

func TestRedirects(t *testing.T) {
	var seen atomic.Value
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.Header.Clone()) })
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch _, _ = fmt.Sscanf(r.URL.Path, "/loop/%d", &n); {
		case r.URL.Path == "/other":
			http.Redirect(w, r, other, http.StatusFound)
		case r.URL.Path == "/ftp":
			w.Header().Set("Location", "ftp://me:secret@example.com/")
			w.WriteHeader(http.StatusFound)
		case n > 0:
			http.Redirect(w, r, fmt.Sprintf("/loop/%d", n-1), http.StatusTemporaryRedirect)
		default:
			seen.Store(r.Header.Clone())
		}
	})
	local := newLocal(t)
	secret := map[string]string{"Authorization": "secret", "X-Key": "secret", "Accept": "text/plain"}
	if _, err := local.do(t.Context(), Args{URL: url + "/loop/10", Headers: secret}); err != nil {
		t.Errorf("10 redirects: %v", err)
	}
	if got := seen.Load().(http.Header); got.Get("X-Key") != "secret" || got.Get("Referer") != "" {
		t.Errorf("same server: got headers %v, want the key and no Referer", got)
	}
	_, err := local.do(t.Context(), Args{URL: url + "/loop/11"})
	if err == nil || !strings.Contains(err.Error(), "more than 10 redirects") || !permanent(err) {
		t.Errorf("11 redirects: got %v", err)
	}
	delete(secret, "Authorization") // it is set from the URL's user
	away := strings.Replace(url, "//", "//me:secret@", 1) + "/other"
	if _, err := local.do(t.Context(), Args{URL: away, Headers: secret}); err != nil {
		t.Errorf("to another server: %v", err)
	}
	if got := seen.Load().(http.Header); got.Get("X-Key") != "" || got.Get("Authorization") != "" || got.Get("Accept") != "text/plain" {
		t.Errorf("other server: got headers %v, want only harmless ones", got)
	}
	_, err = local.do(t.Context(), Args{URL: url + "/ftp"})
	if err == nil || !strings.Contains(err.Error(), `has scheme "ftp"`) || strings.Contains(err.Error(), "secret") || !permanent(err) {
		t.Errorf("to ftp: got %v", err)
	}
}
