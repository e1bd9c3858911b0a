package dash

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// BenchmarkWire has a worker run 100 jobs a second of ten kinds in ten queues, and counts the bytes that a browser receives for a live page of
// which nothing but digits change: for ten seconds after the first update, with -short for one, and compressed only.
func BenchmarkWire(b *testing.B) {
	d, encodings := 10*time.Second, []string{"identity", "gzip"}
	if testing.Short() {
		d, encodings = time.Second, encodings[1:]
	}
	store, err := sqlite.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "jobs.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	server := httptest.NewServer(dash.New(dash.Config{Store: store}))
	defer server.Close()
	defer server.CloseClientConnections()
	err = meanwhile.Run(b.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, func(ctx context.Context) error { return tenQueues(ctx, store) }, meanwhile.InBackground())
		if err := meanwhile.Sleep(ctx, 3*time.Second); err != nil {
			return err
		}
		for _, path := range []string{"/", "/queues", "/queue?name=queue-1", "/kind?name=kind-1", "/workers", "/failures", "/jobs?state=discarded"} {
			for _, encoding := range encodings {
				b.Run(strings.NewReplacer("/", "_", "?", "_").Replace(path)+"/"+encoding, func(b *testing.B) {
					var total int
					for b.Loop() {
						n, err := received(ctx, server.Listener.Addr().String(), path, encoding, d)
						if err != nil {
							b.Fatal(err)
						}
						total += n
					}
					b.ReportMetric(float64(total)/float64(b.N)/d.Seconds(), "bytes/s")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// tenQueues enqueues and runs jobs, some of which fail.
func tenQueues(ctx context.Context, store job.Store) error {
	var handlers []job.Handler
	var queues []job.QueueConfig
	for i := range 10 {
		kind := job.Define[args](fmt.Sprintf("kind-%d", i), job.Queue(fmt.Sprintf("queue-%d", i)), job.MaxAttempts(1))
		queues = append(queues, job.QueueConfig{Name: fmt.Sprintf("queue-%d", i)})
		handlers = append(handlers, kind.Handle(func(_ context.Context, a args) error {
			if a.N < 100 {
				return fmt.Errorf("the upstream of %d does not answer", a.N)
			}
			return nil
		}))
		meanwhile.Go(ctx, func(ctx context.Context) error {
			for n := 0; ; n++ {
				if _, err := kind.Enqueue(ctx, store, args{n * 10}); err != nil {
					return err
				}
				if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
					return err
				}
			}
		}, meanwhile.InBackground())
	}
	return job.NewWorker(store, job.Config{Queues: queues, Concurrency: 100, Logger: slog.New(slog.DiscardHandler)}, handlers...).Run(ctx)
}

// stream opens a live page on a connection of its own.
func stream(address, path, encoding string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: %s\r\n\r\n", path, address, encoding)
	return conn, err
}

// received counts the bytes that come for a while after the first update.
func received(ctx context.Context, address, path, encoding string, d time.Duration) (n int, err error) {
	conn, err := stream(address, path, encoding)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	read := func(until time.Time) (n int64, err error) {
		_ = conn.SetReadDeadline(until)
		n, err = io.Copy(io.Discard, conn)
		if e, ok := err.(net.Error); ok && e.Timeout() {
			err = nil
		}
		return n, err
	}
	first, err := read(time.Now().Add(3 * time.Second))
	if err != nil || first == 0 {
		return 0, fmt.Errorf("%s: %d bytes at first: %v", path, first, err)
	}
	after, err := read(time.Now().Add(d))
	return int(after), err
}

// BenchmarkStreams opens 5,000 streams of a live page to one server, and measures what they take of its memory and what it has back after
// them. The other ends of the connections are in the same process, and count as well.
func BenchmarkStreams(b *testing.B) {
	const streams = 5000
	var with, after float64
	for b.Loop() {
		server := httptest.NewServer(dash.New(dash.Config{Store: memory.New()}))
		address := server.Listener.Addr().String()
		leave, _ := manyStreams(b, address, 20) // what the first ones make stays
		leave()
		before := inUse()
		leave, served := manyStreams(b, address, streams)
		with += inUse() - before
		leave()
		after += inUse() - before
		b.ReportMetric(float64(served), "served")
		server.CloseClientConnections()
		server.Close()
	}
	b.ReportMetric(with/float64(b.N), "MB-with")
	b.ReportMetric(after/float64(b.N), "MB-after")
	b.ReportMetric(0, "ns/op")
}

// manyStreams opens streams, waits until each has an answer, and returns how many were not refused.
func manyStreams(b *testing.B, address string, n int) (leave func(), served int) {
	var open []net.Conn
	for range n {
		conn, err := stream(address, "/queues", "gzip")
		if err != nil {
			b.Fatal(err)
		}
		open = append(open, conn)
	}
	answer := make([]byte, len("HTTP/1.1 200"))
	for _, conn := range open {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.ReadFull(conn, answer); err != nil {
			b.Fatal(err)
		}
		if strings.HasSuffix(string(answer), fmt.Sprint(http.StatusOK)) {
			served++
		}
	}
	time.Sleep(3 * time.Second)
	return func() {
		for _, conn := range open {
			_ = conn.Close()
		}
		open = nil
		time.Sleep(3 * time.Second)
	}, served
}

// inUse returns the megabytes that the process has from the system and has not given back.
func inUse() float64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.Sys-m.HeapReleased) / 1e6
}
