package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// bare are our stores without a worker: they show the cost of claiming and settling alone.
var bare = []peer{
	{lib + "-store", "postgres", openBare(openPostgres)},
	{lib + "-store", "sqlite", openBare(openSQLite)},
	{lib + "-store", "redis", openBare(openRedis)},
}

type bareQueue struct{ *ourQueue }

func openBare(store func(context.Context, string) (job.Store, error)) func(context.Context, string, int) (queue, error) {
	return func(ctx context.Context, where string, atOnce int) (queue, error) {
		q, err := open(store)(ctx, where, atOnce)
		if err != nil {
			return nil, err
		}
		return bareQueue{q.(*ourQueue)}, nil
	}
}

// work has two goroutines repeatedly claim 500 jobs, call the handler, and settle them.
func (q bareQueue) work(ctx context.Context, h handler) (func() error, error) {
	q.before, _ = q.completed(ctx, job.DefaultQueue)
	q.ran.Store(0)
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		wg.Go(func() {
			session := job.NewSession()
			for ctx.Err() == nil {
				if errs[i] = q.batch(ctx, session, h); errs[i] != nil {
					return
				}
			}
		})
	}
	return func() error {
		cancel()
		wg.Wait()
		if err := errors.Join(errs...); !errors.Is(err, context.Canceled) {
			return err
		}
		return nil
	}, nil
}

func (q bareQueue) batch(ctx context.Context, session job.Session, h handler) error {
	const n = 500
	claimed, err := q.store.Claim(ctx, job.Claim{
		Worker: fmt.Sprint("bare", session), Session: session,
		Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: n}},
		Limit:  n,
		Lease:  time.Minute,
	})
	if err != nil {
		return err
	}
	if len(claimed.Jobs) == 0 {
		return meanwhile.Sleep(ctx, time.Millisecond)
	}
	for _, j := range claimed.Jobs {
		var a args
		if err := errors.Join(json.Unmarshal(j.Args, &a), h(ctx, a)); err != nil {
			return err
		}
		j.State = job.Completed
	}
	_, err = q.store.Settle(ctx, session, job.Outcomes(claimed.Jobs...)...)
	q.ran.Add(int64(len(claimed.Jobs)))
	return err
}
