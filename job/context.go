package job

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

func executionOf(ctx context.Context) *execution {
	e, _ := ctx.Value(executionKey{}).(*execution)
	return e
}

// FromContext returns a copy of the job that ctx belongs to: the context of a handler, or one derived from it. The copy has the failures of
// earlier attempts, and the progress and records so far, but no Result. Once the attempt has ended it has no RunAt, Uncounted and Detail either.
// Changes to the copy have no effect. FromContext may be called by many goroutines at once; each call copies the args.
func FromContext(ctx context.Context) (*Job, bool) {
	if e := executionOf(ctx); e != nil {
		return e.copyJob(), true
	}
	return nil, false
}

// copyJob copies the job without the Result, which the handler sets. After the attempt has ended it also leaves out RunAt, Uncounted and the
// Detail, which are then written without e.mu.
func (e *execution) copyJob() *Job {
	j := e.job
	c := &Job{
		ID: j.ID, Kind: j.Kind, Queue: j.Queue, Args: bytes.Clone(j.Args), State: Running, Priority: j.Priority,
		Attempt: j.Attempt, Crashed: j.Crashed, MaxAttempts: j.MaxAttempts, UniqueKey: j.UniqueKey, UniqueFor: j.UniqueFor,
		Created: j.Created, Started: j.Started, Worker: j.Worker, CancelRequested: j.CancelRequested, Options: j.Options,
	}
	c.Meta = maps.Clone(j.Meta)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.ended {
		c.RunAt, c.Uncounted, c.Detail = j.RunAt, j.Uncounted, e.gathered()
	}
	return c
}

// Progress records how far the job of ctx has got, for everybody who views it: done of total, in any unit. The newest value
// is written to the store within about a second, so Progress may be called as often as you like. Without a job in ctx it
// does nothing.
func Progress(ctx context.Context, done, total int64) {
	e := executionOf(ctx)
	if e == nil {
		return
	}
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.progress, e.dirty = &ProgressReport{Done: done, Total: total, Time: now}, true
}

// Complete settles the job of ctx as completed within the handler's own transaction, see the Tx methods of the stores: the changes of the
// transaction, the completion, and the jobs that follow it (see [Then]) are committed together, or not at all. The handler then commits and returns
// nil. It returns ErrLeaseLost if the worker no longer holds the job; the transaction must then be rolled back, since another worker runs the job.
// If the handler returns nil without having committed, the attempt fails. After the commit the handler is no longer canceled when the lease is lost,
// since the lease is over; the end of the process may cut it short.
//
//	err = job.Complete(ctx, store.Tx(tx))
//	…
//	return tx.Commit()
func Complete(ctx context.Context, tx Settler) error {
	e := executionOf(ctx)
	if e == nil {
		return errors.New("complete a job: the context is not that of a handler")
	}
	e.mu.Lock()
	if e.lost {
		e.mu.Unlock()
		return ErrLeaseLost
	}
	j, then, units := e.snapshot(), e.then, e.unbooked()
	j.State, j.Created, j.Meta = Completed, e.job.Created, e.job.Meta
	e.completed = true
	e.mu.Unlock()
	o := j.outcome(then)
	o.Units = units
	lost, err := tx.Settle(ctx, e.session, o)
	if err != nil {
		return fmt.Errorf("complete job %v: %w", j.ID, err)
	}
	if len(lost) > 0 {
		e.mu.Lock()
		e.completed = false
		givenUp := e.lost // meanwhile, which has spared the attempt
		e.mu.Unlock()
		if givenUp {
			e.cancel(ErrLeaseLost)
		}
		return ErrLeaseLost
	}
	return nil
}
