package job

import (
	"context"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	mostSettled   = 1000            // at once
	lastCall      = 2 * time.Second // for what is said to the store at the very end
	triesTogether = 3               // of a batch, before its jobs are written one by one
)

// callTimeout bounds each call to the store: one that takes longer than a lease is of no use.
func (r *run) callTimeout() time.Duration { return max(r.config.Lease, time.Second) }

// settleLoop writes what became of jobs, as many at once as have ended meanwhile, until the worker has stopped and all is
// written. It does not give up on a job while its lease is in force.
func (r *run) settleLoop(ctx context.Context) error {
	for {
		batch, over := r.nextBatch()
		if len(batch) == 0 {
			if over {
				return nil
			}
			select {
			case <-r.done:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		if err := r.settle(ctx, batch); err != nil {
			return err
		}
		r.mu.Lock()
		r.settling = 0
		for _, e := range batch {
			if r.held[e.job.ID] == e {
				delete(r.held, e.job.ID)
			}
		}
		if r.hungry {
			signal(r.freed)
		}
		r.mu.Unlock()
	}
}

// nextBatch takes executions that have ended; over says that none will come any more.
func (r *run) nextBatch() (batch []*execution, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.finished), mostSettled)
	batch = r.finished[:n:n]
	r.finished = r.finished[n:]
	if len(r.finished) == 0 {
		r.finished = nil
	}
	r.settling = n
	return batch, r.stopping && r.running == 0
}

// settle writes a batch, again and again until the store has taken it. It returns an error that will not pass.
func (r *run) settle(ctx context.Context, batch []*execution) error {
	failures := 0
	for {
		batch = r.stillOurs(batch)
		if len(batch) == 0 {
			return nil
		}
		lost, err := r.callSettle(ctx, batch)
		if err == nil {
			if failures > 0 {
				r.storeRecovered()
			}
			r.settled(batch, lost)
			return nil
		}
		if fatal(err) || ctx.Err() != nil {
			return cmpCause(ctx, err)
		}
		failures++
		r.storeFailed("settle jobs", failures, err)
		if failures >= triesTogether && len(batch) > 1 && r.pings(ctx) {
			for _, e := range batch { // one of them may be what the store refuses
				if err := r.settleAlone(ctx, e); err != nil {
					return err
				}
			}
			return nil
		}
		if err := meanwhile.Sleep(ctx, storeBackoff(failures)); err != nil {
			return err
		}
	}
}

// settleAlone writes one job, or gives it up: it then stays running until its lease is over, and is run again.
func (r *run) settleAlone(ctx context.Context, e *execution) error {
	one := []*execution{e}
	lost, err := r.callSettle(ctx, one)
	switch {
	case err == nil:
		r.settled(one, lost)
	case fatal(err) || ctx.Err() != nil:
		return cmpCause(ctx, err)
	default:
		r.config.Logger.Error("job: the outcome could not be written: it will be run again", "id", e.job.ID, "kind", e.job.Kind, "error", err)
		r.observe(Event{Kind: JobLost, Job: e.job, Err: err, Elapsed: e.event.Elapsed})
	}
	return nil
}

func (r *run) pings(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	return r.store.Ping(call) == nil
}

// stillOurs leaves out the jobs whose lease was lost while the store did not answer, and tells of them.
func (r *run) stillOurs(batch []*execution) []*execution {
	ours := batch[:0:len(batch)]
	for _, e := range batch {
		e.mu.Lock()
		lost := e.lost
		e.mu.Unlock()
		if !lost {
			ours = append(ours, e)
			continue
		}
		r.observe(Event{Kind: JobLost, Job: e.job, Err: ErrLeaseLost, Elapsed: e.event.Elapsed})
	}
	return ours
}

func (r *run) callSettle(ctx context.Context, batch []*execution) ([]ID, error) {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	jobs := make([]*Job, len(batch))
	for i, e := range batch {
		jobs[i] = e.job
	}
	return r.store.Settle(call, r.config.Name, jobs...)
}

// settled tells what became of each job.
func (r *run) settled(batch []*execution, lost []ID) {
	r.health.settled.Store(time.Now().UnixNano())
	gone := make(map[ID]bool, len(lost))
	for _, id := range lost {
		gone[id] = true
	}
	for _, e := range batch {
		event := e.event
		switch {
		case e.silent:
			continue
		case gone[e.job.ID] && e.completed: // by the handler's own transaction, as it should be
			event = Event{Kind: JobCompleted, Elapsed: event.Elapsed}
			e.job.State = Completed
		case gone[e.job.ID]:
			event = Event{Kind: JobLost, Err: ErrLeaseLost, Elapsed: event.Elapsed}
		case event.Kind == JobDiscarded:
			r.config.Logger.Error("job discarded", "id", e.job.ID, "kind", e.job.Kind, "attempts", e.job.Used(), "error", event.Err)
		}
		event.Job = e.job
		r.observe(event)
	}
}
