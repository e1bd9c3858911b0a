package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// SendCommand stores a command for a worker.
func (s *Store) SendCommand(ctx context.Context, worker string, o job.Command) error {
	what := "command to worker " + worker
	word, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(t *txn) error {
		waiting, err := one(t, statement("order_room"), worker, t.now-job.CommandKept.Microseconds())
		switch {
		case err != nil:
			return err
		case waiting == nil:
			return job.ErrNoWorker
		case integer(waiting[0]) >= job.MostCommands:
			return fmt.Errorf("%d wait for it already", job.MostCommands)
		}
		_, err = t.exec(statement("order_put"), worker, t.now, string(word))
		return err
	})
}
