package jobtest

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var changePromises = []promise{
	{"change shows each job once, with all its fields", func(f *fixture) {
		queued := f.insertNew(job.Queue("other"), job.Unique("a"), job.UniqueFor(time.Minute))
		running := f.insertLeased("w", long)
		finished := f.insertFinished(job.Discarded)
		absent := f.job()
		seen := map[job.ID]*job.Job{}
		want := map[job.ID]*job.Job{}
		for _, id := range []job.ID{queued.ID, running.ID, finished.ID} {
			want[id] = f.look(id)
		}
		f.decide(func(j *job.Job) job.Decision {
			if seen[j.ID] != nil {
				f.Errorf("change showed %v twice", j.ID)
			}
			seen[j.ID] = j
			return job.Leave
		}, nil, queued.ID, absent.ID, running.ID, finished.ID, queued.ID)
		if !reflect.DeepEqual(seen, want) {
			f.Errorf("change showed %+v, want %+v", seen, want)
		}
	}},
	{"leave leaves a job as it is", func(f *fixture) {
		j := f.insertNew()
		before := f.look(j.ID)
		f.decide(func(j *job.Job) job.Decision {
			j.State, j.Priority, j.Result = job.Canceled, 1, []byte(`1`)
			return job.Leave
		}, nil, j.ID)
		if got := f.look(j.ID); !reflect.DeepEqual(got, before) {
			f.Errorf("it became %+v, want %+v", got, before)
		}
	}},
	{"change writes a queued job", func(f *fixture) {
		j := f.insertNew()
		before := f.look(j.ID)
		at := f.now().Add(time.Hour).Truncate(time.Second)
		f.decide(func(j *job.Job) job.Decision {
			j.Queue, j.Priority, j.RunAt, j.Spared, j.MaxAttempts, j.Detail = "other", 9, at, 2, 9, oddDetail()
			j.Kind, j.Attempt, j.Died, j.Worker = "other", 7, 7, "other"
			return job.Write
		}, nil, j.ID)
		got := f.look(j.ID)
		f.sameTime("due", got.RunAt, at)
		f.sameDetail(got.Detail, oddDetail())
		want := *before
		want.Queue, want.Priority, want.Spared, want.MaxAttempts, want.RunAt, want.Detail = "other", 9, 2, 9, got.RunAt, got.Detail
		if !reflect.DeepEqual(*got, want) {
			f.Errorf("it became %+v, want %+v", *got, want)
		}
	}},
	{"change delays a queued job, or makes it due", func(f *fixture) {
		j := f.insertNew()
		f.decide(func(j *job.Job) job.Decision {
			j.RunAt, j.Delay = time.Time{}, time.Hour
			return job.Write
		}, nil, j.ID)
		f.near("due", f.look(j.ID).RunAt, f.now().Add(time.Hour))
		f.due()
		f.decide(func(j *job.Job) job.Decision {
			j.RunAt = time.Time{}
			return job.Write
		}, nil, j.ID)
		f.due(j)
	}},
	{"change moves a queued job within the order", func(f *fixture) {
		a, b, c := f.insertNew(), f.insertNew(), f.insertNew()
		f.decide(func(j *job.Job) job.Decision {
			j.Priority = 9
			return job.Write
		}, nil, c.ID)
		f.decide(func(j *job.Job) job.Decision {
			j.RunAt = j.RunAt.Add(-time.Hour)
			return job.Write
		}, nil, b.ID)
		f.due(c, b, a)
	}},
	{"change finishes a queued job", func(f *fixture) {
		for _, state := range finalStates {
			j := f.insertNew()
			f.decide(func(j *job.Job) job.Decision {
				j.State, j.Detail = state, oddDetail()
				return job.Write
			}, nil, j.ID)
			got := f.look(j.ID)
			if got.State != state || got.Attempt != 0 {
				f.Errorf("it became %+v, want %s", got, state)
			}
			f.near("finished", got.Finished, f.now())
			f.sameDetail(got.Detail, oddDetail())
			f.due()
		}
	}},
	{"change makes a finished job queued", func(f *fixture) {
		for _, state := range finalStates {
			f.insertNew()
			f.finish(f.claimOne("w"), state)
			j := f.list(job.Filter{States: []job.State{state}})[0]
			f.decide(func(j *job.Job) job.Decision {
				j.State, j.RunAt, j.Delay, j.Spared, j.MaxAttempts = job.Queued, time.Time{}, 0, j.Attempt, 3
				return job.Write
			}, nil, j.ID)
			if got := f.look(j.ID); got.State != job.Queued || !got.Finished.IsZero() || got.Spared != 1 || got.MaxAttempts != 3 || got.Attempt != 1 {
				f.Errorf("it became %+v", got)
			}
			again := f.claimOne("x")
			if again.ID != j.ID || again.Attempt != 2 {
				f.Errorf("claimed %+v, want attempt 2 of %v", again, j.ID)
			}
			f.finish(again, job.Completed)
			f.remove(j.ID)
		}
	}},
	{"change of a running job writes the request to cancel alone", func(f *fixture) {
		later := f.now().Add(time.Hour)
		j := f.insertLeased("w", long)
		before := f.look(j.ID)
		f.decide(func(j *job.Job) job.Decision {
			j.CancelRequested = true
			j.Queue, j.Priority, j.Spared, j.MaxAttempts, j.RunAt, j.Detail = "other", 1, 5, 50, later, oddDetail()
			return job.Write
		}, nil, j.ID)
		want := *before
		want.CancelRequested = true
		if got := f.look(j.ID); !reflect.DeepEqual(*got, want) {
			f.Errorf("it became %+v, want %+v", *got, want)
		}
		f.decide(func(j *job.Job) job.Decision {
			j.CancelRequested = false
			return job.Write
		}, nil, j.ID)
		if got := f.renew("w", long, j.ID); len(got.Canceled) != 0 || len(got.Lost) != 0 {
			f.Errorf("renewed with %+v after the request was taken back", got)
		}
		f.finish(j, job.Completed)
	}},
	{"remove deletes jobs in every state", func(f *fixture) {
		queued, delayed := f.insertNew(job.Queue("q"), job.Unique("a")), f.insertNew(job.In(time.Hour))
		running, finished := f.insertLeased("w", long), f.insertFinished(job.Completed)
		all := []job.ID{queued.ID, delayed.ID, running.ID, finished.ID}
		f.remove(all...)
		for _, id := range all {
			if f.exists(id) {
				f.Errorf("%v is still there", id)
			}
		}
		f.sameIDs("lost", f.renew("w", long, running.ID).Lost, []job.ID{running.ID})
		running.State = job.Completed
		f.settleLosing("w", []job.ID{running.ID}, running)
		f.remove(all...)
		if got := f.claimBy(job.Claim{Worker: "w", Queues: queues(5, job.DefaultQueue, "q"), Limit: 5, Lease: long}); len(got.Jobs) != 0 || got.Next != 0 {
			f.Errorf("claimed %+v", got)
		}
	}},
	{"a finished job that is queued again holds its unique key again", func(f *fixture) {
		j := f.insertFinished(job.Discarded, job.Unique("a"))
		f.decide(requeue, nil, j.ID)
		f.taken("a", j.ID)
		f.finish(f.claimOne("w"), job.Completed)
		f.insertNew(job.Unique("a"))
	}},
	{"a finished job whose unique key is taken stays finished", func(f *fixture) {
		a, b := f.insertFinished(job.Discarded, job.Unique("a")), f.insertFinished(job.Canceled, job.Unique("a"))
		plain := f.insertFinished(job.Discarded)
		holder := f.insertNew(job.Unique("a"))
		before := f.look(a.ID)
		f.decide(requeue, []job.ID{a.ID}, plain.ID, a.ID)
		if got := f.look(a.ID); !reflect.DeepEqual(got, before) {
			f.Errorf("it became %+v, want %+v", got, before)
		}
		f.state(plain.ID, job.Queued)
		f.remove(a.ID) // it does not hold the key
		f.taken("a", holder.ID)
		f.remove(holder.ID, plain.ID)
		f.decide(requeue, nil, b.ID)
		f.taken("a", b.ID)
	}},
	{"of two finished jobs with one unique key one is queued again", func(f *fixture) {
		a, b := f.insertFinished(job.Discarded, job.Unique("a")), f.insertFinished(job.Discarded, job.Unique("a"))
		conflicts, err := f.Change(f.ctx, []job.ID{a.ID, b.ID}, requeue)
		if err != nil || len(conflicts) != 1 {
			f.Fatalf("change returned conflicts %v, %v, want one", conflicts, err)
		}
		f.state(conflicts[0], job.Discarded)
		if n := len(f.list(job.Filter{States: []job.State{job.Queued}})); n != 1 {
			f.Errorf("%d jobs are queued, want 1", n)
		}
	}},
	{"a finished job that holds its key by UniqueFor is queued again", func(f *fixture) {
		j := f.insertFinished(job.Discarded, job.Unique("a"), job.UniqueFor(time.Hour))
		f.decide(requeue, nil, j.ID)
		f.state(j.ID, job.Queued)
		f.taken("a", j.ID)
	}},
	{"a finished job that stays so is written", func(f *fixture) {
		j := f.insertFinished(job.Discarded, job.Unique("a"))
		holder := f.insertNew(job.Unique("a"))
		f.decide(func(j *job.Job) job.Decision {
			j.State, j.Detail = job.Canceled, oddDetail()
			return job.Write
		}, nil, j.ID)
		got := f.look(j.ID)
		f.sameDetail(got.Detail, oddDetail())
		if got.State != job.Canceled || got.Finished.IsZero() {
			f.Errorf("it became %+v", got)
		}
		f.taken("a", holder.ID)
	}},
	{"change of many", func(f *fixture) {
		jobs := make([]*job.Job, 300)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		i := 0
		f.decide(func(j *job.Job) job.Decision {
			i++
			switch i % 3 {
			case 0:
				return job.Remove
			case 1:
				j.State = job.Canceled
				return job.Write
			}
			return job.Leave
		}, nil, ids(jobs)...)
		for state, want := range map[job.State]int{job.Canceled: 100, job.Queued: 100} {
			if n := len(f.list(job.Filter{States: []job.State{state}})); n != want {
				f.Errorf("%d jobs are %s, want %d", n, state, want)
			}
		}
	}},
	{"changes at once are one after the other", func(f *fixture) {
		j, other := f.insertNew(), f.insertNew()
		const callers, times = 6, 10
		var calls atomic.Int64
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for i := range callers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					for range times {
						given := []job.ID{j.ID, other.ID}
						if i%2 == 0 {
							given = []job.ID{other.ID, j.ID}
						}
						if _, err := f.Change(ctx, given, func(j *job.Job) job.Decision {
							calls.Add(1)
							j.Spared++
							return job.Write
						}); err != nil {
							return err
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		if a, b := f.look(j.ID).Spared, f.look(other.ID).Spared; a != callers*times || b != a || calls.Load() != 2*callers*times {
			f.Errorf("%d changes of each by %d decisions came to %d and %d", callers*times, calls.Load(), a, b)
		}
	}},
}

// requeue makes a finished job due again.
func requeue(j *job.Job) job.Decision {
	j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, 0
	return job.Write
}
