package jobs

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/postgres"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

const lib = "meanwhile"

var ours = []peer{
	{lib, "postgres", open(openPostgres)},
	{lib, "sqlite", open(openSQLite)},
	{lib, "redis", open(openRedis)},
}

func openPostgres(ctx context.Context, where string) (job.Store, error) {
	store, err := postgres.Open(ctx, where)
	if err != nil {
		return nil, err
	}
	return store, store.Migrate(ctx)
}

func openSQLite(ctx context.Context, where string) (job.Store, error) { return sqlite.Open(ctx, where) }

func open(store func(context.Context, string) (job.Store, error)) func(context.Context, string, int) (queue, error) {
	return func(ctx context.Context, where string, atOnce int) (queue, error) {
		s, err := store(ctx, where)
		return &ourQueue{store: s, atOnce: atOnce}, err
	}
}

var noop = job.Define[args]("noop")

// ourQueue is package job on any of its stores, with its defaults.
type ourQueue struct {
	store  job.Store
	atOnce int
	before int64 // jobs completed before the worker started
	ran    atomic.Int64
}

func (q *ourQueue) enqueue(ctx context.Context, a args) error {
	_, err := noop.Enqueue(ctx, q.store, a)
	return err
}

func (q *ourQueue) bulk(ctx context.Context, n int, p place) error {
	return q.bulkWith(ctx, n, map[place][]job.EnqueueOption{
		elsewhere: {job.Queue("elsewhere")}, later: {job.In(24 * time.Hour)},
	}[p]...)
}

func (q *ourQueue) bulkWith(ctx context.Context, n int, opts ...job.EnqueueOption) error {
	_, err := noop.EnqueueAll(ctx, q.store, func(yield func(args, error) bool) {
		for i := range n {
			if !yield(args{N: i}, nil) {
				return
			}
		}
	}, opts...)
	return err
}

// past runs the jobs with a worker of its own, so that they are as a worker leaves them.
func (q *ourQueue) past(ctx context.Context, n int) error {
	const queue = "past"
	if err := q.bulkWith(ctx, n, job.Queue(queue)); err != nil {
		return err
	}
	stop := start(ctx, job.NewWorker(
		q.store, job.Config{Concurrency: 1000, Queues: []job.QueueConfig{{Name: queue}}}, noop.Handle(nothing),
	))
	return errors.Join(in(ctx, func() (bool, error) {
		done, err := q.completed(ctx, queue)
		return done >= int64(n), err
	}), stop())
}

func (q *ourQueue) work(ctx context.Context, h handler) (func() error, error) {
	var err error
	if q.before, err = q.completed(ctx, job.DefaultQueue); err != nil {
		return nil, err
	}
	q.ran.Store(0)
	handler := noop.Handle(func(ctx context.Context, a args) error {
		defer q.ran.Add(1)
		return h(ctx, a)
	})
	return start(ctx, job.NewWorker(q.store, job.Config{Concurrency: q.atOnce}, handler)), nil
}

// start starts a worker. stop stops it and waits for it.
func start(ctx context.Context, w *job.Worker) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- meanwhile.Run(ctx, w.Run)
	}()
	return func() error {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}
}

func (q *ourQueue) finished(ctx context.Context, n int) error {
	return in(ctx, func() (bool, error) {
		if q.ran.Load() < int64(n) {
			return false, nil
		}
		done, err := q.completed(ctx, job.DefaultQueue)
		return done-q.before >= int64(n), err
	})
}

func (q *ourQueue) completed(ctx context.Context, queue string) (int64, error) {
	counts, err := q.store.Counts(ctx)
	for _, c := range counts {
		if c.Queue == queue && c.State == job.Completed {
			return c.N, err
		}
	}
	return 0, err
}

func (q *ourQueue) close() { _ = q.store.Close() }
