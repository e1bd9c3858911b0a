package job

import (
	"context"
	"slices"
	"time"
)

// beat is how often the worker looks for what the store has to tell: jobs to cancel, leases that ran out.
func (r *run) beat() time.Duration { return min(time.Second, r.config.Lease/6) }

// renewLoop renews the lease at each beat, asks which jobs to cancel and what else the worker is told from outside, tells of the
// worker, and writes the progress and the records of running jobs. After a third of a lease it asks about each job whether it is held.
func (r *run) renewLoop(ctx context.Context) error {
	ticker := time.NewTicker(r.beat())
	defer ticker.Stop()
	failures := 0
	repeated := false
	for {
		now := time.Now()
		r.trimSlots()
		r.failures.flush(now, false)
		due := r.dueForCheck(now)
		again, err := r.renew(ctx, now, due)
		if err != nil {
			if fatal(err) || ctx.Err() != nil {
				return cmpCause(ctx, err)
			}
			failures++
			r.storeFailed("renew the lease", failures, err)
		} else {
			if failures > 0 {
				failures = r.storeRecovered()
			}
			r.writeInterim(ctx)
		}
		if repeated = again && !repeated; repeated {
			continue
		}
		select {
		case <-ticker.C:
		case <-r.leaving:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *run) holdings() []*execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]*execution, 0, len(r.inFlight))
	for _, e := range r.inFlight {
		all = append(all, e)
	}
	return all
}

// dueForCheck returns the jobs that run, and that the store has not said to be held for a third of a lease.
func (r *run) dueForCheck(now time.Time) []*execution {
	var due []*execution
	for _, e := range r.holdings() {
		e.mu.Lock()
		if !e.lost && !e.ended && now.Sub(e.checked) >= r.config.Lease/3 {
			due = append(due, e)
		}
		e.mu.Unlock()
	}
	return due
}

// renew reports whether there is more to tell at once: to somebody who has begun to watch a job, or has left a command.
func (r *run) renew(ctx context.Context, now time.Time, due []*execution) (again bool, err error) {
	r.mu.Lock()
	session, dropped := r.hold.session, slices.Clone(r.hold.dropped)
	r.mu.Unlock()
	renewal := Renewal{Worker: r.config.Name, Session: session, Lease: r.config.Lease, Drop: dropped, Info: r.info(), Trees: r.trees(now)}
	byID := make(map[ID]*execution, len(due))
	for _, e := range due {
		renewal.Jobs = append(renewal.Jobs, e.job.ID)
		byID[e.job.ID] = e
	}
	call, cancel := context.WithTimeout(ctx, max(r.config.Lease/3, r.beat()))
	defer cancel()
	begun := time.Now()
	var reported countersReport
	renewal.Stats, reported = r.counters.report(begun, false)
	got, err := r.store.Renew(call, renewal)
	if err != nil {
		return false, err
	}
	answered := time.Now()
	r.clock.set(begun, got.Now, answered)
	r.counters.noteClock(answered)
	r.counters.taken(reported)
	r.renewed(session, now, dropped)
	lose(byID, got.Lost)
	for _, e := range byID {
		e.mu.Lock()
		e.checked = now
		e.mu.Unlock()
	}
	for _, id := range got.Canceled {
		if e := r.holding(id); e != nil {
			e.cancel(ErrCanceled)
		}
	}
	r.handleCommands(ctx, got.Commands)
	return r.lookout.watch(got.Watched) || len(got.Commands) > 0, nil
}

func (r *run) holding(id ID) *execution {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.inFlight[id]
}

// lose cancels those of the attempts that the store was asked about and says are not held any more, and takes them out of asked.
// One that has ended is on its way to the store, which may be why; the next attempt of its job, which may run here by now, is
// not meant. Nor is one whose handler has completed the job by itself: it may go on, there is no lease to lose.
func lose(asked map[ID]*execution, ids []ID) {
	for _, id := range ids {
		if e := asked[id]; e != nil && !e.completedItself() {
			e.cancel(ErrLeaseLost)
			delete(asked, id)
		}
	}
}

func (e *execution) completedItself() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.completed
}

// writeInterim writes the progress and the records of jobs that run. What fails is written at the next beat, or at the end.
func (r *run) writeInterim(ctx context.Context) {
	var jobs []*Job
	dirty := map[ID]*execution{}
	session := r.session()
	for _, e := range r.holdings() {
		if e.session != session {
			continue
		}
		if j := e.interim(); j != nil {
			jobs, dirty[j.ID] = append(jobs, j), e
		}
		if len(jobs) == mostSettled {
			break
		}
	}
	if len(jobs) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, max(r.config.Lease/3, r.beat())) // the leases must be renewed
	defer cancel()
	lost, err := r.store.Settle(call, session, Outcomes(jobs...)...)
	if err != nil {
		for _, e := range dirty {
			e.mu.Lock()
			e.dirty = true
			e.mu.Unlock()
		}
		return
	}
	lose(dirty, lost)
}

// interim returns a running job with what is new of it, or nil. One that a transaction of its handler has settled is locked until
// that ends.
func (e *execution) interim() *Job {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.dirty || e.ended || e.lost || e.completed {
		return nil
	}
	e.dirty = false
	j := e.snapshot()
	j.State = Running
	return j
}

// snapshot copies the job with what is new of it, without what its handler may be setting. e.mu is held.
func (e *execution) snapshot() *Job {
	j := &Job{ID: e.job.ID, Kind: e.job.Kind, Queue: e.job.Queue, Priority: e.job.Priority, Attempt: e.job.Attempt, Uncounted: e.job.Uncounted, MaxAttempts: e.job.MaxAttempts, Worker: e.job.Worker}
	j.Detail = e.gathered()
	return j
}

// gathered copies what the job has gathered so far. e.mu is held.
func (e *execution) gathered() Detail {
	d := Detail{Failures: slices.Clone(e.job.Failures), Records: slices.Clone(e.records), Released: e.job.Released}
	if e.progress != nil {
		p := *e.progress
		d.Progress = &p
	}
	return d
}
