package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var throttlePromises = []promise{
	{"a throttled job holds back its key, and no other", func(f *fixture) {
		f.insert(f.job(job.LimitKey("a"), job.Priority(9)))
		j := f.claimOne("w")
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a"), job.Priority(9)))
		f.throttle("w", j, time.Hour)
		later := f.insertNew(job.LimitKey("a"), job.Priority(9))
		rest := []*job.Job{f.job(job.LimitKey("b")), f.job(), f.job(job.LimitKey("b"))}
		f.insert(rest...)
		f.sameIDs("of others", sorted(ids(f.take("w", 3))), sorted(ids(rest)))
		f.nextIn(time.Hour)
		f.sameIDs("of another queue", ids(f.otherQueue(f.insertNew(job.Queue("other"), job.LimitKey("a")))), nil)
		if got := f.read(j.ID); got.Used() != 0 || got.State != job.Queued {
			f.Errorf("the job is %s, with %d attempts used", got.State, got.Used())
		}
		f.state(later.ID, job.Queued)
	}},
	{"a throttled job without a key holds back its queue", func(f *fixture) {
		f.insert(f.job())
		j := f.claimOne("w")
		f.insert(f.job(), f.job(job.LimitKey("a"), job.Priority(9)))
		f.throttle("w", j, time.Hour)
		f.insert(f.job(job.LimitKey("b")), f.job(job.Priority(9)))
		f.nextIn(time.Hour)
		f.sameIDs("of another queue", ids(f.otherQueue(f.insertNew(job.Queue("other"), job.LimitKey("a")))), nil)
	}},
	{"what was throttled starts again when the time is over", func(f *fixture) {
		for _, key := range []string{"", "a"} {
			opts := []job.EnqueueOption{job.LimitKey(key)}
			f.insertNew(opts...)
			j := f.claimOne("w")
			f.insertNew(opts...)
			over := j.Started.Add(short) // the earliest end of the throttling
			f.throttle("w", j, short)
			var got []*job.Job
			f.eventually("the jobs of what was throttled", func() bool {
				got = append(got, f.claim("w", 5)...)
				return len(got) == 2
			})
			for _, j := range got {
				if j.Started.Before(over) {
					f.Errorf("a job started %v before the end of the throttling", over.Sub(j.Started))
				}
				f.finish(j, job.Completed)
			}
		}
	}},
	{"what is throttled for longer counts, and limits change nothing of it", func(f *fixture) {
		for _, key := range []string{"", "a"} {
			opts := []job.EnqueueOption{job.LimitKey(key)}
			f.insert(f.job(opts...), f.job(opts...))
			held := f.take("w", 2)
			f.throttle("w", held[0], time.Hour)
			f.throttle("w", held[1], time.Millisecond)
			f.insertNew(opts...)
			f.nextIn(time.Hour)
			f.limit(job.Limits{Running: 5, EachKey: job.KeyLimits{Running: 2}})
			f.nextIn(time.Hour)
			f.limit(job.Limits{})
			f.nextIn(time.Hour)
			for _, j := range f.list(job.Filter{States: []job.State{job.Queued}}) {
				f.remove(j.ID)
			}
			f.insertNew(opts...)
			f.nextIn(time.Hour)
			f.resume()
			f.take("w", 1)
		}
	}},
	{"whatever becomes of a throttled job, others are held back, unless it is lost", func(f *fixture) {
		ends := map[string]func(j *job.Job) []job.ID{
			"discarded": func(j *job.Job) []job.ID { j.State = job.Discarded; return nil },
			"canceled":  func(j *job.Job) []job.ID { j.State = job.Canceled; return nil },
			"moved":     func(j *job.Job) []job.ID { j.State, j.Queue = job.Queued, "elsewhere"; return nil },
			"lost":      func(j *job.Job) []job.ID { j.State = job.Queued; j.Attempt--; return []job.ID{j.ID} },
			"to be canceled": func(j *job.Job) []job.ID {
				f.apply(job.ActionCancel, j.ID)
				j.State = job.Queued
				return []job.ID{j.ID}
			},
		}
		for name, end := range ends {
			for _, key := range []string{"", "a"} {
				opts := []job.EnqueueOption{job.LimitKey(key)}
				f.insertNew(opts...)
				j := f.claimOne("w")
				f.insertNew(opts...)
				lost := end(j)
				f.settleThrottled("w", lost, job.Outcome{Job: j, Throttle: time.Hour})
				if n := len(f.claim("w", 5)); n != len(lost) {
					f.Errorf("%s, key %q: claimed %d, want %d", name, key, n, len(lost))
				}
				f.resume()
				f.claim("w", 5)
				for _, left := range f.list(job.Filter{}) {
					if left.State == job.Running {
						f.finish(left, job.Completed)
					}
					f.remove(left.ID)
				}
			}
		}
	}},
	{"what is throttled starts again when its queue is resumed", func(f *fixture) {
		f.insert(f.job(job.LimitKey("a")), f.job())
		for _, j := range f.take("w", 2) {
			f.throttle("w", j, time.Hour)
		}
		want := []*job.Job{f.job(job.LimitKey("a")), f.job()}
		f.insert(want...)
		f.due()
		f.pauseQueue(job.DefaultQueue, true)
		f.due()
		f.resume()
		f.sameIDs("resumed", sorted(ids(f.take("w", 2))), sorted(ids(want)))
	}},
	{"limits are returned with what is throttled", func(f *fixture) {
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("b")))
		held := f.take("w", 2)
		f.throttle("w", held[0], time.Hour)
		f.used(held[0].LimitKey, job.LimitUse{QueueRunning: 1, KeyHeld: time.Hour})
		f.used(held[1].LimitKey, job.LimitUse{QueueRunning: 1, KeyRunning: 1})
		f.insertNew()
		f.throttle("w", f.take("w", 1)[0], 2*time.Hour)
		f.used(held[0].LimitKey, job.LimitUse{QueueRunning: 1, QueueHeld: 2 * time.Hour, KeyHeld: time.Hour})
	}},
}

// throttle settles a job as throttled.
func (f *fixture) throttle(worker string, j *job.Job, d time.Duration) {
	f.Helper()
	j.State, j.RunAt, j.Delay = job.Queued, time.Time{}, d
	j.Uncounted++
	f.settleThrottled(worker, nil, job.Outcome{Job: j, Throttle: d})
}

func (f *fixture) settleThrottled(worker string, want []job.ID, o job.Outcome) {
	f.Helper()
	lost, err := f.Settle(f.ctx, sessionOf(worker), o)
	if err != nil {
		f.Fatalf("settle: %v", err)
	}
	f.sameIDs("lost", lost, want)
}

// nextIn tests that nothing is claimed, and that the claim reports when a job may start.
func (f *fixture) nextIn(d time.Duration) {
	f.Helper()
	got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long})
	if len(got.Jobs) != 0 || (got.Next-d).Abs() > slack {
		f.Fatalf("claimed %d jobs, the next in %v; want none, and %v", len(got.Jobs), got.Next, d)
	}
}

// otherQueue claims from the queue "other" while j is there, and returns the other claimed jobs.
func (f *fixture) otherQueue(j *job.Job) []*job.Job {
	f.Helper()
	got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "other"), Limit: 5, Lease: long}).Jobs
	if len(got) == 0 || got[0].ID != j.ID {
		f.Fatalf("claimed %v, want %v", ids(got), j.ID)
	}
	return got[1:]
}

func (f *fixture) resume() {
	f.Helper()
	f.pauseQueue(job.DefaultQueue, false)
}
