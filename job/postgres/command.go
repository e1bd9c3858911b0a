package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// SendCommand leaves a command for a worker.
func (s *Store) SendCommand(ctx context.Context, worker string, o job.Command) error {
	what := "command to worker " + worker
	word, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.call(ctx, what, func(ctx context.Context) error {
		return s.inTx(ctx, func(r pgxRunner) error {
			// Only one call per worker runs at a time, so that each sees how many commands are waiting.
			if n, err := r.count(ctx, s.sql("order_lock"), sought(worker)); err != nil {
				return err
			} else if n == 0 {
				return job.ErrNoWorker
			}
			n, err := r.count(ctx, s.sql("order_put"), worker, string(word), interval(job.CommandKept), job.MostCommands)
			if err == nil && n == 0 {
				err = fmt.Errorf("%d wait for it already", job.MostCommands)
			}
			return err
		})
	})
}

// count runs a statement and returns how many rows it has.
func (r pgxRunner) count(ctx context.Context, statement string, args ...any) (n int, err error) {
	rows, err := r.query(ctx, statement, args...)
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		n++
	}
	return n, rows.Err()
}
