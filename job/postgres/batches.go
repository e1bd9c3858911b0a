package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/meanwhile-go/meanwhile/job"
)

// batches is a transaction whose statements are sent to the server together where none needs the result of another: a lock that it holds is not held
// for a round trip of each. It is a runner.
type batches struct {
	s       *Store
	conn    *pgxpool.Conn
	pending []statement
}

type statement struct {
	sql      string
	args, to []any
	fn       func() error // for each row, which was read into to
}

// inBatches runs fn in a transaction.
func (s *Store) inBatches(ctx context.Context, fn func(b *batches) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release() // which closes a connection whose transaction is not over
	b := &batches{s: s, conn: conn}
	b.later("begin", nil, nil, nothing)
	if err := fn(b); err != nil {
		if conn.Conn().PgConn().TxStatus() != 'I' {
			_, _ = conn.Exec(ctx, "rollback") // or the connection is closed
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

// inTime runs statements that read, in a transaction in which the server stops each of them when a tenth of the time until the deadline of ctx is
// left. One that ctx stops would cost its connection, and go on at the server until that notices. A shorter statement_timeout of the user's own stays.
func (s *Store) inTime(ctx context.Context, read func(b *batches) error) error {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return s.inBatches(ctx, read)
	}
	left := time.Until(deadline)
	own := max((left * 9 / 10).Truncate(time.Millisecond), time.Millisecond) // as exact as the server takes it
	err := s.inBatches(ctx, func(b *batches) error {
		b.later(s.sql("set_timeout"), []any{own.Milliseconds()}, []any{new(string)}, nothing)
		return read(b)
	})
	// With less than a millisecond left the deadline is over by then. Where more is left, somebody else has stopped it.
	if codeOf(err) == codeCanceled && time.Until(deadline) < max(2*(left-own), 0) {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// later has a statement sent before the next whose result is needed, and fn called for each of its rows then.
func (b *batches) later(sql string, args, to []any, fn func() error) {
	b.pending = append(b.pending, statement{sql, args, to, fn})
}

// each sends a statement, and those before it.
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

// send sends what is pending.
func (b *batches) send(ctx context.Context) error {
	pending := b.pending
	b.pending = nil
	if b.s.mode != b.s.pool.Config().ConnConfig.DefaultQueryExecMode { // which a batch always has
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
