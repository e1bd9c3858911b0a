package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
)

// batches is a transaction that sends statements to the server together if none of them needs the result of another, so that it does not hold its
// locks for a round trip per statement. It is a runner.
type batches struct {
	s       *Store
	conn    *pgxpool.Conn
	pending []statement
}

type statement struct {
	sql      string
	args, to []any
	fn       func() error // called for each row, once it was scanned into to
}

// inBatches runs fn in a transaction.
func (s *Store) inBatches(ctx context.Context, fn func(b *batches) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // closes the connection if its transaction is not over
	b := &batches{s: s, conn: conn}
	b.later("begin", nil, nil, nothing)
	if err := fn(b); err != nil {
		if conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(ctx, "rollback") // if it fails, the connection is closed
		}
		return err
	}
	b.later("commit", nil, nil, nothing)
	if err := b.send(ctx); err != nil && codeOf(err) == "" {
		return &openError{err}
	} else if err != nil {
		return err
	}
	return nil
}

func nothing() error { return nil }

// inTime runs statements that only read, in a transaction. The server stops each of them after nine tenths of the time until the deadline of ctx:
// canceling a statement by ctx closes its connection, and the statement runs on until the server notices. A shorter statement_timeout, set by the
// user, applies.
func (s *Store) inTime(ctx context.Context, read func(b *batches) error) error {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return s.inBatches(ctx, read)
	}
	left := time.Until(deadline)
	own := max((left * 9 / 10).Truncate(time.Millisecond), time.Millisecond) // statement_timeout has whole milliseconds
	err := s.inBatches(ctx, func(b *batches) error {
		b.later(s.sql("set_timeout"), []any{own.Milliseconds()}, []any{new(string)}, nothing)
		return read(b)
	})
	// If less than a millisecond was left, the deadline is over by now. If more is left, the statement was stopped by something else.
	if codeOf(err) == codeCanceled && time.Until(deadline) < max(2*(left-own), 0) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// later adds a statement that is sent with the next one whose result is needed. fn is called for each of its rows after that.
func (b *batches) later(sql string, args, to []any, fn func() error) {
	b.pending = append(b.pending, statement{sql, args, to, fn})
}

// each sends a statement, together with those that were added before it.
func (b *batches) each(ctx context.Context, sql string, args, to []any, fn func() error) error {
	b.later(sql, args, to, fn)
	return b.send(ctx)
}

func (b *batches) ids(ctx context.Context, sql string, args ...any) (found []job.ID, err error) {
	var id [16]byte
	err = b.each(ctx, sql, args, []any{&id}, func() error {
		found = append(found, id)
		return nil
	})
	return found, err
}

// send sends the statements that were added.
func (b *batches) send(ctx context.Context) error {
	pending := b.pending
	b.pending = nil
	if b.s.mode != b.s.pool.Config().ConnConfig.DefaultQueryExecMode { // batches always use the default mode
		for _, st := range pending {
			if err := (pgxRunner{b.conn, b.s.mode}).each(ctx, st.sql, st.args, st.to, st.fn); err != nil {
				return err
			}
		}
		return nil
	}
	batch := new(pgx.Batch)
	for _, st := range pending {
		batch.Queue(st.sql, st.args...).Query(func(rows pgx.Rows) error {
			_, err := pgx.ForEachRow(rows, st.to, st.fn)
			return err
		})
	}
	return b.conn.SendBatch(ctx, batch).Close()
}
