package jobs

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

var riverPostgres = []peer{
	{"river", "postgres", openRiverPostgres(false)},
	{"river-tuned", "postgres", openRiverPostgres(true)},
}

//go:embed testdata/riverpostgres.sql
var riverPostgresPast string

func openRiverPostgres(tuned bool) func(context.Context, string, int) (queue, error) {
	return func(ctx context.Context, where string, atOnce int) (queue, error) {
		config, err := pgxpool.ParseConfig(where)
		if err != nil {
			return nil, err
		}
		if tuned {
			config.MaxConns = 20 // the fastest setting for 16 callers; the default is 4 on two cores
		}
		pool, err := pgxpool.NewWithConfig(ctx, config)
		if err != nil {
			return nil, err
		}
		q := &riverQueue[pgx.Tx]{
			tuned:   tuned,
			pastSQL: riverPostgresPast,
			exec: func(ctx context.Context, statement string, values ...any) error {
				_, err := pool.Exec(ctx, statement, values...)
				return err
			},
			closeAll: pool.Close,
		}
		q.fast = func(ctx context.Context, jobs []river.InsertManyParams) error {
			_, err := q.client.InsertManyFast(ctx, jobs)
			return err
		}
		return openRiver(ctx, q, riverpgxv5.New(pool), atOnce)
	}
}
