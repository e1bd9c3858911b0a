package logs_test

import (
	"context"
	"io"
	"log/slog"
	"log/syslog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	logserver "github.com/meanwhile-go/meanwhile/logs/server"
)

// BenchmarkHandler measures the cost of one call of a logger for its caller, with a message and four attributes, from 1 and from 8
// goroutines: this project's handler with a server that acknowledges at once in the same process and without one (with its spool on disk,
// and without), compared with a handler that does nothing, slog's own for JSON to a file, and for JSON to a syslog server over TCP.
func BenchmarkHandler(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		for _, c := range []struct {
			name string
			open func(b *testing.B) slog.Handler
		}{
			{"meanwhile-up", func(b *testing.B) slog.Handler { return openHandler(b, serve(b), "") }},
			{"meanwhile-down-spool", func(b *testing.B) slog.Handler { return openHandler(b, "127.0.0.1:1", b.TempDir()) }},
			{"meanwhile-down", func(b *testing.B) slog.Handler { return openHandler(b, "127.0.0.1:1", logs.SpoolOff) }},
			{"slog-nothing", func(*testing.B) slog.Handler { return nothing{} }},
			{"slog-json-file", openJSON},
			{"slog-json-syslog", openSyslog},
		} {
			b.Run("goroutines="+strconv.Itoa(goroutines)+"/lib="+c.name, func(b *testing.B) {
				log := slog.New(c.open(b))
				ctx := b.Context()
				b.ReportAllocs()
				began := processorTime()
				defer func() { b.ReportMetric(float64(processorTime()-began)/float64(b.N), "cpu-ns/op") }()
				b.SetParallelism(max(1, goroutines/runtime.GOMAXPROCS(0)))
				if goroutines == 1 {
					for b.Loop() {
						logOne(ctx, log)
					}
					return
				}
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						logOne(ctx, log)
					}
				})
			})
		}
	}
}

// processorTime returns the processor time of this process, which is more meaningful than the elapsed time on a machine with
// other load. It includes the sending, and the server's part if the server is in this process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func logOne(ctx context.Context, log *slog.Logger) {
	log.LogAttrs(ctx, slog.LevelInfo, "request served",
		slog.String("method", "GET"), slog.String("path", "/search"), slog.Int("status", 200), slog.Duration("took", 1234567))
}

func openHandler(b *testing.B, address, spool string) slog.Handler {
	if spool == "" {
		spool = b.TempDir()
	}
	h, err := logs.NewHandler("tcp://"+address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{Spool: spool, OnError: func(error) {}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = h.Close(ctx)
		s := h.Sender().Stats()
		if s.Dropped > 0 {
			b.Logf("%d of %d were dropped", s.Dropped, s.Added+s.Dropped)
		}
	})
	return h
}

// A nothing discards all records: it shows the cost of slog itself.
type nothing struct{ slog.Handler }

func (nothing) Enabled(context.Context, slog.Level) bool  { return true }
func (nothing) Handle(context.Context, slog.Record) error { return nil }

// An ear acknowledges all records at once.
type ear struct{}

func (ear) Append(context.Context, ...*logs.Batch) error               { return nil }
func (ear) Last(context.Context, logs.Client) (last uint64, err error) { return 0, nil }

func serve(b *testing.B) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	sessions := logserver.NewSessions(ear{}, logserver.SessionConfig{})
	go func() {
		defer close(over)
		_ = meanwhile.Supervise(ctx, func(ctx context.Context) error {
			for {
				conn, err := l.Accept()
				if err != nil {
					return nil
				}
				meanwhile.Go(ctx, func(ctx context.Context) error {
					_, _ = sessions.Serve(ctx, conn, nil)
					return conn.Close()
				})
			}
		})
	}()
	b.Cleanup(func() {
		_ = l.Close()
		cancel()
		<-over
	})
	return l.Addr().String()
}

func openJSON(b *testing.B) slog.Handler {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = f.Close() })
	return slog.NewJSONHandler(f, nil)
}

// openSyslog does what programs do that log to syslog with the standard library.
func openSyslog(b *testing.B) slog.Handler {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, conn)
		}
	}()
	w, err := syslog.Dial("tcp", l.Addr().String(), syslog.LOG_INFO|syslog.LOG_USER, "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = w.Close() })
	return slog.NewJSONHandler(w, nil)
}
