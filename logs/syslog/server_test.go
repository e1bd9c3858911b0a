package syslog_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// serve calls fn with the ports of a syslog server for TCP and UDP, and with a function that waits until that many lines are written. It
// returns the lines once there are that many, without their times, sorted.
func serve(t *testing.T, lines int, fn func(tcp, udp string, await func(lines int))) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all")
	ready := make(chan struct{})
	server, err := server.New(server.Config{
		Routes: []server.Route{{To: []server.Destination{{File: &linefile.Config{Path: path}}}}},
		Listeners: []server.Listener{
			{Name: "tcp", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}},
			{Name: "udp", Address: ":0", Network: "udp", Protocol: &syslog.Protocol{Datagrams: true}}, // by IPv6 too, for which addresses of IPv4 have another form
		},
		Logger: slog.New(slog.DiscardHandler),
		Ready:  func() error { close(ready); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var text string
	_ = meanwhile.Run(ctx, func(ctx context.Context) error {
		meanwhile.Go(ctx, server.Run, meanwhile.Name("server"))
		select {
		case <-ready:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		_, tcp, _ := net.SplitHostPort(server.Addr("tcp").String())
		_, udp, _ := net.SplitHostPort(server.Addr("udp").String())
		await := func(lines int) {
			for strings.Count(text, "\n") < lines && meanwhile.Sleep(ctx, 10*time.Millisecond) == nil {
				b, _ := os.ReadFile(path)
				text = string(b)
			}
		}
		fn(tcp, udp, await)
		await(lines)
		cancel()
		return nil
	})
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, strings.TrimSuffix(line[min(len(line), len("2026/05/04 03:02:01|")):], "\n"))
	}
	slices.Sort(all)
	return all
}

// All forms of logger(1) of bsdutils and util-linux are understood.
func TestLogger(t *testing.T) {
	logger := testenv.Program(t, "logger")
	forms := map[string][]string{
		"a": {"--rfc5424", "--tcp"},
		"b": {"--rfc5424", "--tcp", "--octet-count", "--sd-id", "zoo@123", "--sd-param", `tiger="hungry"`},
		"c": {"--rfc3164", "--tcp"},
		"d": {"--rfc3164", "--tcp", "--octet-count"},
		"e": {"--rfc5424", "--udp"},
		"f": {"--rfc3164", "--udp"},
	}
	var want []string
	for tag := range forms {
		want = append(want, tag+"|warn|hello from "+tag)
	}
	slices.Sort(want)
	got := serve(t, len(forms), func(tcp, udp string, _ func(int)) {
		for tag, form := range forms {
			port := tcp
			if slices.Contains(form, "--udp") {
				port = udp
			}
			arguments := append([]string{"--server", "127.0.0.1", "--port", port, "--tag", tag, "--priority", "local0.warning"}, form...)
			if out, err := exec.Command(logger, append(arguments, "hello from "+tag)...).CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", form, err, out)
			}
		}
	})
	for i := range got { // attributes follow
		got[i], _, _ = strings.Cut(got[i], " facility")
		got[i] = strings.TrimSpace(got[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// traceback matches a traceback that Python has written after a message.
var traceback = regexp.MustCompile(`(7)\\nTraceback .*\\nZeroDivisionError: .*`)

// Python's handler ends messages with a NUL instead of a line feed, so tracebacks stay whole. What it has sent is written while it is
// still connected.
func TestPython(t *testing.T) {
	python := testenv.Program(t, "python3")
	const script = `
import logging, logging.handlers, socket, sys
log = logging.getLogger()
for port, kind in ((sys.argv[1], socket.SOCK_STREAM), (sys.argv[2], socket.SOCK_DGRAM)):
    handler = logging.handlers.SysLogHandler(("127.0.0.1", int(port)), socktype=kind)
    handler.ident = kind.name + ": "
    log.addHandler(handler)
try:
    print(1 / 0)
except ZeroDivisionError:
    log.exception("größer als %d", 7)
log.warning("bald voll")
sys.stdin.read()
`
	got := serve(t, 4, func(tcp, udp string, _ func(int)) {
		cmd := exec.CommandContext(t.Context(), python, "-c", script, tcp, udp)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Wait() })
	})
	for i := range got { // attributes follow
		got[i], _, _ = strings.Cut(got[i], " facility")
		got[i] = traceback.ReplaceAllString(got[i], "$1 …")
	}
	want := []string{"SOCK_DGRAM|error|größer als 7 …", "SOCK_DGRAM|warn|bald voll", "SOCK_STREAM|error|größer als 7 …", "SOCK_STREAM|warn|bald voll"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The only message of a connection is recorded while the connection is open, although more lines of it might follow.
func TestOneLine(t *testing.T) {
	got := serve(t, 1, func(tcp, _ string, await func(int)) {
		conn, err := net.Dial("tcp", "127.0.0.1:"+tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("<12>t: one\n")); err != nil {
			t.Fatal(err)
		}
		await(1)
	})
	if len(got) != 1 || !strings.HasPrefix(got[0], "t|warn|one") {
		t.Errorf("got %q", got)
	}
}

// A message of several lines stays one record, with a count before it and as a datagram.
func TestLinesOfOneMessage(t *testing.T) {
	got := serve(t, 2, func(tcp, udp string, _ func(int)) {
		for network, text := range map[string]string{"tcp": "14 <12>t: one\ntwo", "udp": "<12>u: one\ntwo"} {
			port := tcp
			if network == "udp" {
				port = udp
			}
			conn, err := net.Dial(network, "127.0.0.1:"+port)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
			_ = conn.Close()
		}
	})
	for i, service := range []string{"t", "u"} {
		if i >= len(got) || !strings.HasPrefix(got[i], service+"|warn|one") || !strings.Contains(got[i], "two") {
			t.Errorf("got %q", got)
		}
	}
}

// A header that a host repeats is parsed once, and is not taken for that of another host.
func TestManyHosts(t *testing.T) {
	const hosts = 300 // more than the server remembers
	var want []string
	for n := range hosts {
		want = append(want, fmt.Sprintf("api|info|hello facility=user host=127.1.%d.%d", n/100, n%100+1))
	}
	want = append(want, want...)
	slices.Sort(want)
	got := serve(t, 2*hosts, func(_, udp string, await func(int)) {
		to, err := net.ResolveUDPAddr("udp", "127.0.0.1:"+udp)
		if err != nil {
			t.Fatal(err)
		}
		for n := range hosts {
			conn, err := net.DialUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 1, byte(n/100), byte(n%100+1))}, to)
			if err != nil {
				t.Skip("this system has one loopback address: ", err)
			}
			for range 2 {
				if _, err := conn.Write([]byte("<14>api: hello")); err != nil {
					t.Fatal(err)
				}
			}
			_ = conn.Close()
			if n%20 == 19 { // the system drops datagrams that arrive too fast
				await(2 * (n + 1))
			}
		}
	})
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
