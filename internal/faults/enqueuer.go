//go:build unix

package main

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	enqueueAtOnce = 4 // concurrent callers in each process
	enqueueLimit  = 5 * time.Second
)

// enqueue runs an enqueuing process: it enqueues jobs, one at a time or in batches, until ctx is canceled.
func (c config) enqueue(ctx context.Context) error {
	return c.withStore(ctx, func(ctx context.Context, store job.Store, l *ledger) error {
		return meanwhile.Run(ctx, func(ctx context.Context) error {
			for i := range enqueueAtOnce {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					return c.enqueueOn(ctx, store, l, i)
				}, meanwhile.Name("caller "+strconv.Itoa(i)))
			}
			return nil
		})
	})
}

func (c config) enqueueOn(ctx context.Context, store job.Store, l *ledger, caller int) error {
	r := rand.New(rand.NewPCG(c.seed, uint64(caller)))
	for n := 0; ; n++ {
		size := 1
		if r.IntN(10) == 0 {
			size = 2 + r.IntN(20)
		}
		// With this average pause, batches of this size add up to the rate.
		pause := time.Duration(size*enqueueAtOnce) * time.Second / time.Duration(c.rate)
		if err := meanwhile.Sleep(ctx, time.Duration(r.Int64N(int64(2*pause)))); err != nil {
			return err
		}
		batch := make([]*job.Job, size)
		for i := range batch {
			var err error
			if batch[i], err = drawKind(r).draw(r, c.lease); err != nil {
				return err
			}
		}
		enqueueBatch(ctx, store, l, c.name+"/"+strconv.Itoa(caller)+"/"+strconv.Itoa(n), batch)
	}
}

func enqueueBatch(ctx context.Context, store job.Store, l *ledger, name string, batch []*job.Job) {
	e := entry{What: intends, Batch: name}
	for _, j := range batch {
		e.Jobs = append(e.Jobs, intended{ID: j.ID, Kind: j.Kind, Key: j.UniqueKey, For: j.UniqueFor})
	}
	l.write(e)
	ctx, cancel := context.WithTimeout(ctx, enqueueLimit)
	defer cancel()
	done, err := job.Insert(ctx, store, batch...)
	if err != nil {
		l.write(entry{What: failed, Batch: name, Outcome: err.Error()})
		return
	}
	answer := entry{What: enqueued, Batch: name}
	for _, d := range done {
		answer.IDs = append(answer.IDs, d.ID)
	}
	l.write(answer)
}
