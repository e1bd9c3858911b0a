package logs_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// Files are turned before they are too long, compressed, and pruned; together they have every line once.
func TestFilesAreTurned(t *testing.T) {
	dir := t.TempDir()
	file := &logs.LineFile{Path: dir + "/a.log", MaxBytes: 10_000, Compress: true}
	const records = 2000
	run(t, logs.Config{Routes: []logs.Route{{To: []logs.Destination{{File: file}}}}}, func(_ context.Context, _ *logs.Server, address string) {
		conn := dial(t, address)
		for n := range records {
			fmt.Fprint(conn, frame("a", "info", fmt.Sprint(n)))
		}
	})
	names, err := filepath.Glob(dir + "/a-*.log.zst")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d turned files, %v", len(names), err)
	}
	n := 0
	count := func(text string) {
		if len(text) > 10_000 {
			t.Errorf("a file has %d bytes", len(text))
		}
		for line := range strings.Lines(text) {
			if want := fmt.Sprintf("|a|info|%d\n", n); !strings.HasSuffix(line, want) {
				t.Fatalf("line %d is %q", n, line)
			}
			n++
		}
	}
	for _, name := range names {
		compressed, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		decoder, err := zstd.NewReader(nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := decoder.DecodeAll(compressed, nil)
		if err != nil {
			t.Fatal(err)
		}
		count(string(text))
		decoder.Close()
	}
	text, err := os.ReadFile(dir + "/a.log")
	if err != nil {
		t.Fatal(err)
	}
	count(string(text))
	if n != records {
		t.Errorf("%d of %d lines", n, records)
	}
}

// A file that somebody else has moved is opened again by its name.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, logs.Config{Routes: toFile(path)}, func(ctx context.Context, s *logs.Server, address string) {
		conn := dial(t, address)
		written := func(n int) func() bool {
			return func() bool {
				o := s.Stats().Outputs
				return len(o) == 1 && o[0].Written == int64(n*len("2006/01/02 15:04:05|a|info|1\n"))
			}
		}
		fmt.Fprint(conn, frame("a", "info", "1"))
		until(t, ctx, "it is written", written(1))
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		s.Reopen()
		fmt.Fprint(conn, frame("a", "info", "2"))
		until(t, ctx, "it is written", written(2))
		_, err := os.Stat(path)
		for ; err != nil; _, err = os.Stat(path) { // the second may have come before the reopening
			fmt.Fprint(conn, frame("a", "info", "3"))
			if meanwhile.Sleep(ctx, time.Millisecond) != nil {
				return
			}
		}
	})
	if got := lines(t, path+".1"); got[0] != "a|info|1" {
		t.Errorf("got %v", got)
	}
}

// A socket that goes away twice gets what came meanwhile.
func TestSocketTwice(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	routes := []logs.Route{{To: []logs.Destination{{Socket: address}}}}
	run(t, logs.Config{Routes: routes, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, s *logs.Server, in string) {
		conn := dial(t, in)
		for round := range 3 {
			fmt.Fprint(conn, frame("a", "info", fmt.Sprint(round)))
			taken, err := listener.Accept()
			if err != nil {
				t.Fatal(err)
			}
			_ = taken.SetDeadline(time.Now().Add(30 * time.Second))
			line, err := bufio.NewReader(taken).ReadString('\n')
			if want := fmt.Sprintf("|a|info|%d\n", round); err != nil || !strings.HasSuffix(line, want) {
				t.Errorf("got %q, %v", line, err)
			}
			_ = taken.Close()
			_ = listener.Close()
			if listener, err = net.Listen("tcp", address); err != nil {
				t.Fatal(err)
			}
		}
	})
	_ = listener.Close()
}

func TestDatagrams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	const records = 100
	c := logs.Config{Routes: toFile(path), Listeners: []logs.Listener{{Name: "syslog", Network: "udp", Address: "127.0.0.1:0", Way: &syslog.Way{}}}}
	run(t, c, func(_ context.Context, _ *logs.Server, address string) {
		conn, err := net.Dial("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for n := range records {
			fmt.Fprintf(conn, "<14>1 2026-05-04T03:02:01Z host app - - - message %d", n)
		}
	}) // what the socket holds is read at the end
	if got := lines(t, path); len(got) != records || !strings.HasPrefix(got[99], "app|info|message 99") {
		t.Errorf("%d of %d: %v", len(got), records, got)
	}
}

// What goes to the store is stored in order, repeats are counted, and clients of the own protocol come in beside others.
func TestStore(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{})
		if err != nil {
			return err
		}
		defer store.Close()
		var sessions *logs.Sessions
		c := logs.Config{
			Store:    store,
			Interval: time.Hour,
			Routes:   []logs.Route{{Services: []string{"a"}, Cull: true, To: []logs.Destination{{Store: true}}}, {Level: slog.LevelWarn, To: []logs.Destination{{Store: true}}}},
			Listeners: []logs.Listener{
				{Name: "analogger", Address: "127.0.0.1:0", Way: &analogger.Way{}},
				{Name: "own", Address: "127.0.0.1:0", Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
					return sessions.Serve(ctx, conn, state)
				}},
			},
		}
		run(t, c, func(ctx context.Context, s *logs.Server, address string) {
			sessions = logs.NewSessions(s.Acceptor(), logs.SessionConfig{})
			conn := dial(t, address)
			fmt.Fprint(conn, strings.Repeat(frame("a", "info", "same"), 4), frame("a", "info", "other"))
			handler, err := logs.NewHandler("tcp://"+s.Addr("own").String(), &logs.HandlerOptions{SenderOptions: logs.SenderOptions{Service: "b", Spool: t.TempDir()}})
			if err != nil {
				t.Fatal(err)
			}
			logger := slog.New(handler)
			logger.Info("left out")
			logger.Warn("kept", "n", 7)
			if err := handler.Close(ctx); err != nil {
				t.Error(err)
			}
		})
		var got []string
		for _, service := range []string{"a", "b"} {
			for r, err := range store.Read(ctx, service, 1) {
				if err != nil {
					return err
				}
				got = append(got, fmt.Sprintf("%d %s %s", r.Number, r.Service, r.Message))
			}
		}
		equal(t, "store", got, "1 a same", "2 a Last message repeated 3 times", "3 a other", "1 b kept")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Connections on which nothing comes cost little, and leave the others alone.
func TestIdleConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, logs.Config{Routes: toFile(path)}, func(ctx context.Context, s *logs.Server, address string) {
		for range 300 {
			dial(t, address)
		}
		conn := dial(t, address)
		fmt.Fprint(conn, frame("a", "info", "x"))
		until(t, ctx, "it came", func() bool { return s.Stats().Services["a"].Records == 1 })
		if got := s.Stats().Ways["analogger"].Open; got != 301 {
			t.Errorf("%d connections are open", got)
		}
	})
	equal(t, "lines", lines(t, path), "a|info|x")
}
