package jobtest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Faults of Watch, SendCommand and Stats, and of the parts of Renew that serve them.
var liveFaults = []fault{
	{name: "renew does not say what is watched", noticed: []string{
		"a worker learns which of its jobs are watched",
		"a watch that began before the job does lasts",
		"a shorter watch does not end a longer one",
		"a worker learns of the first hundred watched jobs",
	}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Watched = nil })},
	{name: "a watch is reported once", noticed: []string{"a worker learns which of its jobs are watched"}, apply: func(b *broken) {
		reported := map[job.ID]bool{}
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
			got.Watched = slices.DeleteFunc(got.Watched, func(id job.ID) bool { return reported[id] })
			for _, id := range got.Watched {
				reported[id] = true
			}
		})(b)
	}},
	{name: "every worker learns of every watch", noticed: []string{"a worker learns which of its jobs are watched"}, apply: func(b *broken) {
		var all []job.ID
		b.watch = func(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
			all = append(all, id)
			return b.Store.Watch(ctx, id, d)
		}
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Watched = all })(b)
	}},
	{name: "a watch lasts for ever", noticed: []string{"a watch is over after its time, and its tree is gone"}, apply: func(b *broken) {
		watched := map[job.ID]bool{}
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
			for _, id := range got.Watched {
				watched[id] = true
			}
			got.Watched = slices.Collect(maps.Keys(watched))
		})(b)
	}},
	{name: "a watch is over at once", noticed: []string{
		"a watch returns the last tree that was reported",
		"a watch that began before the job does lasts",
		"a shorter watch does not end a longer one",
	}, apply: watchAs(func(d *time.Duration) { *d = 0 }, nil)},
	{name: "the shortest watch counts", noticed: []string{"a shorter watch does not end a longer one"}, apply: func(b *broken) {
		shortest := map[job.ID]time.Time{}
		b.watch = func(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
			shortest[id] = time.Now().Add(d)
			return b.Store.Watch(ctx, id, d)
		}
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
			got.Watched = slices.DeleteFunc(got.Watched, func(id job.ID) bool { return time.Now().After(shortest[id]) })
		})(b)
	}},
	{name: "trees are not kept", noticed: []string{
		"a watch returns the last tree that was reported",
		"a watch is over after its time, and its tree is gone",
		"only trees of watched jobs that the worker holds are kept",
	}, apply: renewAs(func(r *job.Renewal) { r.Trees = nil }, nil)},
	{name: "the first tree is kept", noticed: []string{"a watch returns the last tree that was reported"}, apply: func(b *broken) {
		seen := map[job.ID]bool{}
		renewAs(func(r *job.Renewal) {
			r.Trees = slices.DeleteFunc(r.Trees, func(t job.Tree) bool { return seen[t.Job] })
			for _, t := range r.Trees {
				seen[t.Job] = true
			}
		}, nil)(b)
	}},
	{name: "trees are cut", noticed: []string{"a watch returns the last tree that was reported"}, apply: renewAs(func(r *job.Renewal) {
		for i := range r.Trees {
			r.Trees[i].JSON = r.Trees[i].JSON[:min(len(r.Trees[i].JSON), 1000)]
		}
	}, nil)},
	{name: "a tree outlives its watch and its attempt", noticed: []string{
		"a watch is over after its time, and its tree is gone",
		"the tree of an attempt ends with it",
	}, apply: func(b *broken) {
		last := map[job.ID]job.Tree{}
		watchAs(nil, func(got *job.Tree, id job.ID) {
			if got.JSON != nil {
				last[id] = *got
			}
			*got = last[id]
		})(b)
	}},
	{name: "any worker can report any job", noticed: []string{"only trees of watched jobs that the worker holds are kept"}, apply: func(b *broken) {
		last := map[job.ID]job.Tree{}
		renewAs(func(r *job.Renewal) {
			for _, t := range r.Trees {
				t.At = time.Now()
				last[t.Job] = t
			}
		}, nil)(b)
		watchAs(nil, func(got *job.Tree, id job.ID) { *got = last[id] })(b)
	}},
	{name: "a watch of no job is not an error", noticed: []string{"the tree of an attempt ends with it"}, apply: func(b *broken) {
		b.watch = func(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
			got, _ := b.Store.Watch(ctx, id, d)
			return got, nil
		}
	}},
	{name: "too many watches are reported", noticed: []string{"a worker learns of the first hundred watched jobs"}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
		got.Watched = append(got.Watched, got.Watched...)
	})},

	{name: "commands are lost", noticed: []string{
		"commands are sent once, to their worker, in order",
		"a hundred commands wait for a worker at most",
	}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Commands = nil })},
	{name: "commands are sent again", noticed: []string{"commands are sent once, to their worker, in order"}, apply: func(b *broken) {
		var all []job.Command
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
			all = append(all, got.Commands...)
			got.Commands = all
		})(b)
	}},
	{name: "the last command is sent first", noticed: []string{"commands are sent once, to their worker, in order"}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
		slices.Reverse(got.Commands)
	})},
	{name: "a command loses its task", noticed: []string{"commands are sent once, to their worker, in order"}, apply: func(b *broken) {
		b.order = func(ctx context.Context, worker string, o job.Command) error {
			o.Task = ""
			return b.Store.SendCommand(ctx, worker, o)
		}
	}},
	{name: "commands for nobody are taken", noticed: []string{"there are no commands for a worker that is not listed"}, apply: func(b *broken) {
		b.order = func(ctx context.Context, worker string, o job.Command) error {
			_ = b.Store.SendCommand(ctx, worker, o)
			return nil
		}
	}},
	{name: "commands outlive a leave", noticed: []string{"there are no commands for a worker that is not listed"}, apply: func(b *broken) {
		var last []job.Command
		b.order = func(ctx context.Context, worker string, o job.Command) error {
			err := b.Store.SendCommand(ctx, worker, o)
			if err == nil {
				last = append(last, o)
			}
			return err
		}
		renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Commands, last = last, nil })(b)
	}},
	{name: "commands without bound", noticed: []string{"a hundred commands wait for a worker at most"}, apply: func(b *broken) {
		b.order = func(ctx context.Context, worker string, o job.Command) error {
			_ = b.Store.SendCommand(ctx, worker, o)
			return nil
		}
	}},

	{name: "renew does not say the time", noticed: []string{
		"renew returns the time of the store",
	}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) { got.Now = time.Time{} })},
	{name: "the time stands still", noticed: []string{"renew returns the time of the store"}, apply: renewAs(nil, func(_ job.Renewal, got *job.Renewed) {
		got.Now = got.Now.Truncate(time.Minute)
	})},
	{name: "stats lose their histograms", noticed: []string{
		"stats are read as they were reported, the oldest first",
	}, apply: renewAs(func(r *job.Renewal) {
		for i := range r.Stats {
			r.Stats[i].Run = job.Histogram{}
		}
	}, nil)},
	{name: "stats are read in another order", noticed: []string{"stats are read as they were reported, the oldest first"}, apply: func(b *broken) {
		b.stats = func(f job.StatsFilter, got []job.Stat) []job.Stat {
			got = slices.DeleteFunc(got, func(s job.Stat) bool { return !f.Matches(&s) })
			slices.Reverse(got)
			return got
		}
	}},
	{name: "stats are read from the beginning", noticed: []string{
		"stats are read as they were reported, the oldest first",
	}, apply: func(b *broken) {
		b.stats = func(f job.StatsFilter, got []job.Stat) []job.Stat {
			f.Since = time.Time{}
			return slices.DeleteFunc(got, func(s job.Stat) bool { return !f.Matches(&s) })
		}
	}},
	{name: "stats of all queues and kinds are read", noticed: []string{"stats are read of one queue, of one kind, or of both"}, apply: func(b *broken) {
		b.stats = func(f job.StatsFilter, got []job.Stat) []job.Stat {
			return slices.DeleteFunc(got, func(s job.Stat) bool { return s.Minute.Before(f.Since) })
		}
	}},
	{name: "stats are added to what was reported", noticed: []string{"a row that is reported again counts once, and never less"}, apply: func(b *broken) {
		sum := int64(0)
		renewAs(func(r *job.Renewal) {
			for i := range r.Stats {
				sum += r.Stats[i].Completed
				r.Stats[i].Completed = sum
			}
		}, nil)(b)
	}},
	{name: "what was reported last counts", noticed: []string{"a row that is reported again counts once, and never less"}, apply: func(b *broken) {
		var last []job.Stat
		renewAs(func(r *job.Renewal) {
			if len(r.Stats) > 0 {
				last = r.Stats
			}
		}, nil)(b)
		b.stats = func(job.StatsFilter, []job.Stat) []job.Stat { return last }
	}},
	{name: "runs of one name are one", noticed: []string{"two runs of a worker of one name both count"}, apply: renewAs(func(r *job.Renewal) {
		r.Info.Started = time.Time{}
	}, nil)},
	{name: "who counts does not matter", noticed: []string{"two servers that count for one worker both count"}, apply: renewAs(func(r *job.Renewal) {
		r.Run = time.Time{}
	}, nil)},
	{name: "stats are kept for ever", noticed: []string{
		"stats outlive their worker, and are added up by half hours after two hours",
		"stats that were added up are removed in the end",
	}, apply: func(b *broken) {
		b.prune = func(context.Context, map[job.State]time.Duration, int) (job.Pruned, error) { return job.Pruned{}, nil }
	}},
	{name: "old stats are forgotten", noticed: []string{
		"stats outlive their worker, and are added up by half hours after two hours",
		"old stats of all workers are one, with those that come late",
	}, apply: func(b *broken) {
		b.stats = func(_ job.StatsFilter, got []job.Stat) []job.Stat {
			return slices.DeleteFunc(got, func(s job.Stat) bool { return s.Span != 0 })
		}
	}},
	{name: "old stats count twice", noticed: []string{"old stats count once when several prune at once"}, apply: func(b *broken) {
		b.stats = func(_ job.StatsFilter, got []job.Stat) []job.Stat {
			for i := range got {
				if got[i].Span != 0 {
					got[i].Completed *= 2
				}
			}
			return got
		}
	}},
	{name: "old stats that come late replace the others", noticed: []string{"old stats of all workers are one, with those that come late"}, apply: func(b *broken) {
		var reported []job.Stat
		renewAs(func(r *job.Renewal) {
			if len(r.Stats) > 0 {
				reported = r.Stats
			}
		}, nil)(b)
		b.stats = func(job.StatsFilter, []job.Stat) []job.Stat { return job.MergeStats(reported...) }
	}},
	{name: "stats go with their worker", noticed: []string{"stats outlive their worker, and are added up by half hours after two hours"}, apply: func(b *broken) {
		gone := false
		b.leave = func() error {
			gone = true
			return nil
		}
		b.stats = func(_ job.StatsFilter, got []job.Stat) []job.Stat {
			if gone {
				return nil
			}
			return got
		}
	}},
}

// watchAs alters how long a job is watched, and the returned tree; either function may be nil.
func watchAs(ask func(d *time.Duration), answer func(got *job.Tree, id job.ID)) func(b *broken) {
	return func(b *broken) {
		b.watch = func(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
			if ask != nil {
				ask(&d)
			}
			got, err := b.Store.Watch(ctx, id, d)
			if answer != nil && err == nil {
				answer(&got, id)
			}
			return got, err
		}
	}
}
