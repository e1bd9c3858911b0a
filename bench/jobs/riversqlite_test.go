//go:build riversqlite

package jobs

import (
	"context"
	"database/sql"
	_ "embed"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// This program contains no other libraries.
func init() {
	peers = []peer{{"river", "sqlite", openRiverSQLite(false)}, {"river-tuned", "sqlite", openRiverSQLite(true)}}
	bare = nil
}

//go:embed testdata/riversqlite.sql
var riverSQLitePast string

func openRiverSQLite(tuned bool) func(context.Context, string, int) (queue, error) {
	return func(ctx context.Context, where string, atOnce int) (queue, error) {
		// Commits are durable all the same. Without this, the driver fails while another connection reads.
		db, err := sql.Open("sqlite", where+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
		if err != nil {
			return nil, err
		}
		db.SetMaxOpenConns(1) // required by the driver's documentation
		q := &riverQueue[*sql.Tx]{
			tuned:   tuned,
			pastSQL: riverSQLitePast,
			exec: func(ctx context.Context, statement string, values ...any) error {
				_, err := db.ExecContext(ctx, statement, values...)
				return err
			},
			closeAll: func() { _ = db.Close() },
		}
		// In a transaction of our own, because InsertManyFast of this version panics when it has inserted the jobs.
		q.fast = func(ctx context.Context, jobs []river.InsertManyParams) error {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := q.client.InsertManyFastTx(ctx, tx, jobs); err != nil {
				return err
			}
			return tx.Commit()
		}
		return openRiver(ctx, q, riversqlite.New(db), atOnce)
	}
}
