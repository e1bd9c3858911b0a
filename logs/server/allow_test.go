package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// otherAddress returns an address of this machine that is not a loopback one.
func otherAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback ones")
	return ""
}

// Connections, datagrams and HTTP requests from a network that is not allowed are refused and counted.
func TestAllow(t *testing.T) {
	ours := otherAddress(t)
	for allow, want := range map[string]bool{"198.51.100.7/32": false, ours + "/32": true, "0.0.0.0/0": true} {
		path := filepath.Join(t.TempDir(), "all")
		networks := []netip.Prefix{netip.MustParsePrefix(allow)}
		c := server.Config{
			Routes: toFile(path),
			Listeners: []server.Listener{
				{Name: "tcp", Address: ours + ":0", Protocol: &syslog.Protocol{}, Allow: networks},
				{Name: "udp", Address: ours + ":0", Network: "udp", Protocol: &syslog.Protocol{Datagrams: true}, Allow: networks},
				{Name: "http", Address: ours + ":0", Handler: http.NotFoundHandler(), Allow: networks},
			},
		}
		run(t, c, func(ctx context.Context, s *server.Server, _ string) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			for _, network := range []string{"tcp", "udp"} {
				conn, err := net.Dial(network, s.Addr(network).String())
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(conn, "<14>%s: x\n", network)
				if deadline, ok := ctx.Deadline(); ok && network == "tcp" && !want {
					_ = conn.SetReadDeadline(deadline)
					_, _ = io.ReadAll(conn) // until it is closed
				}
				_ = conn.Close()
			}
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.Addr("http").String(), nil)
			if err != nil {
				t.Fatal(err)
			}
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // not through a proxy of the environment
			response, err := client.Do(request)
			if got := err == nil; got != want {
				t.Errorf("%s: HTTP is answered: %v, %v", allow, got, err)
			}
			if err == nil {
				_ = response.Body.Close()
			}
			for _, name := range []string{"tcp", "udp", "http"} {
				for n := int64(0); n == 0 && ctx.Err() == nil && !(want && name == "http"); {
					w := s.Stats().Inputs[name]
					n = w.Records + w.Refused["address not allowed"]
					if n > 0 && (w.Records > 0) != want {
						t.Errorf("%s by %s: %d records, refused %v", allow, name, w.Records, w.Refused)
					}
					if meanwhile.Sleep(ctx, time.Millisecond) != nil {
						t.Errorf("%s by %s: nothing is counted", allow, name)
					}
				}
			}
		})
	}
}
