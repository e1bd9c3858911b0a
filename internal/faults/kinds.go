//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

// A kind is a kind of jobs: how they behave, and how they must end.
type kind struct {
	name   string
	share  int       // of 1,000 jobs enqueued
	end    job.State // in which they must end, or Discarded for a job whose processes died too often
	most   int       // maximum number of attempts
	make   func(r *rand.Rand, lease time.Duration) (args, []job.EnqueueOption)
	handle func(ctx context.Context, j *job.Job, a args) error
}

// args are the arguments of the jobs of all kinds.
type args struct {
	Millis int    `json:"ms,omitempty"`   // to wait
	Fails  int    `json:"fail,omitempty"` // attempts that fail
	Tick   int64  `json:"tick,omitempty"`
	After  job.ID `json:"after,omitzero"` // of nextKind: the job that it follows
}

const (
	cronKind = "tick"
	nextKind = "next" // follows each job of the kind chain
)

var errOnPurpose = errors.New("failed on purpose")

var kinds = []kind{
	{name: "work", share: 740, end: job.Completed, most: 20, make: makeWork, handle: handleWork},
	{name: "long", share: 10, end: job.Completed, most: 20, make: makeLong, handle: handleWork},
	{name: "unique", share: 80, end: job.Completed, most: 20, make: makeUnique, handle: handleWork},
	{name: "period", share: 40, end: job.Completed, most: 20, make: makePeriod, handle: handleWork},
	{name: "snooze", share: 40, end: job.Completed, most: 20, make: makeWork, handle: handleSnooze},
	{name: "cancel", share: 20, end: job.Canceled, most: 20, make: makeWork, handle: handleCancel},
	{name: "fail", share: 29, end: job.Discarded, most: 3, make: makeWork, handle: handleFail},
	{name: "die", share: 1, end: job.Discarded, most: 2, make: makeWork, handle: handleDie},
	{name: "chain", share: 40, end: job.Completed, most: 20, make: makeWork, handle: handleChain},
	{name: nextKind, end: job.Completed, most: 20, handle: handleWork},
	{name: cronKind, end: job.Completed, most: 20, handle: handleWork},
}

// drawKind draws a kind by its share.
func drawKind(r *rand.Rand) *kind {
	n := r.IntN(1000)
	for i := range kinds {
		if n -= kinds[i].share; n < 0 {
			return &kinds[i]
		}
	}
	return &kinds[0]
}

// draw makes a job of the kind.
func (k *kind) draw(r *rand.Rand, lease time.Duration) (*job.Job, error) {
	a, opts := k.make(r, lease)
	text, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	opts = append(opts, job.MaxAttempts(k.most), job.Priority(1+r.IntN(9)))
	opts = append(opts, drawQueue(r, k.name)...)
	if r.IntN(5) == 0 {
		opts = append(opts, job.In(time.Duration(r.IntN(2000))*time.Millisecond))
	}
	return job.New(k.name, text, opts...)
}

func makeWork(r *rand.Rand, _ time.Duration) (args, []job.EnqueueOption) {
	a := args{Millis: r.IntN(50)}
	if r.IntN(10) == 0 {
		a.Fails = 1 + r.IntN(2)
	}
	return a, nil
}

// makeLong makes jobs most of which need their lease renewed.
func makeLong(r *rand.Rand, lease time.Duration) (args, []job.EnqueueOption) {
	return args{Millis: int((lease/2 + time.Duration(r.Int64N(int64(2*lease)))).Milliseconds())}, nil
}

// makeUnique makes jobs with few keys, so that most keys are held when a job is enqueued.
func makeUnique(r *rand.Rand, _ time.Duration) (args, []job.EnqueueOption) {
	return args{Millis: 100 + r.IntN(200)}, []job.EnqueueOption{job.Unique(strconv.Itoa(r.IntN(8)))}
}

func makePeriod(r *rand.Rand, _ time.Duration) (args, []job.EnqueueOption) {
	return args{Millis: r.IntN(50)}, []job.EnqueueOption{job.Unique(strconv.Itoa(r.IntN(8))), job.UniqueFor(1500 * time.Millisecond)}
}

func handleWork(ctx context.Context, j *job.Job, a args) error {
	if err := meanwhile.Sleep(ctx, time.Duration(a.Millis)*time.Millisecond); err != nil {
		return err
	}
	if j.Used() <= a.Fails {
		return errOnPurpose
	}
	return nil
}

func handleSnooze(ctx context.Context, j *job.Job, a args) error {
	if j.Uncounted == 0 {
		return job.Snooze(time.Duration(a.Millis) * time.Millisecond)
	}
	return handleWork(ctx, j, a)
}

// handleChain asks for a job to follow this one in every attempt, whatever its outcome.
func handleChain(ctx context.Context, j *job.Job, a args) error {
	text, err := json.Marshal(args{After: j.ID})
	if err != nil {
		return err
	}
	next, err := job.New(nextKind, text)
	if err == nil {
		err = job.Then(ctx, next)
	}
	return errors.Join(err, handleWork(ctx, j, a))
}

func handleCancel(context.Context, *job.Job, args) error { return job.Cancel(errOnPurpose) }

func handleFail(context.Context, *job.Job, args) error { return errOnPurpose }

func handleDie(context.Context, *job.Job, args) error {
	if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
		return err
	}
	select {}
}

// handlers returns the handlers of all kinds, which write to the ledger what they do.
func handlers(l *ledger) []job.Handler {
	var all []job.Handler
	for _, k := range kinds {
		all = append(all, job.HandleRaw(k.name, func(ctx context.Context, j *job.Job) error {
			var a args
			if err := json.Unmarshal(j.Args, &a); err != nil {
				return retry.Permanent(fmt.Errorf("args: %w", err))
			}
			e := entry{What: starts, ID: j.ID, Kind: j.Kind, Attempt: j.Attempt, Worker: j.Worker, Tick: a.Tick}
			if findLimited(j.Queue) != nil {
				e.Queue, e.Lane, e.Cost, e.Claimed, e.Died = j.Queue, j.LimitKey, j.Cost, j.Started.UnixNano(), j.Crashed
			}
			l.write(e)
			err := k.handle(ctx, j, a)
			e.What = ends
			if err != nil {
				e.Outcome = err.Error()
			}
			l.write(e)
			return err
		}, job.Backoff(quickly)))
	}
	return all
}

func quickly(int, error) time.Duration { return 50*time.Millisecond + rand.N(100*time.Millisecond) }
