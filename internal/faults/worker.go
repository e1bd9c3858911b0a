//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	_ "github.com/meanwhile-go/meanwhile/job/postgres"
	_ "github.com/meanwhile-go/meanwhile/job/redis"
	_ "github.com/meanwhile-go/meanwhile/job/sqlite"
)

// wrapStore lets a test wrap the store of the processes in one with a defect.
var wrapStore = func(s job.Store) job.Store { return s }

// cron ticks each second, on every worker.
var cron = job.Cron{Name: "tick", Spec: "@every 1s", CatchUp: job.CatchUpAll, Job: func(tick time.Time) (*job.Job, error) {
	text, err := json.Marshal(args{Tick: tick.Unix()})
	if err != nil {
		return nil, err
	}
	return job.New(cronKind, text)
}}

// work runs a worker process until ctx is canceled. It retries while the store cannot be reached yet.
func (c config) work(ctx context.Context) error {
	return c.withStore(ctx, func(ctx context.Context, store job.Store, l *ledger) error {
		w := job.NewWorker(store, job.Config{
			Name:        c.name,
			Lease:       c.lease,
			Poll:        200 * time.Millisecond,
			Grace:       500 * time.Millisecond,
			Concurrency: 50,
			Queues:      workerQueues(),
			Crons:       []job.Cron{cron},
			Observe:     func(e job.Event) { l.observe(e) },
			Logger:      slog.New(slog.DiscardHandler),
		}, handlers(l)...)
		return w.Run(ctx)
	})
}

// observe writes to the ledger which outcomes the store has accepted, which attempts were lost, and which limit keys were repaired.
func (l *ledger) observe(e job.Event) {
	switch e.Kind {
	case job.LaneRepaired:
		l.write(entry{What: repaired, Queue: e.Repair.Queue, Lane: e.Repair.Key, Outcome: e.Repair.Wrong})
	case job.JobCompleted, job.JobRetried, job.JobSnoozed, job.JobCanceled, job.JobDiscarded, job.JobReleased, job.JobLost:
		l.write(entry{What: settled, ID: e.Job.ID, Kind: e.Job.Kind, Attempt: e.Job.Attempt, Worker: e.Worker, Outcome: e.Kind.String()})
	}
}

// withStore opens ledger and store and calls fn. It opens the store and calls fn again after errors that may pass, such as a store that cannot be
// reached.
func (c config) withStore(ctx context.Context, fn func(ctx context.Context, store job.Store, l *ledger) error) error {
	l, err := openLedger(c.ledger)
	if err != nil {
		return err
	}
	defer l.file.Close()
	for {
		err := c.openAnd(ctx, func(store job.Store) error { return fn(ctx, store, l) })
		switch {
		case ctx.Err() != nil:
			if err != nil {
				fmt.Fprintln(os.Stderr, "at the end:", err)
			}
			return nil
		case errors.Is(err, job.ErrNoSchema), errors.Is(err, job.ErrSchema), errors.Is(err, job.ErrClosed), err == nil:
			return fmt.Errorf("it ended by itself: %w", err)
		}
		fmt.Fprintln(os.Stderr, err)
		if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
			return nil
		}
	}
}

func (c config) openAnd(ctx context.Context, fn func(job.Store) error) error {
	store, err := job.Open(ctx, c.url)
	if err != nil {
		return err
	}
	defer store.Close()
	return fn(wrapStore(store))
}
