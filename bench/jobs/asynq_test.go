package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

var asynqRedis = []peer{{"asynq", "redis", openAsynq}}

const asynqKind = "noop"

// asynqQueue is asynq with its defaults, except for the number of concurrent jobs and the polling interval of an idle server.
type asynqQueue struct {
	at        asynq.RedisConnOpt
	client    *asynq.Client
	inspector *asynq.Inspector
	atOnce    int
	before    int // jobs processed before the worker started
	ran       atomic.Int64
}

func openAsynq(_ context.Context, where string, atOnce int) (queue, error) {
	at, err := asynq.ParseRedisURI(where)
	if err != nil {
		return nil, err
	}
	return &asynqQueue{at: at, client: asynq.NewClient(at), inspector: asynq.NewInspector(at), atOnce: atOnce}, nil
}

func (q *asynqQueue) add(ctx context.Context, a args, opts ...asynq.Option) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = q.client.EnqueueContext(ctx, asynq.NewTask(asynqKind, text), opts...)
	return err
}

func (q *asynqQueue) enqueue(ctx context.Context, a args) error { return q.add(ctx, a) }

// bulk enqueues one by one from 16 goroutines: asynq has no bulk call.
func (q *asynqQueue) bulk(ctx context.Context, n int, p place) error {
	opts := map[place][]asynq.Option{elsewhere: {asynq.Queue("elsewhere")}, later: {asynq.ProcessIn(24 * time.Hour)}}[p]
	return q.all(n, func(i int) error { return q.add(ctx, args{N: i}, opts...) })
}

func (q *asynqQueue) all(n int, do func(i int) error) error {
	const callers = 16
	errs := make([]error, callers)
	var next atomic.Int64
	var group sync.WaitGroup
	for c := range callers {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n || errs[c] != nil {
					return
				}
				errs[c] = do(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// past runs the jobs with a worker of its own. They are kept for a day, as ours are.
func (q *asynqQueue) past(ctx context.Context, n int) error {
	err := q.all(n, func(i int) error {
		return q.add(ctx, args{N: i}, asynq.Queue("past"), asynq.Retention(24*time.Hour))
	})
	if err != nil {
		return err
	}
	stop, err := q.start("past", 1000, func(context.Context, *asynq.Task) error { return nil })
	if err != nil {
		return err
	}
	err = in(ctx, func() (bool, error) {
		info, err := q.inspector.GetQueueInfo("past")
		return err == nil && info.Completed >= n, err
	})
	return errors.Join(err, stop())
}

func (q *asynqQueue) start(queue string, atOnce int, h asynq.HandlerFunc) (stop func() error, err error) {
	s := asynq.NewServer(q.at, asynq.Config{
		Concurrency: atOnce, Queues: map[string]int{queue: 1}, TaskCheckInterval: 20 * time.Millisecond, LogLevel: asynq.ErrorLevel,
	})
	if err := s.Start(h); err != nil {
		return nil, err
	}
	return func() error {
		s.Shutdown()
		return nil
	}, nil
}

func (q *asynqQueue) work(_ context.Context, h handler) (stop func() error, err error) {
	q.ran.Store(0)
	if q.before, err = q.processed(); err != nil {
		return nil, err
	}
	return q.start("default", q.atOnce, func(ctx context.Context, t *asynq.Task) error {
		defer q.ran.Add(1)
		var a args
		if err := json.Unmarshal(t.Payload(), &a); err != nil {
			return fmt.Errorf("%w: %w", err, asynq.SkipRetry)
		}
		return h(ctx, a)
	})
}

// processed returns how many jobs the server reports as run, or 0 if nothing was enqueued in the queue yet.
func (q *asynqQueue) processed() (int, error) {
	queues, err := q.inspector.Queues()
	if err != nil || !slices.Contains(queues, "default") {
		return 0, err
	}
	info, err := q.inspector.GetQueueInfo("default")
	if err != nil {
		return 0, err
	}
	return info.Processed, nil
}

func (q *asynqQueue) finished(ctx context.Context, n int) error {
	return in(ctx, func() (bool, error) {
		if q.ran.Load() < int64(n) {
			return false, nil
		}
		done, err := q.processed()
		return done-q.before >= n, err
	})
}

func (q *asynqQueue) close() {
	_ = q.client.Close()
	_ = q.inspector.Close()
}
