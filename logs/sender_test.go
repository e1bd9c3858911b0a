package logs_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A testServer is the server's half over a store in memory, on a port that stays the same when it is stopped and started.
type testServer struct {
	t       testing.TB
	store   *logtest.Memory
	keeper  server.Acceptor // what the server keeps records in: the store, unless a test says otherwise
	address string

	mu    sync.Mutex
	stops []func()
}

func newTestServer(t testing.TB) *testServer {
	t.Helper()
	port, err := harm.FreePort() // it listens there again after a stop
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{t: t, store: logtest.NewMemory(), address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	s.keeper = s.store
	t.Cleanup(s.stop)
	return s
}

// start serves until stop, which closes connections abruptly, like a killed process.
func (s *testServer) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan struct{})
	sessions := server.NewSessions(s.keeper, server.SessionConfig{})
	go func() {
		defer close(over)
		_ = meanwhile.Supervise(ctx, func(ctx context.Context) error {
			for {
				conn, err := l.Accept()
				if err != nil {
					return nil
				}
				meanwhile.Go(ctx, func(ctx context.Context) error {
					defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
					_, _ = sessions.Serve(ctx, conn, nil)
					return conn.Close()
				})
			}
		})
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = append(s.stops, func() {
		_ = l.Close()
		cancel()
		<-over
	})
}

func (s *testServer) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stop := range s.stops {
		stop()
	}
	s.stops = nil
}

func (s *testServer) sender(o logs.SenderOptions) *logs.Sender {
	s.t.Helper()
	if o.Spool == "" {
		o.Spool = s.t.TempDir()
	}
	if o.OnError == nil {
		o.OnError = func(err error) { s.t.Logf("reported: %v", err) }
	}
	sender, err := logs.NewSender("tcp://"+s.address, &o)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = sender.Close(ctx)
	})
	return sender
}

// addAll adds numbered records.
func addAll(t *testing.T, s *logs.Sender, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := s.Send(t.Context(), &logs.View{Message: fmt.Appendf(nil, "message %d", n)}); err != nil {
			t.Fatal(err)
		}
	}
}

// wantAll checks that a client's messages are those numbered, each once and in order.
func (s *testServer) wantAll(client logs.Client, n int) {
	s.t.Helper()
	got := s.store.Of(client)
	want := make([]string, n)
	for i := range want {
		want[i] = fmt.Sprintf("message %d", i+1)
	}
	if slices.Equal(got, want) {
		return
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			s.t.Errorf("record %d of %d is %q, want %q", i, len(got), got[i], want[i])
			return
		}
	}
	s.t.Errorf("got %d records, want %d", len(got), n)
}

func flush(t *testing.T, s *logs.Sender) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestSenderSends(t *testing.T) {
	for _, compress := range []string{"none", "zstd"} {
		server := newTestServer(t)
		server.start()
		s := server.sender(logs.SenderOptions{Compress: compress})
		addAll(t, s, 1, 20_000)
		flush(t, s)
		server.wantAll(s.Client(), 20_000)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Add(&logs.View{}); !errors.Is(err, logs.ErrClosed) {
			t.Errorf("after Close: got %v, want logs.ErrClosed", err)
		}
		if stats := s.Stats(); stats.Added != 20_000 || stats.Acknowledged != 20_000 || stats.Dropped != 1 {
			t.Errorf("got %+v", stats)
		}
	}
}

// TestSenderWithoutServer starts without a server; records go to the spool, and to the server when it is started.
func TestSenderWithoutServer(t *testing.T) {
	t.Parallel()
	server := newTestServer(t)
	s := server.sender(logs.SenderOptions{MemoryBytes: 64 << 10})
	addAll(t, s, 1, 20_000)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	pending, ok := errors.AsType[*logs.PendingError](s.Flush(ctx))
	if !ok || pending.Spooled == 0 || pending.Memory+pending.Spooled != 20_000 {
		t.Errorf("got %v, want 20000 not acknowledged, most of them in the spool", pending)
	}
	server.start()
	addAll(t, s, 20_001, 30_000)
	flush(t, s)
	server.wantAll(s.Client(), 30_000)
}

// TestSenderKilledServer kills the server again and again, at any moment.
func TestSenderKilledServer(t *testing.T) {
	server := newTestServer(t)
	s := server.sender(logs.SenderOptions{MemoryBytes: 256 << 10, Linger: -1})
	for round := range 20 {
		if round%5 != 4 { // every now and then it stays away
			server.start()
		}
		addAll(t, s, round*1000+1, round*1000+1000)
		server.stop()
	}
	server.start()
	flush(t, s)
	server.wantAll(s.Client(), 20_000)
}

// TestSenderLeavesASpool closes without a server: the next sender with this folder sends what is left, under the first
// one's identity, and the folder is empty afterwards.
func TestSenderLeavesASpool(t *testing.T) {
	server := newTestServer(t)
	dir := t.TempDir()
	first := server.sender(logs.SenderOptions{Spool: dir})
	addAll(t, first, 1, 5000)
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.start()
	second := server.sender(logs.SenderOptions{Spool: dir})
	addAll(t, second, 1, 10)
	flush(t, second)
	testenv.Await(t, func() bool { return len(server.store.Of(first.Client())) == 5000 })
	server.wantAll(first.Client(), 5000)
	server.wantAll(second.Client(), 10)
	testenv.Await(t, func() bool { return len(testenv.FileNames(t, dir)) == 0 })
}

// TestSenderShortLived closes senders at once: the first that finds the server sends what those before it have left.
func TestSenderShortLived(t *testing.T) {
	server := newTestServer(t)
	dir := t.TempDir()
	var all []*logs.Sender
	for i := range 4 {
		if i == 3 {
			server.start()
		}
		s := server.sender(logs.SenderOptions{Spool: dir})
		all = append(all, s)
		addAll(t, s, 1, 10)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
	for _, s := range all {
		server.wantAll(s.Client(), 10)
	}
	if left := testenv.FileNames(t, dir); len(left) > 0 {
		t.Errorf("in the spool there is still %v", left)
	}
}
