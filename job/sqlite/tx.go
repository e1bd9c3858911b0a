package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// Tx makes inserts and outcomes part of a transaction of the caller's, on any connection to the store's file. They take effect
// when the transaction is committed. After an error the transaction is as it was before the call.
func (s *Store) Tx(tx *sql.Tx) job.Tx { return userTx{s, tx} }

type userTx struct {
	store *Store
	tx    *sql.Tx
}

func (u userTx) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	var ids []job.ID
	err := u.run(ctx, "insert jobs in a transaction", func(t *txn) (err error) {
		ids, err = t.insert(jobs)
		return err
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

func (u userTx) Settle(ctx context.Context, session job.Session, outcomes ...job.Outcome) ([]job.ID, error) {
	var lost []job.ID
	err := u.run(ctx, "settle jobs in a transaction", func(t *txn) (err error) {
		lost, err = t.settle(session, outcomes, nil)
		return err
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// run makes one call atomic within the transaction.
func (u userTx) run(ctx context.Context, what string, call func(t *txn) error) error {
	if u.store.isClosed() {
		return fmt.Errorf("%s: %w", what, job.ErrClosed)
	}
	if err := u.store.identity.check(); err != nil {
		return u.store.explain(what, err)
	}
	t := u.store.newTxn(foreign{ctx: ctx, tx: u.tx})
	t.callers = true
	if _, err := t.exec(statement("savepoint")); err != nil {
		return u.store.explain(what, err)
	}
	err := u.store.checkSchema(t)
	if err == nil {
		err = call(t)
	}
	if err == nil {
		err = t.writeCounts()
	}
	// Both run even if ctx is canceled. They fail if SQLite has rolled back the whole transaction by itself.
	end := foreign{ctx: context.WithoutCancel(ctx), tx: u.tx}
	if err != nil {
		_, _ = end.exec(statement("undo"))
		_, _ = end.exec(statement("release"))
		return u.store.explain(what, err)
	}
	_, err = end.exec(statement("release"))
	return u.store.explain(what, err)
}
