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

// FromContext returns a copy of the job that ctx, the context of a handler or of what it has started, belongs to: with the failures
// of the attempts before, and the progress and the records so far, but without a Result. What is done to the copy changes nothing.
// When the attempt has ended, it has neither what the job has gathered nor RunAt. It may be called by many goroutines at once, and
// costs a copy of the args.
func FromContext(ctx context.Context) (*Job, bool) {
	if e := executionOf(ctx); e != nil {
		return e.copyJob(), true
	}
	return nil, false
}

// copyJob leaves out what is written without e.mu, or when the attempt has ended: the Result is the handler's to set.
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

// Progress notes how far the job of ctx is, for everybody who looks at it: done of total, in whatever unit. It is written to
// the store within about a second, the newest only, so that it may be called as often as one likes. Without a job in ctx it
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

// Complete settles the job of ctx as completed within a transaction of the handler's own, see the Tx methods of the stores:
// what the transaction does and the completion, with what follows it (see [Then]), happen together, or not at all. The handler then commits and returns nil.
// It returns ErrLeaseLost when the worker does not hold the job any more; the transaction must then be rolled back, for
// another worker runs the job. If the handler returns nil without having committed, the attempt fails. What it does after the
// commit is not canceled for the lease, which is over then; the end of the process may cut it short.
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
		e.mu.Unlock()
		return ErrLeaseLost
	}
	return nil
}
