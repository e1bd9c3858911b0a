package server_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// Lines arrive over TLS, also if they are longer than a read; a connection without TLS is counted and closed.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	path := filepath.Join(t.TempDir(), "a.log")
	c := server.Config{Routes: toFile(path), Logger: slog.New(slog.DiscardHandler), Listeners: []server.Listener{
		{Name: "syslog", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}, TLS: &tls.Config{Certificates: web.TLS.Certificates}},
	}}
	const long = 100_000
	run(t, c, func(ctx context.Context, s *server.Server, address string) {
		plain, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(plain, "<14>no TLS\n")
		defer plain.Close()
		until(t, ctx, "it is refused", func() bool { return s.Stats().Inputs["syslog"].Refused["no TLS"] == 1 })
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		text := fmt.Sprintf("<14>1 - host app - - - %0*d", long, 7)
		fmt.Fprintf(conn, "%d %s", len(text), text)
		fmt.Fprintf(conn, "<14>1 - host app - - - last\n")
		until(t, ctx, "both came", func() bool { return s.Stats().Services["app"].Records == 2 })
	})
	got := lines(t, path)
	if len(got) != 2 || len(got[0]) < long {
		t.Errorf("%d lines", len(got))
	}
}

// Clients that are silent in the TLS handshake do not hold up the end of the server.
func TestClientsSilentInTheHandshake(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	c := server.Config{Routes: toFile(filepath.Join(t.TempDir(), "a.log")), Logger: slog.New(slog.DiscardHandler), Listeners: []server.Listener{
		{Name: "syslog", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}, TLS: &tls.Config{Certificates: web.TLS.Certificates}},
	}}
	var ends time.Time
	run(t, c, func(ctx context.Context, s *server.Server, address string) {
		for range 2 {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
		until(t, ctx, "both are there", func() bool { return s.Stats().Inputs["syslog"].Connections == 2 })
		ends = time.Now()
	})
	if took := time.Since(ends); took > 3*time.Second {
		t.Errorf("the server took %v to end", took)
	}
}
