package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// An execution is a job that this worker holds: an attempt that runs, or its outcome on the way to the store.
type execution struct {
	run     *run
	session Session
	job     *Job // of the attempt; when it has ended, its progress and records are set from the fields below
	handler *Handler
	begun   time.Time
	wait    time.Duration // from due to claimed
	args    any           // decoded from text, if they could be
	text    json.RawMessage

	end ending // once the attempt has ended
	ctx attemptContext

	mu        sync.Mutex
	abort     func(cause error) // cancels the attempt, once it has begun
	cause     error             // for which it is canceled
	checked   time.Time         // when the store last confirmed that the session holds it
	lost      bool              // the lease is lost: nothing may be settled
	ended     bool
	completed bool // the handler has called Complete, in its own transaction
	dirty     bool // progress or records are newer than in the store
	progress  *ProgressReport
	records   []Record
	size      int    // bytes of records
	then      []*Job // to be enqueued when it completes
	spent     *int   // units, if the handler has called Spend
}

// An ending is what the settle loop needs to know about an attempt that has ended.
type ending struct {
	event  Event
	units  int // Outcome.Units
	at     time.Time
	tried  bool // a call that was to write the outcome has failed: perhaps only its answer was lost
	silent bool // no event, as for a job that was released before it started
}

// start runs a claimed job as a task, or settles it immediately if it must not run.
func (r *run) start(j *Job, session Session, expired string, claimed time.Time) {
	e := &execution{run: r, session: session, job: j, checked: claimed, records: j.Records, handler: r.handlers[j.Kind]}
	for i := range e.records {
		e.size += e.records[i].size()
	}
	e.wait = max(j.Started.Sub(j.RunAt), 0)
	r.counters.began(claimed, j, e.wait)
	unfit := j.prepareAttempt(expired, e.handler.once)
	r.keep(e)
	if unfit != nil {
		e.finishUnbegun(ending{event: *unfit})
		return
	}
	e.decode()
	r.mu.Lock()
	r.running++
	r.inQueue[j.Queue]++
	r.launch(e)
	r.mu.Unlock()
}

// decode decodes the args before the attempt. In the attempt, its goroutine would have to grow its stack for that, to twice of what most jobs need
// while they wait. An error or a panic here happens again, and is reported, in the attempt.
func (e *execution) decode() {
	if e.handler.decode == nil {
		return
	}
	defer func() { _ = recover() }()
	e.args, e.text = e.handler.decode(e.job), e.job.Args
}

// releaseUnstarted releases a job that was claimed but must not be started.
func (r *run) releaseUnstarted(j *Job, session Session) {
	e := &execution{run: r, session: session, job: j, checked: time.Now(), ended: true}
	r.keep(e)
	j.queueAgain(0, true)
	r.finish(e, ending{silent: true})
}

// finishUnbegun passes an execution that runs no handler to the settle loop. It takes e.mu since the renew loop may be canceling the execution.
func (e *execution) finishUnbegun(end ending) {
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	e.run.finish(e, end)
}

type executionKey struct{}

// An attemptContext is the context of an attempt, through which functions such as Progress find the execution. It is a part of the execution: a
// separate object for each attempt would be one more to garbage-collect.
type attemptContext struct {
	context.Context
	of *execution
}

func (c *attemptContext) Value(key any) any {
	if key == (executionKey{}) {
		return c.of
	}
	return c.Context.Value(key)
}

// attempt runs the handler, in a scope of its own so that everything it has started has ended when its outcome is decided. It reports whether ctx
// was canceled by abort, or may still be, for this attempt.
func (e *execution) attempt(ctx context.Context, abort func(cause error)) (aborted bool) {
	e.begun = time.Now()
	e.ctx = attemptContext{ctx, e}
	ctx = &e.ctx
	e.mu.Lock()
	e.abort = abort
	cause := e.cause
	e.mu.Unlock()
	if cause != nil {
		abort(cause)
	}
	if t := cmp.Or(e.job.Timeout, e.handler.timeout); t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, ErrTimeout)
		defer cancel()
	}
	err := errHandlerGoexit // unless the handler returns: after a Goexit only deferred functions run
	defer func() { aborted = e.decide(ctx, err) }()
	e.run.observe(Event{Kind: JobStarted, Job: e.job, Wait: e.wait})
	if cause := context.Cause(ctx); cause != nil { // canceled before it began
		err = cause
	} else {
		id := e.job.ID.String()
		err = meanwhile.Run(ctx, func(ctx context.Context) error {
			return e.handler.run(ctx, e.job)
		}, meanwhile.Name(e.job.Kind), meanwhile.ID(id), meanwhile.Attrs(
			slog.String("job.id", id),
			slog.String("job.kind", e.job.Kind),
			slog.String("job.queue", e.job.Queue),
			slog.Int("job.attempt", e.job.Attempt),
		))
	}
	return aborted // set by the deferred decide
}

// decide decides the outcome of the job and passes it to the settle loop. It reports whether the attempt was canceled.
func (e *execution) decide(ctx context.Context, err error) (aborted bool) {
	r, j := e.run, e.job
	elapsed := time.Since(e.begun)
	if r, tooLarge := j.dropLargeResult(time.Now()); tooLarge {
		e.addRecord(r)
	}
	e.mu.Lock()
	e.ended = true
	lost, completed, cause := e.lost, e.completed, e.cause
	aborted = cause != nil
	j.Records, j.Progress = e.records, e.progress
	then, units := e.then, e.unbooked()
	e.mu.Unlock()
	if completed && err == nil {
		err = errNotCommitted // counts only if it is true: after a commit the job is not held any more
	}
	if err == nil {
		err = j.checkResult()
	}
	if cause == nil {
		cause = context.Cause(ctx) // the timeout
	}
	if lost && !completed { // if completed, the settle loop finds out whether that was committed
		err = either(err, ErrLeaseLost)
		r.drop(e)
		r.observe(Event{Kind: JobLost, Job: j, Err: err, Elapsed: elapsed})
		return aborted
	}
	j.decideSafely(err, cause, elapsed, e.handler.definition, func(event Event) {
		event.Elapsed = elapsed
		r.mu.Lock()
		r.release(j.Queue)
		r.mu.Unlock()
		if j.State == Completed {
			event.Then = then
		}
		r.finish(e, ending{event: event, units: units})
	})
	return aborted
}

func either(err, fallback error) error {
	if err == nil {
		return fallback
	}
	return err
}

// release frees the slot of an attempt. r.mu is held.
func (r *run) release(queue string) {
	r.running--
	r.inQueue[queue]--
	if r.hasCapacity {
		signal(r.capacityFreed)
	}
}

// finish passes an execution to the settle loop.
func (r *run) finish(e *execution, end ending) {
	end.at = time.Now()
	e.end = end
	r.mu.Lock()
	r.finished = append(r.finished, e)
	first := len(r.finished) == 1
	r.mu.Unlock()
	if first {
		signal(r.done)
	}
}

// drop forgets a lost execution.
func (r *run) drop(e *execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inFlight[e.job.ID] == e {
		delete(r.inFlight, e.job.ID)
	}
	r.release(e.job.Queue)
}

// loseLease marks the lease as lost, whether or not the attempt has ended. The caller must then cancel the attempt, except that it may spare one whose
// handler has completed the job by itself.
func (e *execution) loseLease() (completed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lost = true
	if e.cause == nil && !e.completed {
		e.cause = ErrLeaseLost
	}
	return e.completed
}

// cancel cancels the attempt, if it has not ended.
func (e *execution) cancel(cause error) {
	e.mu.Lock()
	if e.ended {
		e.mu.Unlock()
		return
	}
	if errors.Is(cause, ErrLeaseLost) {
		e.lost = true
	}
	if e.cause == nil {
		e.cause = cause
	}
	abort := e.abort
	e.mu.Unlock()
	if abort != nil {
		abort(cause)
	}
}
