package job

import (
	"context"
	"slices"
	"time"
)

// beat returns how often the worker renews its lease, and asks the store for jobs to cancel and for expired leases.
func (r *run) beat() time.Duration { return min(time.Second, r.config.Lease/6) }

// renewLoop calls Renew at each beat: it renews the lease, receives the jobs to cancel and the commands, and reports on the worker. It also writes
// the progress and the records of running jobs. After a third of a lease it asks about each job whether it is still held.
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

// dueForCheck returns the running jobs that the store has not confirmed as held for a third of a lease.
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

// renew calls Renew once. It reports whether to call it again immediately, for somebody who has started to watch a job, or has sent a command.
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

// lose cancels the attempts in asked that the store reports as no longer held, and removes them from asked. The next attempt of a job, which may
// run here by now, is not among them. An attempt that has ended is not affected: its outcome is on the way to the store, which may be why it is not
// held. Nor is one whose handler has completed the job by itself: it may continue, since there is no lease to lose.
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

// writeInterim writes the progress and the records of running jobs. If that fails, they are written at the next beat, or at the end of the attempt.
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
	call, cancel := context.WithTimeout(ctx, max(r.config.Lease/3, r.beat())) // the lease must be renewed in time
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

// interim returns a running job with its new progress and records, or nil if there are none. A job that a transaction of its handler has settled is
// left out: its row is locked until the transaction ends.
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

// snapshot copies the job with its current progress and records, without the fields that its handler may be setting. e.mu is held.
func (e *execution) snapshot() *Job {
	j := &Job{ID: e.job.ID, Kind: e.job.Kind, Queue: e.job.Queue, Priority: e.job.Priority, Attempt: e.job.Attempt, Uncounted: e.job.Uncounted, MaxAttempts: e.job.MaxAttempts, Worker: e.job.Worker}
	j.Detail = e.gathered()
	return j
}

// gathered copies the details that the job has accumulated so far. e.mu is held.
func (e *execution) gathered() Detail {
	d := Detail{Failures: slices.Clone(e.job.Failures), Records: slices.Clone(e.records), Released: e.job.Released}
	if e.progress != nil {
		p := *e.progress
		d.Progress = &p
	}
	return d
}
