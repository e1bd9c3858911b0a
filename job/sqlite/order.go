package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/meanwhile-go/meanwhile/job"
)

// Order leaves word for a worker.
func (s *Store) Order(ctx context.Context, worker string, o job.Order) error {
	what := "order to worker " + worker
	word, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return s.write(ctx, what, func(t *txn) error {
		waiting, err := one(t, statement("order_room"), worker, t.now-job.OrderKept.Microseconds())
		switch {
		case err != nil:
			return err
		case waiting == nil:
			return job.ErrNoWorker
		case integer(waiting[0]) >= job.MostOrders:
			return fmt.Errorf("%d wait for it already", job.MostOrders)
		}
		_, err = t.exec(statement("order_put"), worker, t.now, string(word))
		return err
	})
}
