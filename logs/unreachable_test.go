package logs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"

	"github.com/meanwhile-go/meanwhile/internal/clockcheck"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A plug is a network in memory that can be unplugged: connections stay open, but nothing arrives.
type plug struct {
	sessions *server.Sessions
	ctx      context.Context
	out      chan struct{} // closed while the network is plugged in; replaced when it is unplugged
}

func (p *plug) dial(ctx context.Context) (net.Conn, error) {
	select {
	case <-p.out:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-time.After(logs.ConnectTimeout):
		return nil, errors.New("no route")
	}
	client, near := net.Pipe()
	far, server := net.Pipe()
	meanwhile.Go(p.ctx, func(ctx context.Context) error {
		_, _ = p.sessions.Serve(ctx, server, nil)
		return server.Close()
	})
	forward := func(to, from net.Conn) {
		buf := make([]byte, 1<<10)
		for {
			n, err := from.Read(buf)
			select {
			case <-p.out:
			case <-p.ctx.Done():
			}
			if err == nil {
				_, err = to.Write(buf[:n])
			}
			if err != nil {
				_ = to.Close()
				_ = from.Close()
				return
			}
		}
	}
	go forward(far, near)
	go forward(near, far)
	return client, nil
}

// unreachable dials a server that cannot be reached.
func unreachable(context.Context) (net.Conn, error) { return nil, io.ErrClosedPipe }

// TestSenderUnplugged unplugs the network for an hour while records are sent. Memory stays bounded, and all records arrive once and in order.
func TestSenderUnplugged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		_ = meanwhile.Supervise(ctx, func(ctx context.Context) error {
			srv := &testServer{t: t, store: logtest.NewMemory()}
			p := &plug{sessions: server.NewSessions(srv.store, server.SessionConfig{}), ctx: ctx, out: make(chan struct{})}
			close(p.out)
			s, err := logs.NewSender("tcp://nowhere", logs.WithDial(p.dial, logs.SenderOptions{Spool: t.TempDir(), MemoryBytes: 64 << 10, OnError: func(error) {}}))
			if err != nil {
				t.Fatal(err)
			}
			addAll(t, s, 1, 100)
			if err := s.Flush(ctx); err != nil {
				t.Error(err)
			}
			p.out = make(chan struct{})
			for n := range 60 {
				addAll(t, s, 101+n*100, 200+n*100)
				if err := meanwhile.Sleep(ctx, time.Minute); err != nil {
					return err
				}
			}
			if stats := s.Stats(); stats.Online || stats.Dropped > 0 || stats.Spooled == 0 {
				t.Errorf("unplugged: got %+v", stats)
			}
			close(p.out)
			addAll(t, s, 6101, 6200)
			if err := s.Flush(ctx); err != nil {
				t.Error(err)
			}
			srv.wantAll(s.Client(), 6200)
			if err := s.Close(ctx); err != nil {
				t.Error(err)
			}
			cancel()
			return nil
		})
	})
}

// TestSenderAwayForLong keeps the server down until the spool is full: dropped records are counted, and reported by records.
func TestSenderAwayForLong(t *testing.T) {
	testenv.LongTest(t) // it waits until the sender connects again
	t.Parallel()
	server := newTestServer(t)
	s := server.sender(logs.SenderOptions{MemoryBytes: 64 << 10, SpoolBytes: 256 << 10})
	addAll(t, s, 1, 30_000)
	// A record that is dropped while it is in flight counts as dropped, though the server may have received it.
	testenv.Await(t, func() bool { return s.Stats().Memory == 0 })
	server.start()
	flush(t, s)
	want := s.Stats().Dropped
	testenv.Await(t, func() bool { dropped, _ := server.store.Reported(); return dropped >= want })
	if dropped, kept := server.store.Reported(); dropped != want || kept == 30_000 || kept+want != 30_000 {
		t.Errorf("of 30000 records, %d are stored, %d were dropped, and %d are reported as dropped", kept, want, dropped)
	}
}

// TestSenderSmallSpool has a spool that is smaller than memory. When more records than fit are spooled at once, the newest stay.
func TestSenderSmallSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 1 << 20
		s, err := logs.NewSender("tcp://nowhere", logs.WithDial(unreachable, logs.SenderOptions{
			Spool: t.TempDir(), SpoolBytes: limit, Compress: "none", OnError: func(error) {},
		}))
		if err != nil {
			t.Fatal(err)
		}
		message := bytes.Repeat([]byte("x"), 1000)
		for round := range 3 {
			for range 3500 {
				if err := s.Add(&logs.View{Message: message}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Minute)
			if stats := s.Stats(); stats.Spooled > limit || stats.Spooled < limit/2 {
				t.Errorf("round %d: got %+v, want between half of %d bytes and all of them spooled", round, stats, limit)
			}
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSenderFullDisk has a spool that cannot be written for a while. Records stay in memory, and are spooled later.
func TestSenderFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "spool")
		if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file in place of the folder
			t.Fatal(err)
		}
		reported := make(chan error, 100)
		s, err := logs.NewSender("tcp://nowhere", logs.WithDial(unreachable, logs.SenderOptions{
			Spool: folder, MemoryBytes: 64 << 10, OnError: func(err error) { reported <- err },
		}))
		if err != nil {
			t.Fatal(err)
		}
		addAll(t, s, 1, 100)
		time.Sleep(10 * time.Minute)
		if stats := s.Stats(); stats.Memory == 0 || stats.Spooled != 0 || stats.Dropped != 0 {
			t.Errorf("without a disk: got %+v", stats)
		}
		if err := os.Remove(folder); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if stats := s.Stats(); stats.Memory != 0 || stats.Spooled == 0 || stats.Dropped != 0 {
			t.Errorf("with a disk again: got %+v", stats)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(reported); n == 0 || n > 12 {
			t.Errorf("OnError was called %d times in eleven minutes, want 1 to 12", n)
		}
	})
}

// TestSenderRemovedSpool removes the spool. The error at the end counts all records that were in it.
func TestSenderRemovedSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := filepath.Join(t.TempDir(), "spool")
		s, err := logs.NewSender("tcp://nowhere", logs.WithDial(unreachable, logs.SenderOptions{Spool: folder, OnError: func(error) {}}))
		if err != nil {
			t.Fatal(err)
		}
		addAll(t, s, 1, 100)
		time.Sleep(time.Minute)
		if stats := s.Stats(); stats.Spooled == 0 || stats.Memory != 0 {
			t.Fatalf("got %+v, want all records spooled", stats)
		}
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
		addAll(t, s, 101, 150)
		time.Sleep(time.Minute)
		addAll(t, s, 151, 200)
		if err := s.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "200 log records were not sent") {
			t.Errorf("got %v", err)
		}
	})
}

// TestSenderForgetsOldSpools: records that are older than SpoolAge are dropped, also from the spools of dead processes.
func TestSenderForgetsOldSpools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		open := func() *logs.Sender {
			s, err := logs.NewSender("tcp://nowhere", logs.WithDial(unreachable, logs.SenderOptions{
				Spool: folder, SpoolAge: 24 * time.Hour, OnError: func(error) {},
			}))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		dead := open()
		addAll(t, dead, 1, 10)
		synctest.Wait()
		if err := dead.Close(t.Context()); err != nil {
			t.Error(err)
		}
		// The files are dated by the clock of the machine, not by that of the synctest bubble.
		paths, _ := filepath.Glob(filepath.Join(folder, "*", "*.spool"))
		old := time.Now().Add(-25 * time.Hour)
		if len(paths) != 1 || os.Chtimes(paths[0], old, old) != nil {
			t.Fatalf("got %v", paths)
		}
		s := open()
		addAll(t, s, 1, 5)
		time.Sleep(2 * time.Minute)
		if got := s.Stats().Dropped; got != 0 {
			t.Errorf("got %d dropped by a clock that may be wrong, want 0", got)
		}
		time.Sleep(clockcheck.TrustAfter)
		if got := s.Stats().Dropped; got != 10 {
			t.Errorf("got %d dropped, want 10", got)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestSendersShareAFolder: several senders, as of several processes, concurrently take over the spools that others have left in a shared folder.
func TestSendersShareAFolder(t *testing.T) {
	server, folder := newTestServer(t), t.TempDir()
	var dead []*logs.Sender
	for range 5 {
		s := server.sender(logs.SenderOptions{Spool: folder})
		addAll(t, s, 1, 1000)
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		dead = append(dead, s)
	}
	server.start()
	for range 3 {
		s := server.sender(logs.SenderOptions{Spool: folder})
		addAll(t, s, 1, 100)
		dead = append(dead, s)
		defer func() { server.wantAll(s.Client(), 100) }()
	}
	for _, s := range dead[:5] {
		testenv.Await(t, func() bool { return len(server.store.Of(s.Client())) >= 1000 })
		server.wantAll(s.Client(), 1000)
	}
	for _, s := range dead[5:] {
		flush(t, s)
	}
}
