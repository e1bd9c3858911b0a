//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/segment"
)

// breakWay is the variable of the environment that names the way in which the server of a test is broken.
const breakWay = "MEANWHILE_LOGFAULTS_BREAK"

// breakers are the ways.
var breakers = map[string]func(logs.Acceptor) logs.Acceptor{
	"":       func(a logs.Acceptor) logs.Acceptor { return a },
	"trust":  func(a logs.Acceptor) logs.Acceptor { return a },        // it is built in another way
	"lines":  func(a logs.Acceptor) logs.Acceptor { return &late{a} }, // and it has no journal of line files
	"early":  func(a logs.Acceptor) logs.Acceptor { return &early{Acceptor: a} },
	"forget": func(a logs.Acceptor) logs.Acceptor { return &forgetful{Acceptor: a} },
	"twice":  func(a logs.Acceptor) logs.Acceptor { return &twice{a} },
}

// An early server acknowledges half a second before it keeps.
type early struct {
	logs.Acceptor
	mu      sync.Mutex
	last    map[logs.Client]uint64
	waiting []*logs.Batch
}

func (s *early) Append(_ context.Context, batches ...*logs.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[logs.Client]uint64{}
	}
	for _, b := range batches {
		c := *b
		c.Data = slices.Clone(b.Data)
		if len(s.waiting) == 0 {
			time.AfterFunc(500*time.Millisecond, s.store)
		}
		s.waiting = append(s.waiting, &c)
		s.last[b.Client] = b.Last
	}
	return nil
}

func (s *early) store() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.waiting { // of several clients
		_ = s.Acceptor.Append(context.Background(), b)
	}
	s.waiting = nil
}

func (s *early) Last(ctx context.Context, c logs.Client) (uint64, error) {
	s.mu.Lock()
	last := s.last[c]
	s.mu.Unlock()
	stored, err := s.Acceptor.Last(ctx, c)
	return max(last, stored), err
}

// A forgetful server acknowledges now and then what it does not keep.
type forgetful struct {
	logs.Acceptor
	mu sync.Mutex
	n  int
}

func (s *forgetful) Append(ctx context.Context, batches ...*logs.Batch) error {
	s.mu.Lock()
	s.n++
	forget := s.n%20 == 0
	s.mu.Unlock()
	if forget {
		return nil
	}
	return s.Acceptor.Append(ctx, batches...)
}

// A late server takes its time before it acknowledges.
type late struct{ logs.Acceptor }

func (s *late) Append(ctx context.Context, batches ...*logs.Batch) error {
	if err := s.Acceptor.Append(ctx, batches...); err != nil {
		return err
	}
	return meanwhile.Sleep(ctx, 20*time.Millisecond) // long enough to be killed before the acknowledgement
}

// A server that keeps twice does not know whose records it has already.
type twice struct{ logs.Acceptor }

func (s *twice) Append(ctx context.Context, batches ...*logs.Batch) error {
	unknown := make([]*logs.Batch, len(batches))
	for i, b := range batches {
		c := *b
		c.Client = logs.Client{}
		unknown[i] = &c
	}
	return (&late{s.Acceptor}).Append(ctx, unknown...)
}

func (s *twice) Last(context.Context, logs.Client) (uint64, error) { return 0, nil }

// TestMain lets the test binary be the processes that the program starts, and the server.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "-role" {
		os.Exit(run(m))
	}
	c, err := parse(os.Args[1:], os.Stderr)
	if err != nil || c.role != "server" {
		main()
		return
	}
	meanwhile.Main(func(ctx context.Context) error { return serve(ctx, c.address, c.spool) })
}

func run(m *testing.M) int {
	var err error
	if builds, err = os.MkdirTemp("", "logfaults-test-*"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(builds)
	return m.Run()
}

// serve is a server of nothing but the own protocol.
func serve(ctx context.Context, address, folder string) error {
	store, err := segment.Open(ctx, folder, segment.Config{Retention: segment.Retention{Age: keepAge}})
	if err != nil {
		return err
	}
	defer store.Close()
	to := []logs.Destination{{File: &logs.LineFile{Path: filepath.Join(filepath.Dir(folder), "lines.log"), MaxBytes: 1 << 20}}}
	var sessions *logs.Sessions
	journal := filepath.Join(folder, "lines")
	if os.Getenv(breakWay) == "lines" {
		journal = ""
	}
	server, err := logs.NewServer(logs.Config{
		Store: store, Journal: journal,
		Routes: []logs.Route{{Services: []string{lineService}, To: to}, {Services: []string{service}, To: append(to, logs.Destination{Store: true})}},
		Listeners: []logs.Listener{{Name: "own", Address: address, Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
			return sessions.Serve(ctx, conn, state)
		}}},
	})
	if err != nil {
		return err
	}
	sessions = logs.NewSessions(breakers[os.Getenv(breakWay)](server.Acceptor()), logs.SessionConfig{})
	return server.Run(ctx)
}
