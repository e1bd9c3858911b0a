package memory

import (
	"context"
	"fmt"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A waiting is an order that has been left for a worker.
type waiting struct {
	job.Order
	left time.Time
}

// Order leaves word for a worker.
func (s *Store) Order(ctx context.Context, worker string, o job.Order) error {
	what := "order to worker " + worker
	now, err := s.enter(ctx, what)
	if err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, ok := s.workers[worker]; !ok {
		return fmt.Errorf("%s: %w", what, job.ErrNoWorker)
	}
	s.dropOrders(worker, now)
	if len(s.orders[worker]) >= job.MostOrders {
		return fmt.Errorf("%s: %d wait for it already", what, job.MostOrders)
	}
	s.orders[worker] = append(s.orders[worker], waiting{o, now})
	return nil
}

// takeOrders returns the orders for a worker, and forgets them.
func (s *Store) takeOrders(worker string, now time.Time) []job.Order {
	s.dropOrders(worker, now)
	var orders []job.Order
	for _, w := range s.orders[worker] {
		orders = append(orders, w.Order)
	}
	delete(s.orders, worker)
	return orders
}

// dropOrders forgets the orders for a worker that it has not fetched in time. They are in the order of their times.
func (s *Store) dropOrders(worker string, now time.Time) {
	list := s.orders[worker]
	for len(list) > 0 && now.Sub(list[0].left) >= job.OrderKept {
		list = list[1:]
	}
	if s.orders[worker] = list; len(list) == 0 {
		delete(s.orders, worker)
	}
}
