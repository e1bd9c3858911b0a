package redis

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/job"
)

// DefaultName is the name of a store whose URL has none.
const DefaultName = "meanwhile"

const (
	callTimeout = 30 * time.Second // deadline of a call whose ctx has none
	ioTimeout   = 10 * time.Second // after which a connection without answers is closed
)

func init() {
	for _, scheme := range schemes {
		job.Register(scheme, checkURL, func(ctx context.Context, url string) (job.Store, error) { return Open(ctx, url) })
	}
}

// A Store is a [job.Store] in Redis. It may be used by many goroutines at once, which share up to four connections.
type Store struct {
	place   *place
	prefix  string // of all keys: "{name}:"
	closing atomic.Bool
	waits   waits
	swept   sweep
	inserts *group.Group[*job.Job, inserted]

	risk   atomic.Pointer[string] // what the last check of the server found; "" or nil for nothing
	client atomic.Pointer[client]
	mu     sync.Mutex
	making *making // nil while nothing connects
}

var _ job.Store = (*Store)(nil)

// Open opens the store of a URL, see the package documentation, and creates the store if there is none of that name. It refuses a server that
// would lose jobs or lacks a required feature, with an error that says what to change. If the server cannot be reached, or is starting, Open
// succeeds, and the first call does all this and returns the error. No error shows a password. The ctx applies to this call only.
func Open(ctx context.Context, url string) (*Store, error) {
	p, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("read the URL of Redis: %w", err)
	}
	s := &Store{place: p, prefix: "{" + p.name + "}:"}
	s.inserts = groupInserts(s.flushInserts)
	ctx, cancel := bounded(ctx)
	defer cancel()
	if _, err := s.connected(ctx); err != nil && isRefusal(err) {
		return nil, fmt.Errorf("open the store at %s: %w", p.shown, s.explain(ctx, err))
	}
	return s, nil
}

// Ping returns nil if the server answers, and Open would accept it.
func (s *Store) Ping(ctx context.Context) error {
	return s.call(ctx, "ping", func(ctx context.Context) error {
		c, err := s.connected(ctx)
		if err != nil {
			return err
		}
		return s.check(ctx, c)
	})
}

// Warning returns how the server may lose acknowledged jobs, or "" if it keeps them. job.Worker.Health reports it. A change of the server's settings is
// noticed by Ping and Prune, which workers call each minute.
func (s *Store) Warning() string {
	if risk := s.risk.Load(); risk != nil && *risk != "" {
		return *risk
	}
	if s.place.durable {
		return ""
	}
	return "the store is Redis with durable=no: a restart of the server may lose jobs"
}

// Close closes the store. It does not wait for a connection that is being made; that connection is closed once it is made. While the server hangs, closing
// takes a second for each connection.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	s.waits.stop()
	s.stopMaking()
	if c := s.client.Load(); c != nil {
		c.Close()
	}
	return nil
}
