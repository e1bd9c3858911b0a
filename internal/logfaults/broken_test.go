//go:build unix

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/process"
)

// breakWay is the environment variable that selects the defect of the server of a test: a key of breakers.
const breakWay = "MEANWHILE_LOGFAULTS_BREAK"

// breakers wrap the acceptor of the server in one with a defect.
var breakers = map[string]func(a server.Acceptor, ripe string) server.Acceptor{
	"":       func(a server.Acceptor, ripe string) server.Acceptor { return a },
	"trust":  func(a server.Acceptor, ripe string) server.Acceptor { return a },                           // its program is built with the defect
	"lines":  func(a server.Acceptor, ripe string) server.Acceptor { return &late{a, ripe, lineService} }, // and the server has no journal of line files
	"early":  func(a server.Acceptor, ripe string) server.Acceptor { return &early{Acceptor: a, ripe: ripe} },
	"forget": func(a server.Acceptor, ripe string) server.Acceptor { return &forgetful{Acceptor: a} },
	"twice":  func(a server.Acceptor, ripe string) server.Acceptor { return &twice{a, ripe} },
}

// ripeFile is a file beside the store that a broken server creates once, when a kill would do harm. A test waits for it, so that the harm does not
// depend on how busy the machine is.
func ripeFile(store string) string { return filepath.Join(filepath.Dir(store), "ripe") }

// becomeRipe creates the file, and reports whether it did not exist before.
func becomeRipe(name string) bool {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0o600)
	return err == nil && file.Close() == nil
}

// An early server acknowledges a batch when it receives it, and stores it only when it receives the next one of the same client, or shuts down in
// order.
type early struct {
	server.Acceptor
	ripe    string
	mu      sync.Mutex
	waiting map[logs.Client]*logs.Batch
}

func (s *early) Append(_ context.Context, batches ...*logs.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[logs.Client]*logs.Batch{}
	}
	for _, b := range batches {
		s.store(b.Client)
		c := *b
		c.Data = slices.Clone(b.Data)
		s.waiting[b.Client] = &c
	}
	becomeRipe(s.ripe)
	return nil
}

// store stores the batch of a client that was acknowledged early. The caller holds mu.
func (s *early) store(c logs.Client) {
	if b := s.waiting[c]; b != nil {
		_ = s.Acceptor.Append(context.Background(), b)
	}
	delete(s.waiting, c)
}

func (s *early) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.waiting {
		s.store(c)
	}
}

func (s *early) Last(ctx context.Context, c logs.Client) (uint64, error) {
	last, err := s.Acceptor.Last(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.waiting[c]; b != nil {
		last = max(last, b.Last)
	}
	return last, err
}

// A forgetful server acknowledges every third append without storing it.
type forgetful struct {
	server.Acceptor
	n atomic.Int64
}

func (s *forgetful) Append(ctx context.Context, batches ...*logs.Batch) error {
	if s.n.Add(1)%3 == 0 {
		return nil
	}
	return s.Acceptor.Append(ctx, batches...)
}

// A late server stores batches, but once, for a batch of service or of any, it does not acknowledge that before it is killed.
type late struct {
	server.Acceptor
	ripe    string
	service string // or ""
}

func (s *late) Append(ctx context.Context, batches ...*logs.Batch) error {
	if err := s.Acceptor.Append(ctx, batches...); err != nil {
		return err
	}
	if s.service != "" && !slices.ContainsFunc(batches, func(b *logs.Batch) bool { return b.Service == s.service }) {
		return nil
	}
	if becomeRipe(s.ripe) {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

// A twice server stores batches without their client, so that it does not recognize batches that it already has.
type twice struct {
	server.Acceptor
	ripe string
}

func (s *twice) Append(ctx context.Context, batches ...*logs.Batch) error {
	unknown := make([]*logs.Batch, len(batches))
	for i, b := range batches {
		c := *b
		c.Client = logs.Client{}
		unknown[i] = &c
	}
	return (&late{Acceptor: s.Acceptor, ripe: s.ripe}).Append(ctx, unknown...)
}

func (s *twice) Last(context.Context, logs.Client) (uint64, error) { return 0, nil }

// TestMain lets the test binary be the processes that the program starts, including the server.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "-role" {
		os.Exit(run(m))
	}
	c, err := parse(os.Args[1:], os.Stderr)
	if err != nil || c.role != "server" {
		main()
		return
	}
	process.Main(func(ctx context.Context) error { return serve(ctx, c.address, c.spool) })
}

func run(m *testing.M) int {
	var err error
	if builds, err = os.MkdirTemp("", "logfaults-test-*"); err != nil {
		panic(err)
	}
	defer os.RemoveAll(builds)
	return m.Run()
}

// serve runs a server with only its own protocol, and the defect that the environment names.
func serve(ctx context.Context, address, folder string) error {
	store, err := segment.Open(ctx, folder, segment.Config{Retention: segment.Retention{Age: keepAge}})
	if err != nil {
		return err
	}
	defer store.Close()
	to := []server.Destination{{File: &linefile.Config{Path: filepath.Join(filepath.Dir(folder), "lines.log"), MaxBytes: 1 << 20}}}
	var sessions *server.Sessions
	journal := filepath.Join(folder, "lines")
	if os.Getenv(breakWay) == "lines" {
		journal = ""
	}
	srv, err := server.New(server.Config{
		Store: store, Journal: journal,
		Routes: []server.Route{{Services: []string{lineService}, To: to}, {Services: []string{service}, To: append(to, server.Destination{Store: true})}},
		Listeners: []server.Listener{{Name: "own", Address: address, Serve: func(ctx context.Context, conn net.Conn, state []byte) ([]byte, error) {
			return sessions.Serve(ctx, conn, state)
		}}},
	})
	if err != nil {
		return err
	}
	acceptor := breakers[os.Getenv(breakWay)](srv.Acceptor(), ripeFile(folder))
	sessions = server.NewSessions(acceptor, server.SessionConfig{})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	unhook := context.AfterFunc(ctx, func() {
		if e, ok := acceptor.(*early); ok {
			e.end()
		}
		stop()
	})
	defer unhook()
	return srv.Run(serving)
}
