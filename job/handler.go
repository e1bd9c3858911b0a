package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// A HandlerFunc runs one attempt of a job. The return value decides the job's outcome:
//
//	nil             Completed
//	Cancel(err)     Canceled
//	Snooze(d)       Queued again, due after d; no attempt is used
//	Throttled(…, d) the same, and until then no other job of its limit key starts, or of its queue if it has none
//	another error   Queued again, due after the backoff; Discarded when it was the last attempt or the error is marked
//	                retry.Permanent
//	a panic         as an error, with the stack
//	runtime.Goexit  as an error, meanwhile.ErrGoexit: what testing's FailNow, Fatal and Skip call
//
// If Cancel or retry.Permanent wraps the error of Snooze or Throttled, or the other way round, the outer one counts.
//
// It may set the job's Result, which must be JSON, and must not change its other fields. ctx belongs to a task of its own: the
// handler may start tasks with it, and the attempt ends when they have ended. ctx is canceled with one of the causes of this
// package.
type HandlerFunc func(ctx context.Context, j *Job) error

// A Middleware wraps a handler: it may inspect the job, change the context, time the call, or not make it at all.
type Middleware func(next HandlerFunc) HandlerFunc

// A Handler runs the jobs of a kind in a worker. [Kind.Handle], [HandleResult] and [HandleRaw] return one.
type Handler struct {
	kind   string
	queue  string // where the kind's jobs go by default
	run    HandlerFunc
	decode func(*Job) any // decodes the args, for decoded; nil if they are not decoded, or cannot be
	definition
}

// Handle makes fn the handler of the kind. Args that cannot be decoded into T fail the attempt.
func (k *Kind[T]) Handle(fn func(ctx context.Context, args T) error) Handler {
	return k.handler(func(ctx context.Context, j *Job) error {
		args, err := k.decoded(ctx, j)
		if err != nil {
			return err
		}
		return fn(ctx, args)
	})
}

// HandleResult makes fn the handler of a kind. Its result is kept with the job as JSON, see Job.Result. A result of more than MaxResult bytes is
// not kept, and a record of the job reports that.
func HandleResult[T, R any](k *Kind[T], fn func(ctx context.Context, args T) (R, error)) Handler {
	return k.handler(func(ctx context.Context, j *Job) error {
		args, err := k.decoded(ctx, j)
		if err != nil {
			return err
		}
		result, err := fn(ctx, args)
		if err != nil {
			return err
		}
		if j.Result, err = json.Marshal(result); err != nil {
			return fmt.Errorf("result of job kind %q: %w", k.name, err)
		}
		return nil
	})
}

func (k *Kind[T]) handler(run HandlerFunc) Handler {
	h := newHandler(k.name, run, k.definition)
	h.decode = func(j *Job) any {
		args, err := k.Args(j)
		if err != nil {
			return nil
		}
		return &args
	}
	return h
}

// decoded returns the args of a job: those that its worker has decoded already, unless a middleware has replaced the JSON.
func (k *Kind[T]) decoded(ctx context.Context, j *Job) (T, error) {
	if e := executionOf(ctx); e != nil && len(e.text) > 0 && len(j.Args) == len(e.text) && &j.Args[0] == &e.text[0] {
		if args, ok := e.args.(*T); ok {
			return *args, nil
		}
	}
	return k.Args(j)
}

// HandleRaw makes fn the handler of a kind that is known by its name alone. It panics where [Define] does.
func HandleRaw(kind string, fn HandlerFunc, opts ...DefineOption) Handler {
	return newHandler(kind, fn, define(kind, opts))
}

func newHandler(kind string, run HandlerFunc, d definition) Handler {
	in := newInsertion(kind, nil)
	for _, o := range d.defaults {
		o.enqueue(in)
	}
	return Handler{kind: kind, queue: in.Job.Queue, run: run, definition: d}
}

// DefaultBackoff waits about 1, 2, 4, 8 … seconds after the first, second, third, fourth … failed attempt, up to six hours;
// up to half of that, at random, is left out, so that jobs that failed together are not retried together.
func DefaultBackoff(attempt int, _ error) time.Duration {
	return backoff(attempt)
}
