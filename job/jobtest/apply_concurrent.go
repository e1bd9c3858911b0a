package jobtest

import (
	"context"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var applyConcurrentPromises = []promise{
	{"concurrent actions change each job once", func(f *fixture) {
		jobs := make([]*job.Job, 200)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		const callers = 4
		var changed [callers]int
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for i := range callers {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					filter := job.Filter{States: []job.State{job.Queued}, Limit: 30}
					for {
						got, err := f.Apply(ctx, filter, job.ActionDiscard)
						if changed[i] += got.Changed; err != nil || got.Next == (job.ID{}) {
							return err
						}
						filter.Before = got.Next
					}
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		sum := 0
		for _, n := range changed {
			sum += n
		}
		if sum != len(jobs) {
			f.Errorf("%d callers discarded %v, in all %d, want %d", callers, changed, sum, len(jobs))
		}
		f.counts(job.Count{Queue: job.DefaultQueue, Kind: "k", State: job.Discarded, N: int64(len(jobs))})
	}},
	{"a job that is claimed at the same time is canceled as well", func(f *fixture) {
		for range 20 {
			jobs := make([]*job.Job, 30)
			for i := range jobs {
				jobs[i] = f.job()
			}
			f.insert(jobs...)
			f.take("w", 5)
			err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
				for range 2 {
					meanwhile.Go(ctx, func(ctx context.Context) error {
						for range 10 {
							if _, err := f.Claim(ctx, job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(2, job.DefaultQueue), Limit: 2, Lease: long}); err != nil {
								return err
							}
						}
						return nil
					})
				}
				got, err := f.Apply(ctx, job.Filter{IDs: ids(jobs), Limit: 100}, job.ActionCancel)
				if err == nil && got != (job.ActionResult{Changed: len(jobs)}) {
					f.Errorf("canceled %+v, want all %d", got, len(jobs))
				}
				return err
			})
			if err != nil {
				f.Fatal(err)
			}
			for _, j := range f.list(job.Filter{IDs: ids(jobs)}) {
				if j.State != job.Canceled && !j.CancelRequested {
					f.Errorf("job %v is %s and still running", j.ID, j.State)
				}
			}
		}
	}},
}
