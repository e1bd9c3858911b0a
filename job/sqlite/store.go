package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/group"
	"github.com/meanwhile-go/meanwhile/internal/migrate"
	"github.com/meanwhile-go/meanwhile/job"
)

func init() {
	for _, scheme := range []string{"sqlite", "file"} {
		job.Register(scheme, checkURL, func(ctx context.Context, url string) (job.Store, error) { return Open(ctx, url) })
	}
}

const (
	busyTimeout = 10 * time.Second       // how long to wait for a lock that another process, or a transaction of the caller's, holds
	lockPause   = time.Millisecond       // about the time between two attempts to get the lock
	mostGrouped = 256                    // how many calls may share a transaction
	readers     = 4                      // connections for reading
	gathering   = 100 * time.Microsecond // how long a transaction waits at most for callers that write repeatedly: one sync of the disk serves all
)

// A Store is a [job.Store] in a SQLite file.
type Store struct {
	place    place
	identity identity
	reads    *sql.DB
	users    *sql.DB // the handle that DB returns

	calls *group.Group[*call, struct{}]
	// writerMu is held while the only connection that writes is in use.
	writerMu sync.Mutex
	writer   *direct
	full     bool // the disk is full, and the log could not be checkpointed since

	migrations []migrate.Migration

	cookie   atomic.Int64 // of the schema that was checked; zero is none
	classes  classes
	holdings holdings
	limited  limited
	lanes    laneMemory
	swept    sweep
	waits    waits

	closed    chan struct{}
	closeOnce sync.Once
	closeErr  error
}

// Open opens the store in a file, and creates or migrates it if needed; its folder must exist. url is a path, or a URL such as
// sqlite:jobs.db, sqlite:///var/lib/jobs.db or file:jobs.db. A URL may have the parameters mode, which is rw for a file that must
// exist or rwc, the default, and _pragma, for each connection, as in sqlite:jobs.db?_pragma=cache_size(-8192); others are refused.
// Only the owner can read and write a new file, its -wal and its -shm; an existing file keeps its mode. If the schema of the file
// is newer, the error is [job.ErrSchema].
func Open(ctx context.Context, url string) (*Store, error) {
	p, err := parsePlace(url)
	if err != nil {
		return nil, fmt.Errorf("open SQLite store: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("open SQLite store: %w", err)
	}
	s := &Store{place: p, migrations: migrations(), closed: make(chan struct{})}
	s.calls = group.New(mostGrouped, 1, s.flush)
	s.calls.Gather(gathering)
	if err := s.open(ctx); err != nil {
		return nil, s.explain("open SQLite store", errors.Join(err, s.Close()))
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	err := s.place.create()
	if err != nil {
		return err
	}
	if s.reads, err = openPool(s.place.source(false, "query_only(1)"), readers); err != nil {
		return err
	}
	if s.users, err = openPool(s.place.source(true, "synchronous(FULL)"), 0); err != nil {
		return err
	}
	s.writer, err = openDirect(ctx, connector{s.users.Driver(), s.place.source(true, "busy_timeout(0)", "synchronous(FULL)", "cache_size(-8192)", "temp_store(MEMORY)")})
	if err != nil {
		return err
	}
	if err := s.checkPragmas(); err != nil {
		return err
	}
	if err := s.useWAL(ctx); err != nil {
		return err
	}
	if s.identity, err = identify(s.place.path); err != nil {
		return err
	}
	return s.Migrate(ctx)
}

// A connector opens single connections of a driver, outside a pool.
type connector struct {
	driver driver.Driver
	source string
}

func (c connector) Connect(context.Context) (driver.Conn, error) { return c.driver.Open(c.source) }
func (c connector) Driver() driver.Driver                        { return c.driver }

func openPool(source string, size int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(max(size, 2))
	return db, nil
}

// checkPragmas returns an error for a pragma of the URL that SQLite does not know, and has ignored.
func (s *Store) checkPragmas() error {
	for _, pragma := range s.place.query["_pragma"] {
		name := pragmaPattern.FindStringSubmatch(pragma)[1]
		known, err := one(s.writer, statement("known_pragma"), name)
		if err != nil {
			return err
		}
		if known[0] == int64(0) {
			return fmt.Errorf("%s: SQLite has no pragma %.40q: write one such as cache_size(-8192)", s.place.path, name)
		}
	}
	return nil
}

// useWAL sets the journal mode. SQLite does not wait for other processes that set it at the same time, so this method does.
func (s *Store) useWAL(ctx context.Context) error {
	for begun := time.Now(); ; {
		mode, err := one(s.writer, statement("use_wal"))
		switch {
		case err == nil && mode[0] == "wal":
			return nil
		case err == nil:
			return fmt.Errorf("%s cannot be in WAL mode, it stays in mode %v: is it on a network file system, or open in another mode?", s.place.path, mode[0])
		case code(err) != codeBusy || time.Since(begun) > busyTimeout:
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// DB returns a database handle for the caller's own transactions, see the package documentation. Close closes it.
func (s *Store) DB() *sql.DB { return s.users }

// Ping returns nil if the file can be read and its schema can be used.
func (s *Store) Ping(ctx context.Context) error {
	return s.read(ctx, "ping", func(*txn) error { return nil })
}

// Close waits for the calls that are being written, and closes the store.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closed)
		s.writerMu.Lock()
		defer s.writerMu.Unlock()
		var errs []error
		for _, db := range []*sql.DB{s.reads, s.users} {
			if db != nil {
				errs = append(errs, db.Close())
			}
		}
		if s.writer != nil {
			errs = append(errs, s.writer.close()) // the last one: it checkpoints the log into the file
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}
