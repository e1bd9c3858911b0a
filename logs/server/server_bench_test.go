package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// frame is a message of Analogger.
func frame(service, severity, message string) string {
	n := 11 + len(service) + len(severity) + len(message)
	return fmt.Sprintf("%04d%04d:%s:%s:%s", n, n, service, severity, message)
}

// run runs a server with an input for Analogger while f is called with its address.
func run(t testing.TB, c server.Config, f func(ctx context.Context, s *server.Server, address string)) {
	t.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	}
	if c.Listeners == nil {
		c.Listeners = []server.Listener{{Name: "analogger", Address: "127.0.0.1:0", Protocol: &analogger.Protocol{}}}
	}
	s, err := server.New(c)
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		inner, stop := context.WithCancel(ctx)
		defer stop()
		server := meanwhile.Go(ctx, func(context.Context) error {
			if err := s.Run(inner); inner.Err() == nil {
				return fmt.Errorf("the server ended: %w", err)
			}
			return nil
		})
		for s.Addr(c.Listeners[0].Name) == nil {
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		f(ctx, s, s.Addr(c.Listeners[0].Name).String())
		stop()
		_, err := server.Wait(ctx)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(line []byte) (int, error) {
	w.t.Logf("%s", line)
	return len(line), nil
}

// dial opens a connection, and waits until it is accepted.
func dial(t testing.TB, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(conn, frame("test", "authentication", "")); err != nil {
		t.Fatal(err)
	}
	reply := make([]byte, 9)
	if _, err := io.ReadFull(conn, reply); err != nil || string(reply) != "accepted\n" {
		t.Fatalf("the server says %q, %v", reply, err)
	}
	return conn
}

func toFile(path string) []server.Route {
	return []server.Route{{To: []server.Destination{{File: &linefile.Config{Path: path}}}}}
}

var message100 = strings.Repeat("a message of a hundred bytes, ", 4)[:100-len("api:info::00000000")]

// BenchmarkServeAnalogger receives messages of 100 bytes over loopback, from connections of the same process, and writes them to a file.
func BenchmarkServeAnalogger(b *testing.B) {
	for _, connections := range []int{1, 8, 200} {
		b.Run(fmt.Sprint(connections), func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "api.log")
			message := []byte(frame("api", "info", message100))
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			run(b, server.Config{Routes: toFile(path), Sync: linefile.SyncOS, Logger: slog.New(slog.DiscardHandler)}, func(ctx context.Context, s *server.Server, address string) {
				each := b.N/connections + 1
				block := []byte(strings.Repeat(string(message), 1000))
				var conns []net.Conn
				for range connections {
					conns = append(conns, dial(b, address))
				}
				b.ResetTimer()
				_ = meanwhile.Run(ctx, func(ctx context.Context) error {
					for _, conn := range conns {
						meanwhile.Go(ctx, func(context.Context) error {
							for left := each; left > 0; left -= 1000 {
								if _, err := conn.Write(block[:len(message)*min(left, 1000)]); err != nil {
									b.Error(err)
								}
							}
							return conn.Close()
						})
					}
					return nil
				})
				want := int64(each * connections)
				for s.Stats().Services["api"].Records < want {
					_ = meanwhile.Sleep(ctx, time.Millisecond)
				}
				b.StopTimer()
			})
			info, err := os.Stat(path)
			if err != nil || info.Size() != int64(b.N/connections+1)*int64(connections)*int64(len(message100)+len("2006/01/02 15:04:05|api|info|\n")) {
				b.Errorf("%v, %v", info.Size(), err)
			}
		})
	}
}

// BenchmarkFeedLines parses frames and makes lines of them, without connections, and for an output that discards them.
func BenchmarkFeedLines(b *testing.B) {
	s, err := server.New(server.Config{Routes: []server.Route{{To: []server.Destination{{Writer: io.Discard}}}}, Sync: linefile.SyncOS})
	if err != nil {
		b.Fatal(err)
	}
	_ = meanwhile.Run(b.Context(), func(ctx context.Context) error {
		inner, stop := context.WithCancel(ctx)
		meanwhile.Go(ctx, func(context.Context) error { _ = s.Run(inner); return nil })
		to := s.Batcher("test")
		p := (&analogger.Protocol{}).Parser("", []byte{1})
		block := []byte(strings.Repeat(frame("api", "info", message100), 600))
		b.ReportAllocs()
		for n := 0; n < b.N; n += 600 {
			if _, _, err := p.Parse(block, to); err != nil {
				b.Fatal(err)
			}
			if err := to.Flush(ctx); err != nil {
				b.Fatal(err)
			}
		}
		stop()
		return nil
	})
}

// BenchmarkAcceptFile appends batches of 100 records, of eight clients of the own protocol, to one file.
func BenchmarkAcceptFile(b *testing.B) {
	for _, sync := range []linefile.Sync{linefile.SyncAlways, linefile.SyncInterval, linefile.SyncOS} {
		b.Run("sync="+string(sync), func(b *testing.B) {
			const clients, records = 8, 100
			dir := b.TempDir()
			v := logs.View{Time: time.Now().UnixNano(), Message: []byte(message100)}
			batch := logs.Batch{Service: "api"}
			for range records {
				batch.Add(&v)
			}
			c := server.Config{Routes: toFile(filepath.Join(dir, "api.log")), Journal: filepath.Join(dir, "journal"), Sync: sync, Logger: slog.New(slog.DiscardHandler)}
			run(b, c, func(ctx context.Context, s *server.Server, _ string) {
				to := s.Acceptor()
				b.SetBytes(int64(len(batch.Data)) * clients)
				b.ResetTimer()
				_ = meanwhile.Run(ctx, func(ctx context.Context) error {
					for range clients {
						meanwhile.Go(ctx, func(ctx context.Context) error {
							mine := batch
							mine.Client = logs.NewClient()
							for range b.N {
								mine.First, mine.Last = mine.Last+1, mine.Last+records
								if err := to.Append(ctx, &mine); err != nil {
									b.Error(err)
									return err
								}
							}
							return nil
						})
					}
					return nil
				})
				b.StopTimer()
			})
		})
	}
}

// BenchmarkServeSyslog receives messages of RFC 5424 over loopback, from eight connections of the same process, and writes them to a file
// or to a store, which has made segments of its closed journals at the end.
func BenchmarkServeSyslog(b *testing.B) {
	const connections = 8
	message := []byte("<134>1 2026-05-04T03:02:01.123456Z host1 api 4711 - - " + message100[:46] + "\n")
	for _, to := range []string{"file", "store"} {
		b.Run(to, func(b *testing.B) {
			b.SetBytes(int64(len(message)))
			b.ReportAllocs()
			err := meanwhile.Run(b.Context(), func(ctx context.Context) error {
				store, err := segment.Open(ctx, b.TempDir(), segment.Config{Bytes: -1, Logger: slog.New(slog.DiscardHandler)})
				if err != nil {
					return err
				}
				c := server.Config{Store: store, Logger: slog.New(slog.DiscardHandler), Listeners: []server.Listener{{Name: "syslog", Address: "127.0.0.1:0", Protocol: &syslog.Protocol{}}}}
				if to == "file" {
					c.Routes = toFile(filepath.Join(b.TempDir(), "api.log"))
				}
				run(b, c, func(ctx context.Context, s *server.Server, address string) {
					block := bytes.Repeat(message, 1000)
					each := b.N/connections + 1
					b.ResetTimer()
					for range connections {
						conn := dialPlain(b, address)
						meanwhile.Go(ctx, func(context.Context) error {
							for left := each; left > 0; left -= 1000 {
								if _, err := conn.Write(block[:len(message)*min(left, 1000)]); err != nil {
									b.Error(err)
								}
							}
							return conn.Close()
						})
					}
					for s.Stats().Services["api"].Records < int64(each*connections) {
						_ = meanwhile.Sleep(ctx, time.Millisecond)
					}
				})
				err = store.Close()
				b.StopTimer()
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}

func dialPlain(tb testing.TB, address string) net.Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	return conn
}
