package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	testNotice    = "\x01" // begins the payload of a notice to oneself; no queue has such a name
	testTimeout   = 300 * time.Millisecond
	testAgain     = time.Minute            // after no notice came through, as behind a pooler
	pollEvery     = 100 * time.Millisecond // as long as none comes through
	listenTimeout = 5 * time.Second        // to connect, or to ask whether the server is still there
	stillThere    = 30 * time.Second       // without a notice, after which the server is asked
)

// A listener is a connection on which the server's notices arrive, apart from the pool. Behind a pooler that gives each transaction another
// connection to the server, no notices arrive. The listener detects this by a notice to itself, and then wakes waiting callers at intervals instead.
type listener struct {
	conn    *pgx.Conn // nil if not connected
	heardAt time.Time
	testAt  time.Time   // when to test again; zero if notices come through
	notice  string      // the payload of the newest notice
	stale   atomic.Bool // the connection may lead to a server that is no longer the primary
}

var errNoNotice = errors.New("no notice comes through")

// listenOnce returns when a notice has arrived, or when it is time to poll.
func (s *Store) listenOnce(ctx context.Context) error {
	l := &s.waits.listener
	if l.stale.Swap(false) || l.conn != nil && l.conn.IsClosed() {
		l.close()
	}
	switch now := time.Now(); {
	case now.Before(l.testAt):
		pause(ctx, pollEvery)
		s.waits.noticedAll()
		return nil
	case l.conn == nil:
		err := s.startListening(ctx)
		if errors.Is(err, errNoNotice) {
			l.testAt = time.Now().Add(testAgain)
			err = nil
		}
		if err == nil {
			s.waits.noticedAll() // notices may have been missed until now
		}
		return err
	case now.Sub(l.heardAt) > stillThere:
		if err := s.stillThere(ctx); err != nil {
			l.close()
			return nil // the next call connects again
		}
	}
	bound, cancel := context.WithTimeout(ctx, stillThere)
	defer cancel()
	err := l.conn.PgConn().WaitForNotification(bound)
	if err == nil {
		l.heardAt = time.Now()
	} else if bound.Err() == nil || l.conn.IsClosed() {
		l.close() // the next call connects again
	}
	return nil
}

// startListening connects, and tests the connection.
func (s *Store) startListening(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	if err := s.check(ctx); err != nil {
		return s.explain(ctx, err)
	}
	pool := s.pool.Config()
	config := pool.ConnConfig
	l := &s.waits.listener
	config.OnNotification = func(_ *pgconn.PgConn, n *pgconn.Notification) {
		l.notice = n.Payload
		s.noticed(n)
	}
	if pool.BeforeConnect != nil {
		if err := pool.BeforeConnect(ctx, config); err != nil {
			return fmt.Errorf("prepare to connect to PostgreSQL at %s: %w", address(config), err)
		}
	}
	if l.conn, err = pgx.ConnectConfig(ctx, config); err != nil {
		return s.explain(ctx, err)
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if _, err := l.conn.Exec(ctx, "listen "+pgx.Identifier{s.schema}.Sanitize()); err != nil {
		return s.explain(ctx, err)
	}
	l.heardAt, l.testAt = time.Now(), time.Time{}
	return s.testListening(ctx)
}

// testListening sends a notice through the pool. It returns errNotHeard if that does not arrive.
func (s *Store) testListening(ctx context.Context) error {
	l := &s.waits.listener
	test := testNotice + job.NewID().String()
	if _, err := s.run().ids(ctx, s.sql("notify"), s.schema, []string{test}); err != nil {
		return s.explain(ctx, err)
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	for l.notice != test {
		if err := l.conn.PgConn().WaitForNotification(ctx); err != nil {
			// Stop listening on the server connection that the pooler assigned: others will use it.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), testTimeout)
			defer cancel()
			_, _ = l.conn.Exec(ctx, "unlisten *")
			return errNoNotice
		}
	}
	return nil
}

// stillThere returns an error if the server of the connection does not answer, or has become a standby.
func (s *Store) stillThere(ctx context.Context) error {
	l := &s.waits.listener
	ctx, cancel := context.WithTimeout(ctx, listenTimeout)
	defer cancel()
	var standby bool
	if err := l.conn.QueryRow(ctx, "select pg_is_in_recovery()", s.mode).Scan(&standby); err != nil {
		return err
	}
	if standby {
		return errors.New("it is a standby")
	}
	l.heardAt = time.Now()
	return nil
}

// close closes the connection, if there is one.
func (l *listener) close() {
	if l.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = l.conn.Close(ctx) // an error does not matter: the connection is no longer needed
	l.conn = nil
}
