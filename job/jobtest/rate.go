package jobtest

import (
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var ratePromises = []promise{
	{"a rate bounds how fast jobs of a queue start", func(f *fixture) {
		f.limit(job.Limits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 3}})
		f.insert(f.job(), f.job(), f.job(job.LimitKey("a")), f.job(job.LimitKey("b")), f.job())
		f.take("w", 2)
		got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long})
		if len(got.Jobs) != 1 || (got.Next-time.Hour).Abs() > slack {
			f.Errorf("claimed %d jobs, the next in %v; want 1, and an hour", len(got.Jobs), got.Next)
		}
		f.due()
		f.limit(job.Limits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 3}, Running: 10})
		f.due() // the rate has not changed
		f.limit(job.Limits{Starts: job.Rate{N: 2, Per: time.Hour}})
		f.take("w", 1)
		f.due()
	}},
	{"a rate of each key bounds how fast its jobs start", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Starts: job.Rate{N: 1, Per: time.Hour, Burst: 2}}})
		f.insert(f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("a")), f.job(job.LimitKey("b")), f.job(), f.job(), f.job())
		held := f.take("w", 6)
		got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long})
		if len(got.Jobs) != 0 || (got.Next-time.Hour).Abs() > slack {
			f.Errorf("claimed %d jobs, the next in %v; want none, and an hour", len(got.Jobs), got.Next)
		}
		for _, j := range held {
			f.finish(j, job.Completed)
		}
		f.insertNew(job.LimitKey("a"))
		f.due()
		b := f.insertNew(job.LimitKey("b"))
		f.due(b)
	}},
	{"jobs start as the rate says, evenly", func(f *fixture) {
		const per, n = 20 * time.Millisecond, 8
		f.limit(job.Limits{Starts: job.Rate{N: 1, Per: per}, EachKey: job.KeyLimits{Starts: job.Rate{N: 3, Per: 4 * per}}})
		for range n {
			f.insertNew(job.LimitKey("a"))
		}
		var started []time.Time
		f.eventually("the starts", func() bool {
			got := f.claim("w", n)
			for _, j := range got {
				started = append(started, j.Started)
			}
			return len(started) == n
		})
		const each = 4 * per / 3
		for i := 1; i < n; i++ {
			if d := started[i].Sub(started[i-1]); d < each/2-time.Microsecond {
				f.Errorf("start %d came %v after the one before", i+1, d)
			}
		}
		if d := started[n-1].Sub(started[0]); d < each*(n-1)-each/2-time.Microsecond {
			f.Errorf("%d starts took %v, want about %v", n, d, each*(n-1))
		}
	}},
	{"a key that had nothing to start for a moment keeps its rate", func(f *fixture) {
		const per, jobs = 110 * time.Millisecond, 8
		rate := job.Rate{N: 1, Per: per}
		f.limit(job.Limits{EachKey: job.KeyLimits{Starts: rate}})
		var full time.Time
		for i := range jobs {
			f.insertNew(job.LimitKey("a"))
			var got []*job.Job
			f.eventually("the start", func() bool {
				got = f.claim("w", 1)
				return len(got) == 1
			})
			at := got[0].Started
			if early := rate.Next(full, at).Sub(at); early > time.Millisecond {
				f.Errorf("start %d came %v before the rate allowed it", i+1, early)
			}
			full = rate.Take(full, at, 1)
			f.finish(got[0], job.Completed)
			if i%2 == 0 { // the next job comes just after the rate allows a start
				for next := time.Now().Add(full.Sub(at) + 2*pause); time.Now().Before(next); <-time.After(pause) {
					f.claim("w", 1)
				}
			}
		}
	}},
}
