package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// Order leaves a command for a worker.
func (s *Store) Order(ctx context.Context, worker string, o job.Order) error {
	return s.call(ctx, "order to worker "+worker, func(ctx context.Context) error {
		text, err := json.Marshal(o)
		if err != nil {
			return err
		}
		m, err := s.runOne(ctx, orderScript, worker, strconv.Itoa(job.MostOrders), span(job.OrderKept), string(text))
		switch {
		case err != nil:
			return err
		case number(m) == 0:
			return job.ErrNoWorker
		case number(m) < 0:
			return fmt.Errorf("%d wait for it already", job.MostOrders)
		}
		return nil
	})
}
