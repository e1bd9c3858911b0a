package jobs

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivermigrate"
)

type riverArgs args

func (riverArgs) Kind() string { return "noop" }

// riverQueue is River on any of its drivers, with its defaults or tuned: then the fetch settings are near those of River's own
// benchmark, which says that they are much better than the defaults.
type riverQueue[T any] struct {
	client   *river.Client[T]
	tuned    bool
	fast     func(ctx context.Context, jobs []river.InsertManyParams) error // bulk insert when tuned
	handler  atomic.Pointer[handler]
	complete atomic.Int64
	exec     func(ctx context.Context, statement string, values ...any) error
	pastSQL  string // adds $1 finished jobs
	closeAll func()
}

func openRiver[T any](ctx context.Context, q *riverQueue[T], driver riverdriver.Driver[T], atOnce int) (queue, error) {
	migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: riverLog})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(ctx context.Context, j *river.Job[riverArgs]) error {
		return (*q.handler.Load())(ctx, args(j.Args))
	}))
	config := &river.Config{
		Logger:  riverLog,
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: atOnce}},
		Workers: workers,
	}
	if q.tuned {
		config.FetchCooldown, config.FetchPollInterval = time.Millisecond, 20*time.Millisecond
	}
	q.client, err = river.NewClient(driver, config)
	return q, err
}

var riverLog = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (q *riverQueue[T]) enqueue(ctx context.Context, a args) error {
	_, err := q.client.Insert(ctx, riverArgs(a), nil)
	return err
}

// riverBulk jobs are inserted by one call, as in River's own benchmark. Tuned, one call inserts all jobs of a measurement, which
// is fastest.
const riverBulk, riverBulkTuned = 5000, 100_000

func (q *riverQueue[T]) bulk(ctx context.Context, n int, p place) error {
	var opts *river.InsertOpts
	switch p {
	case elsewhere:
		opts = &river.InsertOpts{Queue: "elsewhere"}
	case later:
		opts = &river.InsertOpts{ScheduledAt: time.Now().Add(24 * time.Hour)}
	}
	atOnce := riverBulk
	if q.tuned {
		atOnce = riverBulkTuned
	}
	part := make([]river.InsertManyParams, 0, min(n, atOnce))
	for i := range n {
		part = append(part, river.InsertManyParams{Args: riverArgs{N: i}, InsertOpts: opts})
		if len(part) < atOnce && i < n-1 {
			continue
		}
		var err error
		if q.tuned {
			err = q.fast(ctx, part)
		} else {
			_, err = q.client.InsertMany(ctx, part)
		}
		if err != nil {
			return err
		}
		part = part[:0]
	}
	return nil
}

func (q *riverQueue[T]) past(ctx context.Context, n int) error { return q.exec(ctx, q.pastSQL, n) }

func (q *riverQueue[T]) work(ctx context.Context, h handler) (func() error, error) {
	q.handler.Store(&h)
	q.complete.Store(0)
	// The events are sent after the database has been updated. The buffer has space for all, so that River drops none.
	events, cancel := q.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: 75_000,
		Kinds:    []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed},
	})
	go func() {
		for e := range events {
			if e.Kind != river.EventKindJobCompleted {
				panic(fmt.Sprint("a job failed: ", e.Job.Errors))
			}
			q.complete.Add(1)
		}
	}()
	if err := q.client.Start(ctx); err != nil {
		return nil, err
	}
	return func() error {
		defer cancel()
		return q.client.Stop(context.WithoutCancel(ctx))
	}, nil
}

func (q *riverQueue[T]) finished(ctx context.Context, n int) error {
	return in(ctx, func() (bool, error) { return q.complete.Load() >= int64(n), nil })
}

func (q *riverQueue[T]) close() { q.closeAll() }
