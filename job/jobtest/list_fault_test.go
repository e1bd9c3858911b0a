package jobtest

import (
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of List, Counts, Queues and Pause.
var listFaults = []fault{
	{name: "list ignores IDs", noticed: []string{"insert is all or none"}, apply: listAs(func(f *job.Filter) { f.IDs = nil })},
	{name: "list ignores kinds", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.Kinds = nil })},
	{name: "list ignores queues", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.Queues = nil })},
	{name: "list ignores states", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.States = nil })},
	{name: "list has no views", noticed: []string{"list by each field"}, apply: listAs(func(f *job.Filter) {
		f.States = slices.Clone(f.States)
		for i, s := range f.States {
			if s == job.Scheduled || s == job.Retrying {
				f.States[i] = job.Queued
			}
		}
	})},
	{name: "list ignores the worker", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.Worker = "" })},
	{name: "list ignores the unique key", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.UniqueKey = "" })},
	{name: "list ignores when jobs were made", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.CreatedAfter, f.CreatedBefore = time.Time{}, time.Time{} })},
	{name: "list ignores when jobs finished", noticed: []string{"list of what there is not"}, apply: listAs(func(f *job.Filter) { f.FinishedBefore = time.Time{} })},
	{name: "list has no pages", noticed: []string{"list goes on after a page"}, apply: listAs(func(f *job.Filter) {
		if f.Limit < 500 {
			f.Before = job.ID{}
		}
	})},
	{name: "list ignores the limit", noticed: []string{"insert of many jobs keeps their order"}, apply: listAs(func(f *job.Filter) { f.Limit = 1000 })},
	{name: "list takes args for exact and fails", noticed: []string{"list leaves out none that matches args or error"}, apply: func(b *broken) {
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			if len(f.Args) > 0 || f.Error != "" {
				return nil, nil
			}
			return b.Store.List(ctx, f)
		}
	}},
	{name: "list is oldest first", noticed: []string{"jobs without a unique key are all stored"}, apply: func(b *broken) {
		b.list = func(ctx context.Context, f job.Filter) ([]*job.Job, error) {
			jobs, err := b.Store.List(ctx, f)
			slices.Reverse(jobs)
			return jobs, err
		}
	}},
	{name: "counts leave out what has finished", noticed: []string{"prune leaves a job that was queued again"}, apply: func(b *broken) {
		b.counts = func(c []job.Count) []job.Count {
			return slices.DeleteFunc(c, func(c job.Count) bool { return c.State.Finished() })
		}
	}},
	{name: "counts have zeros", noticed: []string{"insert of no jobs"}, apply: func(b *broken) {
		b.counts = func(c []job.Count) []job.Count {
			return append(c, job.Count{Queue: "none", Kind: "k", State: job.Queued})
		}
	}},
	{name: "counts are of attempts", noticed: []string{"a canceled or discarded job has finished now"}, apply: func(b *broken) {
		b.counts = func(c []job.Count) []job.Count {
			for i := range c {
				c[i].N++
			}
			return c
		}
	}},
	{name: "queues leave out the paused", noticed: []string{
		"queues are those with unfinished jobs and those that are paused",
	}, apply: func(b *broken) {
		b.queues = func(q []job.QueueInfo) []job.QueueInfo {
			return slices.DeleteFunc(q, func(q job.QueueInfo) bool { return q.Queued+q.Running == 0 })
		}
	}},
	{name: "queues do not know how long a job waits", noticed: []string{"queues tell how long a job has been due"}, apply: func(b *broken) {
		b.queues = func(q []job.QueueInfo) []job.QueueInfo {
			for i := range q {
				q[i].Wait = 0
			}
			return q
		}
	}},
	{name: "queues are not counted", noticed: []string{"actions move queued jobs within the order"}, apply: func(b *broken) {
		b.queues = func(q []job.QueueInfo) []job.QueueInfo {
			for i := range q {
				q[i].Queued++
			}
			return q
		}
	}},
	{name: "pause does nothing", noticed: []string{"an expired lease of another queue or a paused one is left alone"}, apply: func(b *broken) { b.pause = func(q string, _ bool) (string, bool) { return q, false } }},
	{name: "a paused queue stays so", noticed: []string{"a paused queue takes jobs, and what runs goes on"}, apply: func(b *broken) { b.pause = func(q string, _ bool) (string, bool) { return q, true } }},
}
