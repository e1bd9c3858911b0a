package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tx wraps a transaction of the caller's. Jobs are inserted and settled through it if and only if the transaction commits. Workers are notified at
// the commit. The result may be used while the transaction is open, by one goroutine at a time, like the transaction itself. A settled job stays
// locked until the transaction ends.
func (s *Store) Tx(tx pgx.Tx) job.Tx {
	return &ownTx{s: s, r: pgxRunner{tx, modeOf(tx.Conn().Config())}}
}

// SQLTx is Tx for a transaction of database/sql; the driver must be that of pgx, github.com/jackc/pgx/v5/stdlib.
func (s *Store) SQLTx(tx *sql.Tx) job.Tx { return &ownTx{s: s, r: sqlRunner{tx}} }

// An ownTx is a transaction of the caller's.
type ownTx struct {
	s *Store
	r runner
}

// Insert stores jobs as part of the transaction.
func (t *ownTx) Insert(ctx context.Context, jobs ...*job.Job) (ids []job.ID, err error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	err = t.do(ctx, "insert jobs", queuesOf(jobs), func(ctx context.Context) error {
		ids, err = insertJobs(ctx, t.s, t.r, jobs, false)
		return err
	})
	return ids, err
}

// Settle settles jobs as part of the transaction.
func (t *ownTx) Settle(ctx context.Context, session job.Session, given ...job.Outcome) (lost []job.ID, err error) {
	if len(given) == 0 {
		return nil, nil
	}
	o, err := sortOutcomes(given)
	if err != nil {
		return nil, err
	}
	err = t.do(ctx, "settle jobs", append(o.dueQueues(), t.s.laned.freed(o)...), func(ctx context.Context) error {
		lost, err = settleAll(ctx, t.s, t.r, session, o, false)
		return err
	})
	return lost, err
}

// do runs fn, and notifies workers of the queues when the transaction commits.
func (t *ownTx) do(ctx context.Context, what string, queues []string, fn func(ctx context.Context) error) error {
	err := t.s.enter(ctx)
	if err == nil {
		var cancel context.CancelFunc
		ctx, cancel = bounded(ctx, callTimeout)
		defer cancel()
		if err = t.s.check(ctx); err == nil {
			err = fn(ctx)
		}
		if queues = t.s.noticesInTx(queues); err == nil && len(queues) > 0 {
			_, err = t.r.ids(ctx, t.s.sql("notify_tx"), t.s.schema, queues)
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, t.s.explain(ctx, err))
	}
	return nil
}
