package dash

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// BenchmarkWire has a worker run 100 jobs a second of ten kinds in ten queues, and counts the bytes that a browser receives for a live page on
// which only digits change: for ten seconds after the first update; with -short for one second, and only compressed.
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

// stream opens a live page on a new connection.
func stream(address, path, encoding string) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAccept-Encoding: %s\r\n\r\n", path, address, encoding)
	return conn, err
}

// received counts the bytes that arrive within d after the first update.
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

// BenchmarkStreams opens 5,000 streams of a live page to "meanwhile serve" in a process of its own, on SQLite, whose queues change each second,
// and measures how much more memory that process uses while they are open and after they have been closed. With MEANWHILE_BENCH_JOBS=full they
// stay for a minute, and the memory that remains is measured five minutes later: an idle program collects its garbage every two minutes.
func BenchmarkStreams(b *testing.B) {
	const streams = 5000
	stay, leave := 5*time.Second, 5*time.Second
	if os.Getenv("MEANWHILE_BENCH_JOBS") == "full" {
		stay, leave = time.Minute, 5*time.Minute
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		b.Skip("the memory of another process is read from /proc: ", err)
	}
	program := filepath.Join(b.TempDir(), "meanwhile")
	build := exec.Command("go", "build", "-o", program, "./cmd/meanwhile")
	build.Dir = "../.."
	if said, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, said)
	}
	var with, after float64
	var served int
	for b.Loop() {
		address, memory := serve(b, program)
		closeAll, _ := manyStreams(b, address, 20) // memory that the first streams allocate stays
		closeAll()
		time.Sleep(3 * time.Second)
		before := memory()
		closeAll, served = manyStreams(b, address, streams)
		most := 0.0
		for begun := time.Now(); time.Since(begun) < stay; {
			enqueue(b, address)
			time.Sleep(time.Second)
			most = max(most, memory()-before)
		}
		with += most
		closeAll()
		time.Sleep(leave)
		after += memory() - before
	}
	b.ReportMetric(float64(served), "served")
	b.ReportMetric(with/float64(b.N), "MB-with")
	b.ReportMetric(after/float64(b.N), "MB-after")
	b.ReportMetric(0, "ns/op")
}

// serve starts a server, and returns its address and a function that returns how many megabytes of memory it uses.
func serve(b *testing.B, program string) (address string, memory func() float64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	address = listener.Addr().String()
	_ = listener.Close()
	server := exec.CommandContext(b.Context(), program, "serve", "--listen", address, "--store", "sqlite:"+filepath.Join(b.TempDir(), "jobs.db"))
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for begun := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + address + "/queues")
		if err == nil {
			_ = answer.Body.Close()
			break
		}
		if time.Since(begun) > time.Minute {
			b.Fatal(err)
		}
	}
	return address, func() float64 {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.Process.Pid))
		if err != nil {
			b.Fatal(err)
		}
		_, text, _ = bytes.Cut(text, []byte("\nVmRSS:"))
		var kilobytes float64
		if _, err := fmt.Sscan(string(text), &kilobytes); err != nil {
			b.Fatal(err)
		}
		return kilobytes * 1024 / 1e6
	}
}

// enqueue enqueues a job that nobody runs.
func enqueue(b *testing.B, address string) {
	answer, err := http.Post("http://"+address+"/api/v1/jobs", "application/json", strings.NewReader(`{"kind":"mail","queue":"mail"}`))
	if err != nil {
		b.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		b.Fatal(answer.Status)
	}
}

// manyStreams opens streams and reads their updates. It waits until each has an answer, and returns how many were not refused.
func manyStreams(b *testing.B, address string, n int) (closeAll func(), served int) {
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
		_ = conn.SetReadDeadline(time.Time{})
		go func() { _, _ = io.Copy(io.Discard, conn) }()
	}
	return func() {
		for _, conn := range open {
			_ = conn.Close()
		}
	}, served
}
