package syslog_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// serve calls fn with the ports of a server of syslog by TCP and UDP, and returns the lines it has written when there are so
// many, without their times, sorted.
func serve(t *testing.T, lines int, fn func(tcp, udp string)) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all")
	ready := make(chan struct{})
	server, err := logs.NewServer(logs.Config{
		Routes: []logs.Route{{To: []logs.Destination{{File: &logs.LineFile{Path: path}}}}},
		Listeners: []logs.Listener{
			{Name: "tcp", Address: "127.0.0.1:0", Way: &syslog.Way{}},
			{Name: "udp", Address: "127.0.0.1:0", Network: "udp", Way: &syslog.Way{Datagrams: true}},
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
		fn(tcp, udp)
		for strings.Count(text, "\n") < lines {
			if err := meanwhile.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
			b, _ := os.ReadFile(path)
			text = string(b)
		}
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

// logger(1) of bsdutils and util-linux is understood in all forms it has.
func TestLogger(t *testing.T) {
	logger, err := exec.LookPath("logger")
	if err != nil {
		t.Skip("no logger here")
	}
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
	got := serve(t, len(forms), func(tcp, udp string) {
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

// The lines of one message stay one, counted and as a datagram.
func TestLinesOfOneMessage(t *testing.T) {
	got := serve(t, 2, func(tcp, udp string) {
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
