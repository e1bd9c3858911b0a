package jobtest

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Wait, Change and Close.
var changeFaults = []fault{
	{name: "wait is woken by nothing", noticed: []string{"wait is woken by an insert before it"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, _ []string) error {
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{name: "wait knows one queue", noticed: []string{"wait is woken for any of its queues"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) error { return b.Store.Wait(ctx, queues[0]) }
	}},
	{name: "wait looks now and then", noticed: []string{"close releases those that wait"}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, _ []string) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(30 * time.Second):
				return nil
			}
		}
	}},
	{name: "wait does not wait", noticed: []string{
		"wait is woken by an insert",
		"wait is woken by a change of the queue",
		"wait on an idle queue waits",
	}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, _ []string) error { time.Sleep(time.Millisecond); return ctx.Err() }
	}},
	{name: "wait does not see the end of ctx", noticed: []string{
		"wait is woken by a settle as queued",
		"wait returns when ctx is canceled",
	}, apply: func(b *broken) {
		b.wait = func(ctx context.Context, queues []string) error {
			return b.Store.Wait(context.WithoutCancel(ctx), queues...)
		}
	}},
	{name: "one of those that wait is woken", noticed: []string{"all that wait are woken"}, apply: func(b *broken) {
		turn := make(chan struct{}, 1)
		b.wait = func(ctx context.Context, queues []string) error {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
				return b.Store.Wait(ctx, queues...)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}},
	{name: "close does not end waits", noticed: []string{
		"close releases those that wait",
		"all calls return ErrClosed after close",
	}, apply: func(b *broken) {
		b.close = func() error { return nil }
	}},
	{name: "ping fails", noticed: []string{"ping answers"}, apply: func(b *broken) { b.ping = func() error { return job.ErrSchema } }},
	{name: "a canceled ctx is ignored", noticed: []string{"all calls return the error of a canceled ctx and do nothing"}, apply: func(b *broken) {
		b.prune = func(ctx context.Context, retention map[job.State]time.Duration, limit int) (int, error) {
			return b.Store.Prune(context.WithoutCancel(ctx), retention, limit)
		}
	}},

	{name: "change decides twice", noticed: []string{"change shows each job once, with all its fields"}, apply: func(b *broken) {
		b.change = func(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			return b.Store.Change(ctx, ids, func(j *job.Job) job.Decision {
				trial := *j
				decide(&trial)
				return decide(j)
			})
		}
	}},
	{name: "change is without a lock", noticed: []string{"changes at once are one after the other"}, apply: func(b *broken) {
		b.change = func(ctx context.Context, given []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			jobs, err := b.Store.List(ctx, job.Filter{IDs: given, Limit: len(given)})
			if err != nil {
				return nil, err
			}
			decided := map[job.ID]job.Decision{}
			byID := map[job.ID]*job.Job{}
			for _, j := range jobs {
				decided[j.ID], byID[j.ID] = decide(j), j
			}
			time.Sleep(time.Millisecond)
			return b.Store.Change(ctx, given, func(j *job.Job) job.Decision {
				if to := byID[j.ID]; to != nil && (j.State == job.Running) == (to.State == job.Running) {
					*j = *to
				}
				return decided[j.ID]
			})
		}
	}},
	{name: "leave writes", noticed: []string{"leave leaves a job as it is"}, apply: decideAs(func(_, _ *job.Job, d job.Decision) job.Decision {
		if d == job.Leave {
			return job.Write
		}
		return d
	})},
	{name: "write does not write", noticed: []string{"prune keeps what finished within its retention"}, apply: decideAs(func(_, _ *job.Job, d job.Decision) job.Decision {
		if d == job.Write {
			return job.Leave
		}
		return d
	})},
	{name: "remove does not remove", noticed: []string{"change of many"}, apply: decideAs(func(_, _ *job.Job, d job.Decision) job.Decision {
		if d == job.Remove {
			return job.Leave
		}
		return d
	})},
	{name: "change drops the detail", noticed: []string{
		"change writes a queued job",
		"change finishes a queued job",
		"a finished job that stays so is written",
	}, apply: decideAs(func(_, j *job.Job, d job.Decision) job.Decision {
		j.Detail = job.Detail{}
		return d
	})},
	{name: "change drops time and delay", noticed: []string{
		"change delays a queued job, or makes it due",
		"change moves a queued job within the order",
	}, apply: decideAs(func(before, j *job.Job, d job.Decision) job.Decision {
		j.RunAt = before.RunAt
		return d
	})},
	{name: "change does not queue again", noticed: []string{"wait is woken by a change"}, apply: decideAs(func(before, j *job.Job, d job.Decision) job.Decision {
		if before.State.Finished() && j.State == job.Queued {
			return job.Leave
		}
		return d
	})},
	{name: "change does not ask a running job to cancel", noticed: []string{
		"a claim of a job whose lease ran out keeps the request to cancel",
		"change of a running job writes the request to cancel alone",
	}, apply: decideAs(func(before, j *job.Job, d job.Decision) job.Decision {
		j.CancelRequested = before.CancelRequested
		return d
	})},
	{name: "change removes only what has ended", noticed: []string{
		"a unique key is free when its job was finished or removed by a change",
	}, apply: decideAs(func(before, _ *job.Job, d job.Decision) job.Decision {
		if d == job.Remove && !before.State.Finished() {
			return job.Leave
		}
		return d
	})},
	{name: "change takes a hundred", noticed: []string{"change of many"}, apply: func(b *broken) {
		b.change = func(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			return b.Store.Change(ctx, ids[:min(len(ids), 100)], decide)
		}
	}},
	{name: "conflicts are not told", noticed: []string{"a finished job whose unique key is taken stays finished"}, apply: func(b *broken) {
		b.change = func(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			_, err := b.Store.Change(ctx, ids, decide)
			return nil, err
		}
	}},
	{name: "a conflict spoils the whole change", noticed: []string{
		"of two finished jobs with one unique key one is queued again",
	}, apply: func(b *broken) {
		b.change = func(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			conflicts, err := b.Store.Change(ctx, ids, decide)
			if len(conflicts) > 0 {
				return ids, err
			}
			return conflicts, err
		}
	}},
	{name: "a job that is queued again does not take its key", noticed: []string{
		"a finished job that is queued again holds its unique key again",
		"a finished job that holds its key by UniqueFor is queued again",
	}, apply: func(b *broken) {
		free := map[string]bool{}
		b.change = func(ctx context.Context, ids []job.ID, decide func(*job.Job) job.Decision) ([]job.ID, error) {
			return b.Store.Change(ctx, ids, func(j *job.Job) job.Decision {
				before := j.State
				d := decide(j)
				free[j.UniqueKey] = free[j.UniqueKey] || before.Finished() && j.State == job.Queued
				return d
			})
		}
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			return b.Store.Insert(ctx, copies(jobs, func(j *job.Job) {
				if free[j.UniqueKey] {
					j.UniqueKey = ""
				}
			})...)
		}
	}},
}
