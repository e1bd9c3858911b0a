package jobtest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Insert and of unique keys.
var insertFaults = []fault{
	{name: "a debounced job waits for ever", noticed: []string{
		"a debounced job is due later with each that replaces it, up to its longest delay",
	}, apply: insertAs(func(j *job.Job) { j.ReplaceWithin = 0 })},
	{name: "a debounced job is due when the first was", noticed: []string{
		"a debounced job is due later with each that replaces it, up to its longest delay",
	}, apply: insertAs(func(j *job.Job) { j.Replace = j.Replace && j.ReplaceWithin == 0 })},
	{name: "a debounced job is replaced as others", noticed: []string{
		"a debounced job that waits for its next attempt is due no earlier",
	}, apply: insertAs(func(j *job.Job) { j.ReplaceWithin = 0 })},
	{name: "insert changes the jobs", noticed: []string{
		"insert stores a job with all its fields",
		"many are claimed in order",
	}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			ids, err := b.Store.Insert(ctx, jobs...)
			for _, j := range jobs {
				j.RunAt = time.Now()
			}
			return ids, err
		}
	}},
	{name: "insert drops the kind", noticed: []string{"counts are by queue, kind and state"}, apply: insertAs(func(j *job.Job) { j.Kind = "k" })},
	{name: "insert drops the queue", noticed: []string{"insert is all or none"}, apply: insertAs(func(j *job.Job) { j.Queue = job.DefaultQueue })},
	{name: "insert drops the delay", noticed: []string{"claim leaves out paused queues"}, apply: insertAs(func(j *job.Job) { j.Delay = 0 })},
	{name: "insert drops the time", noticed: []string{"insert with a time"}, apply: insertAs(func(j *job.Job) { j.RunAt = time.Time{} })},
	{name: "insert delays all", noticed: []string{
		"insert without a time is due at once",
		"insert of a delayed job is due later",
	}, apply: insertAs(func(j *job.Job) { j.Delay += time.Hour })},
	{name: "insert loses the last of several", noticed: []string{"list is by ID, newest first"}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			if len(jobs) > 1 {
				if _, err := b.Store.Insert(ctx, jobs[:len(jobs)-1]...); err != nil {
					return nil, err
				}
				return ids(jobs), nil
			}
			return b.Store.Insert(ctx, jobs...)
		}
	}},
	{name: "insert is one by one", noticed: []string{
		"insert is all or none",
		"an insert that fails spoils none at the same time",
	}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			var all []job.ID
			for _, j := range jobs {
				ids, err := b.Store.Insert(ctx, j)
				if err != nil {
					return nil, err
				}
				all = append(all, ids...)
			}
			return all, nil
		}
	}},
	{name: "insert takes a running job for a new one", noticed: []string{"insert refuses what is stored, in each state"}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			for i, j := range jobs {
				if there, err := job.Find(ctx, b.Store, j.ID); err == nil && there.State == job.Running {
					jobs = slices.Clone(jobs)
					other := *j
					other.ID = job.NewID()
					jobs[i] = &other
				}
			}
			return b.Store.Insert(ctx, jobs...)
		}
	}},
	{name: "insert of none is an error", noticed: []string{"insert of no jobs"}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			if len(jobs) == 0 {
				return nil, job.ErrNotFound
			}
			return b.Store.Insert(ctx, jobs...)
		}
	}},
	{name: "insert normalizes args", noticed: []string{"args come back as they were"}, apply: insertAs(func(j *job.Job) {
		var value any
		if json.Unmarshal(j.Args, &value) == nil {
			j.Args, _ = json.Marshal(value)
		}
	})},
	{name: "insert cuts args", noticed: []string{"large args"}, apply: insertAs(func(j *job.Job) {
		if len(j.Args) > 1<<16 {
			j.Args = json.RawMessage(`"cut"`)
		}
	})},
	{name: "after a failure all fails", noticed: []string{"an insert that fails spoils none at the same time"}, apply: func(b *broken) {
		var failed atomic.Bool
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			if failed.Load() {
				return nil, job.ErrClosed
			}
			ids, err := b.Store.Insert(ctx, jobs...)
			if err != nil {
				failed.Store(true)
			}
			return ids, err
		}
	}},
	{name: "long names are cut", noticed: []string{"odd names"}, apply: insertAs(func(j *job.Job) { j.Queue = j.Queue[:min(len(j.Queue), 100)] })},
	{name: "the store keeps the caller's memory", noticed: []string{"an action is for the jobs that list returns"}, apply: func(b *broken) {
		known := map[job.ID]*job.Job{}
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			jobs, err := b.Store.List(ctx, f)
			for i, j := range jobs {
				if known[j.ID] == nil || known[j.ID].State != j.State {
					known[j.ID] = j
				}
				jobs[i] = known[j.ID]
			}
			return jobs, err
		}
	}},

	{name: "unique keys are ignored", noticed: []string{"inserts at once of one unique key store one job"}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			ids, err := b.Store.Insert(ctx, jobs...)
			for i := range ids {
				if ids[i] != jobs[i].ID {
					again := *jobs[i]
					again.UniqueKey = ""
					if _, err := b.Store.Insert(ctx, &again); err != nil {
						return nil, err
					}
					ids[i] = again.ID
				}
			}
			return ids, err
		}
	}},
	{name: "a duplicate is stored, and said to be none", noticed: []string{
		"a unique key is held while its job is unfinished",
		"inserts at once of one unique key store one job",
	}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			ids, err := b.Store.Insert(ctx, jobs...)
			for i := range ids {
				if ids[i] != jobs[i].ID {
					again := *jobs[i]
					again.UniqueKey = ""
					if _, err := b.Store.Insert(ctx, &again); err != nil {
						return nil, err
					}
				}
			}
			return ids, err
		}
	}},
	{name: "a duplicate gets its own ID", noticed: []string{"of many jobs of one call some have a unique key that is held"}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			_, err := b.Store.Insert(ctx, jobs...)
			if err != nil {
				return nil, err
			}
			return ids(jobs), nil
		}
	}},
	{name: "a colon stands between kind and key", noticed: []string{"a unique key is that of its kind"}, apply: insertAs(func(j *job.Job) {
		j.UniqueKey = strings.Replace(j.UniqueKey, " ", ":", 1)
	})},
	{name: "all keys are one", noticed: []string{"jobs without a unique key are all stored"}, apply: insertAs(func(j *job.Job) { j.UniqueKey = "k " })},
	{name: "unique keys are held for ever", noticed: []string{"a unique key is free when its job has finished"}, apply: insertAs(func(j *job.Job) { j.UniqueFor = 1000 * time.Hour })},
	{name: "UniqueFor is ignored", noticed: []string{
		"unique for holds the key beyond the end of its job",
		"unique for ends",
	}, apply: insertAs(func(j *job.Job) { j.UniqueFor = 0 })},
	{name: "UniqueFor frees the key of an unfinished job", noticed: []string{
		"unique for that is over does not free the key of an unfinished job",
	}, apply: func(b *broken) {
		b.insert = func(ctx context.Context, jobs []*job.Job) ([]job.ID, error) {
			ids, err := b.Store.Insert(ctx, jobs...)
			for i := range ids {
				if ids[i] == jobs[i].ID {
					continue
				}
				if holder := b.stored(ctx, ids[i]); holder != nil && holder.UniqueFor > 0 && time.Since(holder.Created) > holder.UniqueFor {
					ids[i] = jobs[i].ID
				}
			}
			return ids, err
		}
	}},
	{name: "insert drops the timeout", noticed: []string{"options of a job stay with it"}, apply: insertAs(func(j *job.Job) { j.Timeout = 0 })},
	{name: "insert drops the meta", noticed: []string{"options of a job stay with it"}, apply: insertAs(func(j *job.Job) { j.Meta = nil })},
	{name: "list ignores the meta", noticed: []string{"options of a job stay with it", "list by the ID of another system"}, apply: listAs(func(f *job.Filter) { f.Meta = nil })},
	{name: "an entry of meta may be a part of a longer key", noticed: []string{
		"only the jobs that have an entry of meta match it",
		"an action changes only the jobs that have an entry of meta",
	}, apply: func(b *broken) {
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			texts := f.MetaTexts()
			f.Meta = nil
			jobs, err := b.Store.List(ctx, f)
			return slices.DeleteFunc(jobs, func(j *job.Job) bool {
				return slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(string(j.EncodeOptions()), text) })
			}), err
		}
		b.apply = func(ctx context.Context, f job.Filter, action job.Action) (job.ActionResult, error) {
			if len(f.Meta) == 0 {
				return b.Store.Apply(ctx, f, action)
			}
			jobs, err := b.list(ctx, f)
			if err != nil {
				return job.ActionResult{}, err
			}
			return b.Store.Apply(ctx, job.Filter{IDs: ids(jobs), Limit: len(jobs) + 1}, action)
		}
	}},
	{name: "Replace is ignored", noticed: []string{
		"a job replaces the args and the time of a queued one with its key",
		"of the jobs of one call the last replaces the first",
	}, apply: insertAs(func(j *job.Job) { j.Replace = false })},
	{name: "a running job is replaced", noticed: []string{
		"a job replaces the args and the time of a queued one with its key",
	}, apply: insertAs(func(j *job.Job) {
		if j.Replace {
			j.UniqueWhile = []job.State{job.Queued}
		}
	})},
	{name: "UniqueWhile is ignored", noticed: []string{"a unique key keeps others out in chosen states"}, apply: insertAs(func(j *job.Job) { j.UniqueWhile = nil })},
	{name: "prune frees keys", noticed: []string{"unique for outlives the pruning of its job"}, apply: func(b *broken) {
		b.prune = func(ctx context.Context, retention map[job.State]time.Duration, limit int) (job.Pruned, error) {
			old, err := b.Store.List(ctx, job.Filter{States: finalStates, Limit: 1})
			if err != nil || len(old) == 0 {
				return b.Store.Prune(ctx, retention, limit)
			}
			_, err = b.Store.Apply(ctx, job.Filter{IDs: ids(old), Limit: len(old) + 1}, job.ActionDelete)
			return job.Pruned{Deleted: 1}, err
		}
	}},
}
