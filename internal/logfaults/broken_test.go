//go:build unix

package main

import (
	"context"
	"net"
	"os"
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
var breakers = map[string]func(logs.Store) logs.Acceptor{
	"":       func(s logs.Store) logs.Acceptor { return s },
	"early":  func(s logs.Store) logs.Acceptor { return &early{Store: s} },
	"forget": func(s logs.Store) logs.Acceptor { return &forgetful{Store: s} },
	"twice":  func(s logs.Store) logs.Acceptor { return &twice{s} },
}

// An early store acknowledges half a second before it stores.
type early struct {
	logs.Store
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
	_ = s.Store.Append(context.Background(), s.waiting...)
	s.waiting = nil
}

func (s *early) Last(ctx context.Context, c logs.Client) (uint64, error) {
	s.mu.Lock()
	last := s.last[c]
	s.mu.Unlock()
	stored, err := s.Store.Last(ctx, c)
	return max(last, stored), err
}

// A forgetful store acknowledges now and then what it does not store.
type forgetful struct {
	logs.Store
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
	return s.Store.Append(ctx, batches...)
}

// A store that stores twice does not know whose records it has already.
type twice struct{ logs.Store }

func (s *twice) Append(ctx context.Context, batches ...*logs.Batch) error {
	unknown := make([]*logs.Batch, len(batches))
	for i, b := range batches {
		c := *b
		c.Client = logs.Client{}
		unknown[i] = &c
	}
	if err := s.Store.Append(ctx, unknown...); err != nil {
		return err
	}
	return meanwhile.Sleep(ctx, 20*time.Millisecond) // long enough to be killed before the acknowledgement
}

func (s *twice) Last(context.Context, logs.Client) (uint64, error) { return 0, nil }

// TestMain lets the test binary be the processes that the program starts, and the server.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "-role" {
		os.Exit(m.Run())
	}
	c, err := parse(os.Args[1:], os.Stderr)
	if err != nil || c.role != "server" {
		main()
		return
	}
	meanwhile.Main(func(ctx context.Context) error { return serve(ctx, c.address, c.spool) })
}

// serve is a server of nothing but the own protocol.
func serve(ctx context.Context, address, folder string) error {
	store, err := segment.Open(ctx, folder, segment.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	sessions := logs.NewSessions(breakers[os.Getenv(breakWay)](store), logs.SessionConfig{})
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	return meanwhile.Supervise(ctx, func(ctx context.Context) error {
		for {
			conn, err := l.Accept()
			if err != nil {
				return context.Cause(ctx)
			}
			meanwhile.Go(ctx, func(ctx context.Context) error {
				defer conn.Close()
				_, _ = sessions.Serve(ctx, conn, nil)
				return nil
			})
		}
	})
}
