// Package postgres keeps jobs in PostgreSQL, version 13 or newer.
//
// The tables are in a schema of their own, "meanwhile" unless the URL says otherwise. [Store.Migrate] creates them; Open does
// not, so it needs no rights to create them. No call depends on the state of a connection, so the store works behind PgBouncer in
// transaction mode; only notifications of new jobs are then replaced by polling every 100 ms.
//
// A call without a deadline gets one of 30 seconds.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

// DefaultSchema is the schema of the tables if none is named.
const DefaultSchema = "meanwhile"

const (
	callTimeout = 30 * time.Second // deadline of a call whose ctx has none
	minConns    = 8                // of a pool made by Open, unless its URL has pool_max_conns
)

func init() {
	for _, scheme := range []string{"postgres", "postgresql"} {
		job.Register(scheme, checkURL, func(ctx context.Context, url string) (job.Store, error) { return Open(ctx, url) })
	}
}

// A Store is a [job.Store] in PostgreSQL. It may be used by many goroutines at once; callers that insert or settle few
// jobs at the same time share a transaction.
type Store struct {
	pool    *pgxpool.Pool
	owned   bool // the store created the pool, and closes it
	schema  string
	mode    pgx.QueryExecMode
	queries queries

	migrations []migrate.Migration

	checked atomic.Bool // the schema fits
	deltas  atomic.Int64
	closed  chan struct{}
	closing atomic.Bool

	inserts *group.Group[[]*job.Job, inserted]
	keyed   *group.Group[[]*job.Job, inserted] // of jobs with unique keys, which may wait for a transaction of the caller's that holds one of these
	cursors cursors
	laned   laned
	known   knownLanes
	swept   sweep
	notices notices
	waits   waits
}

var _ job.Store = (*Store)(nil)

// Open opens a store with its own connection pool. The URL is one of pgx, such as
// postgres://user:password@host:5432/database?sslmode=require, optionally with settings such as pool_max_conns, or a keyword
// string of libpq such as "host=db dbname=app"; the parameter schema names the schema of the tables. In a URL, special characters
// of a password must be percent-encoded: % is %25, # is %23, / is %2F, ? is %3F, @ is %40. Other URLs are refused; no error shows
// a password. Open does not connect: if the server is unreachable, or has no tables yet, the first call returns the error;
// [Store.Ping] checks. The ctx applies to this call only.
func Open(ctx context.Context, url string) (*Store, error) {
	config, schema, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("read the URL of PostgreSQL: %w", err)
	}
	s, err := newStore(schema)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) { s.noticed(n) }
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL at %s: %w", address(config.ConnConfig), err)
	}
	s.use(pool, true)
	return s, nil
}

// An Option configures [New].
type Option func(*options)

type options struct{ schema string }

// Schema names the schema of the tables. The default is [DefaultSchema].
func Schema(name string) Option { return func(o *options) { o.schema = name } }

// New makes a store that uses the caller's pool, which Close leaves open. Like Open, New does not connect.
func New(_ context.Context, pool *pgxpool.Pool, opts ...Option) (*Store, error) {
	if pool == nil {
		return nil, errors.New("make a store of PostgreSQL: the pool is nil")
	}
	o := options{schema: DefaultSchema}
	for _, opt := range opts {
		opt(&o)
	}
	s, err := newStore(o.schema)
	if err != nil {
		return nil, err
	}
	s.use(pool, false)
	return s, nil
}

func newStore(schema string) (*Store, error) {
	if err := checkSchemaName(schema); err != nil {
		return nil, err
	}
	s := &Store{schema: schema, queries: loadQueries(schema), migrations: migrations(), closed: make(chan struct{})}
	s.inserts, s.keyed = group.New(groupedCalls, 1, s.flushInserts), group.New(groupedCalls, 1, s.flushInserts)
	for _, g := range []*group.Group[[]*job.Job, inserted]{s.inserts, s.keyed} {
		g.Gather(gatherTime)
		g.Detach()
	}
	s.notices.setUp()
	return s, nil
}

func (s *Store) use(pool *pgxpool.Pool, owned bool) {
	s.pool, s.owned = pool, owned
	s.mode = modeOf(pool.Config().ConnConfig)
}

// String returns the address of the server, the database and the schema of the store.
func (s *Store) String() string {
	c := s.pool.Config().ConnConfig
	return fmt.Sprintf("PostgreSQL at %s, database %s, schema %s", address(c), c.Database, s.schema)
}

// modeOf returns how statements are sent: as the pool is configured, except that the simple protocol, which cannot send arrays,
// is not used.
func modeOf(config *pgx.ConnConfig) pgx.QueryExecMode {
	switch mode := config.DefaultQueryExecMode; {
	case mode != pgx.QueryExecModeSimpleProtocol && mode != pgx.QueryExecModeExec:
		return mode
	case config.DescriptionCacheCapacity > 0:
		return pgx.QueryExecModeCacheDescribe
	}
	return pgx.QueryExecModeDescribeExec
}

// Ping returns nil if the server answers and the schema can be used.
func (s *Store) Ping(ctx context.Context) error {
	s.checked.Store(false)
	return s.call(ctx, "ping", func(context.Context) error { return nil })
}

// Close closes the store after due notifications have been sent and running calls have ended.
func (s *Store) Close() error {
	if s.closing.Swap(true) {
		return nil
	}
	close(s.closed)
	s.waits.close()
	s.notices.wait()
	if s.owned {
		s.pool.Close()
	}
	return nil
}
