package analogger_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A client sends what Analogger's client sends: the key, and after the answer a frame for each call.
type client struct {
	t       *testing.T
	conn    net.Conn
	service string
}

func newClient(t *testing.T, address, service, key string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	c := &client{t, conn, service}
	c.log("authentication", key)
	if answer, err := bufio.NewReader(conn).ReadString('\n'); answer != "accepted\n" {
		t.Fatalf("got %q, %v", answer, err)
	}
	return c
}

func frame(service, severity, message string) string {
	n := 11 + len(service) + len(severity) + len(message)
	return fmt.Sprintf("%04d%04d:%s:%s:%s", n, n, service, severity, message)
}

func (c *client) log(severity, message string) { c.write(frame(c.service, severity, message)) }

func (c *client) write(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.conn, text); err != nil {
		c.t.Fatal(err)
	}
}

// serve calls fn with the address of a server for Analogger's protocol, and returns the lines that the server has written by its end.
func serve(t *testing.T, fn func(address string)) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all")
	ready := make(chan struct{})
	server, err := server.New(server.Config{
		Routes:    []server.Route{{To: []server.Destination{{File: &linefile.Config{Path: path}}}}},
		Listeners: []server.Listener{{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{Key: "secret"}}},
		Logger:    slog.New(slog.DiscardHandler),
		Ready:     func() error { close(ready); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, server.Run, meanwhile.Name("server"))
		select {
		case <-ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		fn(server.Addr("analogger").String())
		cancel() // the server still reads the data in its sockets
		return nil
	})
	if err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(text)) {
		all = append(all, strings.TrimSuffix(line[min(len(line), len("2026/05/04 03:02:01|")):], "\n"))
	}
	return all
}

// TestClients sends one frame in a write, many frames in one write, and one frame in many writes.
func TestClients(t *testing.T) {
	var want []string
	got := serve(t, func(address string) {
		c := newClient(t, address, "app", "secret")
		for i := range 100 {
			c.log("info", fmt.Sprint("one by one ", i))
			want = append(want, fmt.Sprint("app|info|one by one ", i))
		}
		var batch strings.Builder
		for i := range 2000 {
			batch.WriteString(frame("app", "warn", fmt.Sprintf("at once: %d", i)))
			want = append(want, fmt.Sprintf("app|warn|at once: %d", i))
		}
		c.write(batch.String())
		for _, part := range strings.SplitAfter(frame("app", "error", "in:pieces"), "") {
			c.write(part)
		}
		c.log("fatal", "Grüße")
		want = append(want, "app|error|in:pieces", "app|fatal|Grüße")
		_ = c.conn.Close()
	})
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%d lines, want %d; the last %q", len(got), len(want), got[max(0, len(got)-3):])
	}
}

// TestClientsThatDoWrong: a client that sends an invalid frame gets an answer, and other clients are not affected.
func TestClientsThatDoWrong(t *testing.T) {
	got := serve(t, func(address string) {
		good := newClient(t, address, "app", "secret")
		for input, want := range map[string]string{
			frame("x", "authentication", "wrong"): "denied\n",
			"00070007:a:b":                        "error: checksum failed\n", // Analogger waits endlessly for the rest of this one
			"00110012:::x":                        "error: checksum failed\n",
			"90009000:a:b:c":                      "error: max length exceeded\n",
			"GET / HTTP/1.1\r\n\r\n":              "error: checksum failed\n",
		} {
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(time.Minute))
			_, _ = io.WriteString(conn, input)
			if answer, _ := bufio.NewReader(conn).ReadString('\n'); answer != want {
				t.Errorf("%q: got %q, want %q", input, answer, want)
			}
			_ = conn.Close()
		}
		good.log("info", "still here")
		_ = good.conn.Close() // after this, Analogger serves no other client
		newClient(t, address, "app", "secret").log("info", "and others")
	})
	slices.Sort(got) // the server may read either connection first
	if want := []string{"app|info|and others", "app|info|still here"}; strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}
