package jobtest

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of crons and Prune.
var cronFaults = []fault{
	{name: "a tick has no job", noticed: []string{"a tick wakes those that wait"}, apply: func(b *broken) {
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			had := t.Job != nil
			t.Job = nil
			_, err := b.Store.Tick(ctx, t)
			return had, err
		}
	}},
	{name: "a tick without a time is now", noticed: []string{"a tick with a job has a time"}, apply: func(b *broken) {
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			if t.Job != nil && t.At.IsZero() {
				t.At = time.Now()
			}
			return b.Store.Tick(ctx, t)
		}
	}},
	{name: "a tick counts every time", noticed: []string{"of ticks at once one counts"}, apply: func(b *broken) {
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			ok, err := b.Store.Tick(ctx, t)
			if err == nil && !ok && t.Job != nil {
				_, err = b.Store.Insert(ctx, t.Job)
				ok = true
			}
			return ok, err
		}
	}},
	{name: "crons have one name", noticed: []string{
		"crons do not get in each other's way",
		"a tick without a job notes the cron",
	}, apply: tickAs(func(t *job.Tick) { t.Cron = "c" })},
	{name: "a tick drops its spec", noticed: []string{"a tick enqueues a job and notes itself"}, apply: tickAs(func(t *job.Tick) { t.Spec = "" })},
	{name: "a tick drops its next", noticed: []string{"a tick counts once"}, apply: tickAs(func(t *job.Tick) { t.Next = time.Time{} })},
	{name: "a tick is due at once", noticed: []string{"a tick keeps the job's own time"}, apply: tickAs(func(t *job.Tick) {
		if t.Job != nil {
			now := *t.Job
			now.RunAt, now.Delay = time.Time{}, 0
			t.Job = &now
		}
	})},
	{name: "a cron that is noted does not tick", noticed: []string{
		"a cron that was noted ticks later",
		"a paused cron does not tick",
	}, apply: func(b *broken) {
		noted := map[string]bool{}
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			noted[t.Cron] = noted[t.Cron] || t.Job == nil
			if noted[t.Cron] && t.Job != nil {
				return false, nil
			}
			return b.Store.Tick(ctx, t)
		}
	}},
	{name: "a tick whose key is held fails", noticed: []string{"a tick whose unique key is held counts, and has the job that holds it"}, apply: func(b *broken) {
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			ok, err := b.Store.Tick(ctx, t)
			return ok && (t.Job == nil || b.stored(ctx, t.Job.ID) != nil), err
		}
	}},
	{name: "a paused cron ticks", noticed: []string{"a paused cron does not tick"}, apply: func(b *broken) { b.cron = func(string, bool) error { return nil } }},
	{name: "a resumed cron has missed the ticks of its pause", noticed: []string{"a cron that is resumed has no ticks of its pause"}, apply: func(b *broken) {
		paused := map[string]bool{}
		b.cron = func(name string, pause bool) error {
			paused[name] = pause
			return nil
		}
		b.tick = func(ctx context.Context, t job.Tick) (bool, error) {
			if paused[t.Cron] && t.Job != nil {
				return false, nil
			}
			return b.Store.Tick(ctx, t)
		}
	}},

	{name: "prune ignores the retention", noticed: []string{"prune deletes what is older than its retention"}, apply: pruneAs(func(all map[job.State]time.Duration, _ *int) {
		for state := range all {
			all[state] = 0
		}
	})},
	{name: "prune knows one retention for all states", noticed: []string{"prune deletes what is older than its retention"}, apply: pruneAs(func(all map[job.State]time.Duration, _ *int) {
		for _, state := range finalStates {
			all[state] = 0
		}
	})},
	{name: "prune keeps all", noticed: []string{"prune keeps what finished within its retention"}, apply: pruneAs(func(_ map[job.State]time.Duration, limit *int) { *limit = 0 })},
	{name: "prune ignores the limit", noticed: []string{
		"prune deletes the oldest first, and at most so many",
		"prune of many",
	}, apply: pruneAs(func(_ map[job.State]time.Duration, limit *int) { *limit = 10000 })},
	{name: "prune deletes by ID", noticed: []string{"unique for outlives the pruning of its job"}, apply: func(b *broken) {
		b.prune = func(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
			var states []job.State
			for state := range retention {
				states = append(states, state)
			}
			if len(states) == 0 || limit == 0 {
				return job.Pruned{}, nil
			}
			jobs, err := b.Store.List(ctx, job.Filter{States: states, Limit: limit})
			if err == nil {
				_, err = b.Store.Apply(ctx, job.Filter{IDs: ids(jobs), Limit: len(jobs) + 1}, job.ActionDelete)
			}
			return job.Pruned{Deleted: len(jobs)}, err
		}
	}},
	{name: "prune deletes what was once finished", noticed: []string{"prune leaves a job that was queued again"}, apply: func(b *broken) {
		b.prune = func(ctx context.Context, _ map[job.State]time.Duration, limit int) (job.Pruned, error) {
			jobs, err := b.Store.List(ctx, job.Filter{Limit: max(limit, 1)})
			if err == nil {
				_, err = b.Store.Apply(ctx, job.Filter{IDs: ids(jobs), Limit: len(jobs) + 1}, job.ActionDelete)
			}
			return job.Pruned{Deleted: len(jobs)}, err
		}
	}},
}
