package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/input"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// errorWriter fails the test with each line that is logged.
type errorWriter struct{ t *testing.T }

func (w errorWriter) Write(line []byte) (int, error) {
	w.t.Errorf("%s", line)
	return len(line), nil
}

// Files are rotated before they are too long, compressed, and pruned, each of them once; together they have every line once.
func TestFilesAreRotated(t *testing.T) {
	dir := t.TempDir()
	file := &linefile.Config{Path: dir + "/a.log", MaxBytes: 10_000, Compress: true}
	const records = 2000
	logger := slog.New(slog.NewTextHandler(errorWriter{t}, &slog.HandlerOptions{Level: slog.LevelError}))
	run(t, server.Config{Routes: []server.Route{{To: []server.Destination{{File: file}}}}, Logger: logger}, func(ctx context.Context, s *server.Server, address string) {
		conn := dial(t, address)
		all := 0
		for n := range records {
			fmt.Fprint(conn, frame("a", "info", fmt.Sprint(n)))
			all += len(fmt.Sprintf("2006/01/02 15:04:05|a|info|%d\n", n))
		}
		until(t, ctx, "all is written and compressed", func() bool {
			o := s.Stats().Outputs
			left, err := filepath.Glob(dir + "/a-*.log")
			return len(o) == 1 && o[0].Written == int64(all) && err == nil && len(left) == 0
		})
	})
	names, err := filepath.Glob(dir + "/a-*.log.zst")
	if err != nil || len(names) < 5 {
		t.Fatalf("%d rotated files, %v", len(names), err)
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

// The longest name that a service can have does not hold up its file: it is created, rotated and compressed.
func TestFileOfALongService(t *testing.T) {
	dir := t.TempDir()
	service := strings.Repeat("é", logs.MaxService/2)
	to := []server.Destination{{File: &linefile.Config{Path: filepath.Join(dir, "{service}.log"), MaxBytes: 1, Compress: true}}}
	synctest.Test(t, func(t *testing.T) {
		logger := slog.New(slog.NewTextHandler(errorWriter{t}, &slog.HandlerOptions{Level: slog.LevelError}))
		serve(t, server.Config{Routes: []server.Route{{To: to}}, Logger: logger}, func(ctx context.Context, s *server.Server) {
			f := s.Batcher("test")
			for range 2 {
				f.Add(&logs.View{Service: []byte(service), Message: []byte("hello")})
			}
			if err := f.Flush(ctx); err != nil {
				t.Error(err)
			}
			synctest.Wait() // until the first one is compressed
		})
	})
	current, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(current) != 1 {
		t.Fatalf("files are %q, %v", current, err)
	}
	equal(t, "lines", lines(t, current[0]), service+"|info|hello")
	rotated, err := filepath.Glob(filepath.Join(dir, "*.log.zst"))
	if err != nil || len(rotated) != 1 {
		t.Errorf("rotated files are %q, %v", rotated, err)
	}
}

// A server that ends or hands over does not wait until a large file is compressed: the file stays for the next one.
func TestEndsWhileAFileIsCompressed(t *testing.T) {
	for _, end := range []func(s *server.Server){func(*server.Server) {}, (*server.Server).HandOver} {
		dir := t.TempDir()
		large := filepath.Join(dir, "a-20200504T030201.000000.log")
		if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil { // without taking that space
			t.Fatal(err)
		}
		to := []server.Destination{{File: &linefile.Config{Path: filepath.Join(dir, "a.log"), MaxBytes: 1, Compress: true}}}
		serve(t, server.Config{Routes: []server.Route{{To: to}}}, func(ctx context.Context, s *server.Server) {
			add(t, ctx, s.Batcher("test"), 0, 2)
			until(t, ctx, "it is being compressed", func() bool {
				_, err := os.Stat(large + ".zst.part")
				return err == nil
			})
			end(s)
		})
		left, err := filepath.Glob(large + "*")
		if err != nil || len(left) != 1 {
			t.Errorf("left are %q, %v", left, err)
		}
	}
}

// New routes to a file that is being written change how it is rotated.
func TestSettingsOfAFileChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	serve(t, server.Config{Routes: toFile(path)}, func(ctx context.Context, s *server.Server) {
		f := s.Batcher("test")
		for _, most := range []int64{0, 1, 0} {
			to := []server.Destination{{File: &linefile.Config{Path: path, MaxBytes: most}}}
			if err := s.SetRoutes([]server.Route{{To: to}}, nil, nil, nil); err != nil {
				t.Fatal(err)
			}
			add(t, ctx, f, 0, 2)
		}
	})
	names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "a-*.log"))
	if err != nil || len(names) != 2 {
		t.Errorf("rotated files are %v, %v", names, err)
	}
	if n := len(lines(t, path)); n != 3 {
		t.Errorf("%d lines are in the last file", n)
	}
}

// A file that another program has moved is opened again by its name.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, server.Config{Routes: toFile(path)}, func(ctx context.Context, s *server.Server, address string) {
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

// A file that is not a regular one, such as a device or a pipe, is written to, and not synced.
func TestDevice(t *testing.T) {
	run(t, server.Config{Routes: toFile(os.DevNull), Sync: linefile.SyncAlways, Journal: filepath.Join(t.TempDir(), "lines")}, func(ctx context.Context, s *server.Server, _ string) {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		f := s.Batcher("test")
		for range 2 {
			f.Add(&logs.View{Service: []byte("a"), Message: []byte("hello")})
			if err := f.Sync(ctx); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A socket that is unreachable twice gets the lines that arrived in the meantime.
func TestSocketTwice(t *testing.T) {
	port, err := harm.FreePort() // where it listens again
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	routes := []server.Route{{To: []server.Destination{{Socket: address}}}}
	run(t, server.Config{Routes: routes, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, s *server.Server, in string) {
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
	c := server.Config{Routes: toFile(path), Listeners: []server.Listener{{Name: "syslog", Network: "udp", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}}}}
	run(t, c, func(_ context.Context, _ *server.Server, address string) {
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

// Datagrams in a socket's buffer at the end are read, even if that takes a while.
func TestManyDatagramsAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	const records = 20
	c := server.Config{Routes: toFile(path), Listeners: []server.Listener{{Name: "syslog", Network: "udp", Address: "127.0.0.1:0", Protocol: &slowProtocol{}}}}
	run(t, c, func(_ context.Context, _ *server.Server, address string) {
		conn, err := net.Dial("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for n := range records {
			fmt.Fprintf(conn, "<14>1 2026-05-04T03:02:01Z host app - - - message %d", n)
		}
	})
	if got := lines(t, path); len(got) != records {
		t.Errorf("%d of %d: %v", len(got), records, got)
	}
}

// A slowProtocol needs 5 ms for a datagram.
type slowProtocol struct{ syslog.Protocol }

func (w *slowProtocol) Parser(origin string, state []byte) input.Parser {
	return slowParser{w.Protocol.Parser(origin, state)}
}

type slowParser struct{ input.Parser }

func (p slowParser) Parse(data []byte, f input.Batcher) (int, []byte, error) {
	<-time.After(5 * time.Millisecond)
	return p.Parser.Parse(data, f)
}

// Records for the store are stored in order, repeats are counted, and clients of the own protocol send beside other inputs.
func TestStore(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{})
		if err != nil {
			return err
		}
		defer store.Close()
		var sessions *server.Sessions
		c := server.Config{
			Store:    store,
			Interval: time.Hour,
			Routes:   []server.Route{{Services: []string{"a"}, Dedupe: true, To: []server.Destination{{Store: true}}}, {Level: slog.LevelWarn, To: []server.Destination{{Store: true}}}},
			Listeners: []server.Listener{
				{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{}},
				{Name: "own", Address: "127.0.0.1:0", Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
					return sessions.Serve(ctx, conn, state)
				}},
			},
		}
		run(t, c, func(ctx context.Context, s *server.Server, address string) {
			sessions = server.NewSessions(s.Acceptor(), server.SessionConfig{})
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
			if ways := s.Stats().Inputs; len(ways) != 2 || ways["own"].Connections != 1 || ways["own"].Records != 2 {
				t.Errorf("records are not counted by the names of the listeners: %+v", ways)
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

// Idle connections cost little, and do not affect others.
func TestIdleConnections(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.log")
	run(t, server.Config{Routes: toFile(path)}, func(ctx context.Context, s *server.Server, address string) {
		for range 300 {
			dial(t, address)
		}
		conn := dial(t, address)
		fmt.Fprint(conn, frame("a", "info", "x"))
		until(t, ctx, "it came", func() bool { return s.Stats().Services["a"].Records == 1 })
		if got := s.Stats().Inputs["analogger"].Open; got != 301 {
			t.Errorf("%d connections are open", got)
		}
	})
	equal(t, "lines", lines(t, path), "a|info|x")
}

// The bytes that wait for outputs that cannot be written are bounded, for each output and for all of them together. All lines are written
// in the end.
func TestWaitingIsBounded(t *testing.T) {
	const (
		outputs  = 100
		messages = 16 // for each output
		size     = 60_000
		mostAll  = 64 << 20
	)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var c server.Config
		writers := make([]*gatedWriter, outputs)
		for n := range writers {
			writers[n] = &gatedWriter{release: release}
			c.Routes = append(c.Routes, server.Route{Services: []string{nthService(n)}, To: []server.Destination{{Writer: writers[n]}}})
		}
		serve(t, c, func(ctx context.Context, s *server.Server) {
			message := []byte(strings.Repeat("x", size))
			var clients []*meanwhile.Task[struct{}]
			for n := range outputs {
				clients = append(clients, meanwhile.Go(ctx, func(ctx context.Context) error {
					f := s.Batcher("test")
					for range messages {
						f.Add(&logs.View{Service: []byte(nthService(n)), Message: message, Level: slog.LevelInfo})
						if err := f.Flush(ctx); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			time.Sleep(time.Minute)
			all := int64(0)
			for _, o := range s.Stats().Outputs {
				if o.Waiting < size {
					t.Errorf("%d bytes wait for an output", o.Waiting)
				}
				all += o.Waiting
			}
			if all < mostAll-2*size || all > mostAll+2*size*outputs {
				t.Errorf("%d bytes wait for all outputs", all)
			}
			close(release)
			for _, client := range clients {
				if _, err := client.Wait(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		for n, w := range writers {
			if w.written < messages*size {
				t.Errorf("output %d has %d bytes", n, w.written)
			}
		}
	})
}

// A gatedWriter writes once its gate is open.
type gatedWriter struct {
	release chan struct{}
	written int
}

func (w *gatedWriter) Write(b []byte) (int, error) {
	<-w.release
	w.written += len(b)
	return len(b), nil
}
