//go:build unix

package logs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/process"
)

// TestRole is not a test: the processes that other tests start and kill run it.
func TestRole(t *testing.T) {
	role := testenv.RoleArgs()
	if len(role) == 0 {
		t.Skip("part of other tests")
	}
	switch role[0] {
	case "client":
		clientRole(role[1], role[2])
	case "server":
		serverRole(role[1], role[2])
	case "dropper":
		dropperRole(role[1], role[2])
	case "main":
		mainRole(role[1], role[2])
	}
	os.Exit(0)
}

// clientRole logs numbers as fast as possible, and prints up to which one all are acknowledged.
func clientRole(address, spool string) {
	h, err := logs.NewHandler("tcp://"+address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{
		Spool: spool, MemoryBytes: 256 << 10, Linger: time.Millisecond, OnError: func(error) {},
	}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Printf("client %s\n", h.Sender().Client())
	for n := 1; ; n++ {
		if err := h.Sender().Send(ctx, &logs.View{Message: strconv.AppendInt(nil, int64(n), 10)}); err != nil {
			panic(err)
		}
		if n%500 == 0 {
			short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			if h.Flush(short) == nil {
				fmt.Printf("acknowledged %d\n", n)
			}
			cancel()
		}
	}
}

// dropperRole logs more than fits into its spool, prints how many records were dropped, and waits to be killed.
func dropperRole(address, spool string) {
	s, err := logs.NewSender("tcp://"+address, &logs.SenderOptions{Service: "dropper", Spool: spool, SpoolBytes: 256 << 10, MemoryBytes: 64 << 10, OnError: func(error) {}})
	if err != nil {
		panic(err)
	}
	for n := range 30_000 {
		if err := s.Send(context.Background(), &logs.View{Message: fmt.Appendf(nil, "message %d", n)}); err != nil {
			panic(err)
		}
	}
	for s.Stats().Memory > 0 {
		<-time.After(time.Millisecond)
	}
	fmt.Printf("dropped %d\n", s.Stats().Dropped)
	select {}
}

// TestKilledClientsReportDrops kills clients that have dropped records while the server is down. Then it repeatedly kills the client that
// reports for them, and the server: in the end, all dropped records are reported once.
func TestKilledClientsReportDrops(t *testing.T) {
	testenv.LongTest(t)
	t.Parallel()
	dir := t.TempDir()
	address, spool, path := newTestServer(t).address, filepath.Join(dir, "spool"), filepath.Join(dir, "lines")
	var want int64
	for range 3 {
		client := testenv.StartRole(t, "dropper", address, spool)
		n, err := strconv.ParseInt(client.Wait(t, "dropped"), 10, 64)
		if err != nil || n == 0 {
			t.Fatalf("%d dropped, %v", n, err)
		}
		want += n
		client.Kill()
	}
	for round := 0; ; round++ {
		server := testenv.StartRole(t, "server", address, path)
		server.Wait(t, "ready")
		last := testenv.StartRole(t, "client", address, spool)
		id := last.Wait(t, "client")
		if round < 5 {
			last.Wait(t, "acknowledged")
			<-time.After(time.Duration(round) * 20 * time.Millisecond)
			server.Kill()
			last.Kill()
			continue
		}
		testenv.Await(t, func() bool {
			names, _ := os.ReadDir(spool)
			return len(names) == 0 || len(names) == 1 && names[0].Name() == id
		})
		last.Kill()
		server.Kill()
		break
	}
	store, err := openLineStore(path)
	if err != nil {
		t.Fatal(err)
	}
	if reported, _ := store.Reported(); reported != want {
		t.Errorf("%d dropped records are reported, want %d", reported, want)
	}
}

// mainRole logs a thousand numbers and waits for a signal. It does not call Close.
func mainRole(address, spool string) {
	process.Main(func(ctx context.Context) error {
		h, err := logs.NewHandler("tcp://"+address, &logs.HandlerOptions{SenderOptions: logs.SenderOptions{
			Spool: spool, Linger: time.Hour, OnError: func(error) {},
		}})
		if err != nil {
			return err
		}
		fmt.Printf("client %s\n", h.Sender().Client())
		log := slog.New(h)
		for n := range 1000 {
			log.InfoContext(ctx, fmt.Sprintf("message %d", n+1))
		}
		fmt.Println("logged")
		<-ctx.Done()
		return context.Cause(ctx)
	})
}

// TestMainLosesNothing ends programs by a signal, with a server and without one: their records are at the server, or in the spool for the
// next program.
func TestMainLosesNothing(t *testing.T) {
	server, spool := newTestServer(t), filepath.Join(t.TempDir(), "spool")
	end := func() logs.Client {
		t.Helper()
		p := testenv.StartRole(t, "main", server.address, spool)
		id, err := logs.ParseClient(p.Wait(t, "client"))
		if err != nil {
			t.Fatal(err)
		}
		p.Wait(t, "logged")
		if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		for range p.Lines { // until the process has ended
		}
		return id
	}
	without := end()
	if len(testenv.FileNames(t, spool)) != 1 {
		t.Error("without a server: nothing is in the spool")
	}
	server.start()
	with := end()
	server.wantAll(with, 1000)
	server.sender(logs.SenderOptions{Spool: spool})
	testenv.Await(t, func() bool { return len(server.store.Of(without)) == 1000 })
	server.wantAll(without, 1000)
}

// serverRole keeps a line for each batch in a file, without a sync: only the process is killed, not the machine. At its start it removes a
// line that was cut off by a kill.
func serverRole(address, path string) {
	store, err := openLineStore(path)
	if err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		panic(err)
	}
	sessions := server.NewSessions(store, server.SessionConfig{})
	fmt.Println("ready")
	_ = meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		for {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			meanwhile.Go(ctx, func(ctx context.Context) error {
				_, _ = sessions.Serve(ctx, conn, nil)
				return conn.Close()
			})
		}
	})
}

// A lineStore is a store in a file with a line for each batch: the client, the number of the last record, and the messages, with _ for spaces.
type lineStore struct {
	*logtest.Memory
	f *os.File
}

func openLineStore(path string) (*lineStore, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	s := &lineStore{Memory: logtest.NewMemory(), f: f}
	whole := int64(0)
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		whole += int64(len(line))
		fields := strings.Fields(line)
		client, err := logs.ParseClient(fields[0])
		if err != nil {
			return nil, err
		}
		if s.Numbers[client], err = strconv.ParseUint(fields[1], 10, 64); err != nil {
			return nil, err
		}
		for _, message := range fields[2:] {
			s.Messages[client] = append(s.Messages[client], strings.ReplaceAll(message, "_", " "))
		}
	}
	if err := f.Truncate(whole); err != nil {
		return nil, err
	}
	_, err = f.Seek(whole, io.SeekStart)
	return s, err
}

func (s *lineStore) Append(ctx context.Context, batches ...*logs.Batch) error {
	s.Mu.Lock()
	for _, b := range batches {
		if b.Last <= s.Numbers[b.Client] {
			continue
		}
		line := fmt.Appendf(nil, "%s %d", b.Client, b.Last)
		for v, err := range b.Views {
			if err != nil {
				return err
			}
			line = append(append(line, ' '), strings.ReplaceAll(string(v.Message), " ", "_")...)
		}
		half := len(line) / 2 // in two writes, so that a kill can come between them
		if _, err := s.f.Write(line[:half]); err != nil {
			return err
		}
		if _, err := s.f.Write(append(line[half:], '\n')); err != nil {
			return err
		}
	}
	s.Mu.Unlock()
	return s.Memory.Append(ctx, batches...)
}

// TestKilledProcesses kills clients and servers in turn with kill -9, clients also before their server runs again. A last client sends the
// spools of the others. All acknowledged records are stored once and in order.
func TestKilledProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	address, spool, path := newTestServer(t).address, filepath.Join(dir, "spool"), filepath.Join(dir, "lines")
	acknowledged := map[string]int{} // by client
	server := testenv.StartRole(t, "server", address, path)
	server.Wait(t, "ready")
	for round := range 4 {
		client := testenv.StartRole(t, "client", address, spool)
		id := client.Wait(t, "client")
		client.Wait(t, "acknowledged")
		server.Kill()
		server = testenv.StartRole(t, "server", address, path)
		server.Wait(t, "ready")
		server.Kill() // twice in a row
		if round%2 == 0 {
			server = testenv.StartRole(t, "server", address, path)
			server.Wait(t, "ready")
			client.Wait(t, "acknowledged")
		} else {
			testenv.Await(t, func() bool { return spooled(dir, id) })
		}
		for _, line := range client.Kill() {
			if n, err := strconv.Atoi(strings.TrimPrefix(line, "acknowledged ")); err == nil {
				acknowledged[id] = max(acknowledged[id], n)
			}
		}
		if round%2 == 1 {
			server = testenv.StartRole(t, "server", address, path)
			server.Wait(t, "ready")
		}
	}
	last := testenv.StartRole(t, "client", address, spool)
	id := last.Wait(t, "client")
	last.Wait(t, "acknowledged")
	testenv.Await(t, func() bool {
		names, _ := os.ReadDir(spool)
		return len(names) == 0 || len(names) == 1 && names[0].Name() == id
	})
	last.Kill()
	server.Kill()

	store, err := openLineStore(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(store.Messages) < 5 {
		t.Errorf("records of %d clients, want 5", len(store.Messages))
	}
	for client, messages := range store.Messages {
		for i, m := range messages {
			if m != strconv.Itoa(i+1) {
				t.Fatalf("client %s: record %d is %q", client, i+1, m)
			}
		}
		if n := acknowledged[client.String()]; len(messages) < n {
			t.Errorf("client %s: %d records are stored, %d were acknowledged", client, len(messages), n)
		}
	}
}

// spooled reports whether a client has files in its spool.
func spooled(dir, client string) bool {
	names, _ := filepath.Glob(filepath.Join(dir, "spool", client, "*.spool"))
	return len(names) > 0
}
