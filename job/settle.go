package job

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	mostSettled   = 1000            // outcomes per call
	lastCall      = 2 * time.Second // for the last calls to the store when the worker stops
	triesTogether = 3               // attempts to write a batch, before its jobs are written one by one
)

// callTimeout returns the timeout of each call to the store: a call that takes longer than a lease is of no use.
func (r *run) callTimeout() time.Duration { return max(r.config.Lease, time.Second) }

// settleLoop writes the outcomes of jobs, in batches of those that have ended in the meantime, until the worker has stopped and all are written.
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
		refused, err := r.settle(ctx, batch)
		if err != nil {
			return err
		}
		r.mu.Lock()
		r.settling = 0
		for _, e := range batch {
			if r.inFlight[e.job.ID] == e && !slices.Contains(refused, e) {
				delete(r.inFlight, e.job.ID)
			}
		}
		r.finished = append(r.finished, refused...)
		if r.hasCapacity {
			signal(r.capacityFreed)
		}
		r.mu.Unlock()
	}
}

// nextBatch takes executions that have ended; over reports that no more will come.
func (r *run) nextBatch() (batch []*execution, over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n, following := 0, 0
	for n < min(len(r.finished), mostSettled) {
		following += len(r.finished[n].end.event.Then)
		if n > 0 && following > MaxThen {
			break
		}
		n++
	}
	batch = r.finished[:n:n]
	r.finished = r.finished[n:]
	if len(r.finished) == 0 {
		r.finished = nil
	}
	r.settling = n
	return batch, r.stopping && r.running == 0
}

// settle writes a batch, and retries until the store has accepted it. If the store answers but does not accept it, one of the jobs may be the
// reason: then each is written by itself, and those that the store refuses are returned, to be tried again later. It returns only errors that are
// fatal, or the cause of ctx.
func (r *run) settle(ctx context.Context, batch []*execution) (refused []*execution, err error) {
	failures := 0
	for {
		batch = r.stillOurs(ctx, batch)
		if len(batch) == 0 {
			return nil, nil
		}
		lost, err := r.callSettle(ctx, batch)
		if err == nil {
			if failures > 0 || r.unsettled > 0 {
				r.unsettled = r.storeRecovered()
			}
			r.settled(ctx, batch, lost)
			return nil, nil
		}
		if part, ok := errors.AsType[*unsettledError](err); ok && ctx.Err() == nil {
			return r.settledInPart(ctx, batch, lost, part)
		}
		if fatal(err) || ctx.Err() != nil {
			return nil, cmpCause(ctx, err)
		}
		failures++
		r.storeFailed("settle jobs", failures, err)
		if r.late() {
			for _, e := range batch {
				r.giveUp(e, err)
			}
			return nil, nil
		}
		if err := meanwhile.Sleep(ctx, storeBackoff(failures)); err != nil {
			return nil, err
		}
		if failures >= triesTogether && r.pings(ctx) {
			return r.settleEach(ctx, batch)
		}
	}
}

// settleEach writes one job after the other, and returns those that the store has refused.
func (r *run) settleEach(ctx context.Context, batch []*execution) (refused []*execution, err error) {
	for _, e := range r.stillOurs(ctx, batch) {
		one := []*execution{e}
		lost, err := r.callSettle(ctx, one)
		switch {
		case err == nil:
			r.settled(ctx, one, lost)
		case fatal(err) || ctx.Err() != nil:
			return nil, cmpCause(ctx, err)
		case time.Since(e.end.at) < r.config.Lease && !r.late():
			refused = append(refused, e)
		default:
			r.giveUp(e, err)
		}
	}
	return refused, nil
}

// settledInPart handles the error of joined stores, one of which has failed: outcomes that the others have written are settled, and the rest is
// tried again later, with newer outcomes, for as long as a lease.
func (r *run) settledInPart(ctx context.Context, batch []*execution, lost []ID, part *unsettledError) (refused []*execution, err error) {
	r.unsettled++
	r.storeFailed("settle jobs", r.unsettled, part)
	var written []*execution
	late := r.late()
	for _, e := range batch {
		switch {
		case !part.ids[e.job.ID]:
			written = append(written, e)
		case time.Since(e.end.at) < r.config.Lease && !late:
			refused = append(refused, e)
		default:
			r.giveUp(e, part)
		}
	}
	r.settled(ctx, written, lost)
	return refused, meanwhile.Sleep(ctx, storeBackoff(1))
}

// late reports whether the worker should have ended by now: only outcomes that the store does not accept delay it.
func (r *run) late() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stopping && time.Since(r.stopped) > lastCall
}

// giveUp gives up a job whose outcome the store has not accepted for as long as a lease, or by the end of the worker: it is run again.
func (r *run) giveUp(e *execution, err error) {
	r.dropLease(e)
	r.config.Logger.Error("job: the outcome could not be written: the job will be run again", "job.id", e.job.ID, "job.kind", e.job.Kind, "job.queue", e.job.Queue, "job.attempt", e.job.Attempt, "error", err)
	r.observe(Event{Kind: JobLost, Job: e.job, Err: err, Elapsed: e.end.event.Elapsed})
}

func (r *run) pings(ctx context.Context) bool {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	return r.store.Ping(call) == nil
}

// stillOurs leaves out the jobs whose lease was lost while the store did not answer, and reports them.
func (r *run) stillOurs(ctx context.Context, batch []*execution) []*execution {
	ours := make([]*execution, 0, len(batch))
	var gone []*execution
	for _, e := range batch {
		e.mu.Lock()
		lost := e.lost
		e.mu.Unlock()
		if lost {
			gone = append(gone, e)
		} else {
			ours = append(ours, e)
		}
	}
	r.settledBefore(ctx, gone)
	return ours
}

// settledBefore reports jobs that the worker does not hold any more. The attempt may have been settled nevertheless: by the handler's own transaction,
// see [Complete], as intended, or by a call whose answer was lost. Otherwise its outcome does not count.
func (r *run) settledBefore(ctx context.Context, gone []*execution) {
	var unsure []*execution
	for _, e := range gone {
		e.mu.Lock()
		if !e.end.silent && (e.end.tried || e.completed && e.lost) {
			unsure = append(unsure, e)
		}
		e.mu.Unlock()
	}
	written := r.written(ctx, unsure)
	for _, e := range gone {
		state := written[e.job.ID]
		known := !slices.Contains(unsure, e)
		switch completed := e.completedItself(); {
		case completed && (known || state == Completed || state != "" && !e.end.tried):
			e.job.State = Completed
			r.report(e, Event{Kind: JobCompleted, Elapsed: e.end.event.Elapsed, Then: e.then})
		case state != "":
			r.report(e, e.end.event)
		default:
			r.report(e, Event{Kind: JobLost, Err: ErrLeaseLost, Elapsed: e.end.event.Elapsed})
		}
	}
}

// written returns the states of the jobs whose attempts were settled, although the worker does not hold them any more, as far as the store answers in
// time. Nobody but the session that has claimed an attempt can end it with another state than Running. The number of the attempt alone does not
// identify it: a store that has forgotten the claim, as after a power failure, gives the number again.
func (r *run) written(ctx context.Context, unsure []*execution) map[ID]State {
	if len(unsure) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, lastCall)
	defer cancel()
	states := map[ID]State{}
	for part := range slices.Chunk(unsure, mostListed) {
		f := Filter{Limit: len(part)}
		claimed := map[ID]*Job{}
		for _, e := range part {
			f.IDs, claimed[e.job.ID] = append(f.IDs, e.job.ID), e.job
		}
		found, err := r.store.List(call, f)
		if err != nil {
			r.config.Logger.Warn("job: it is not known whether jobs were settled: they are reported as lost", "jobs", len(part), "error", err)
			continue
		}
		for _, j := range found {
			if c := claimed[j.ID]; j.State != Running && j.Attempt == c.Attempt && j.Worker == c.Worker && j.Started.Equal(c.Started) {
				states[j.ID] = j.State
			}
		}
	}
	return states
}

func (r *run) callSettle(ctx context.Context, batch []*execution) ([]ID, error) {
	call, cancel := context.WithTimeout(ctx, r.callTimeout())
	defer cancel()
	outcomes := make([]Outcome, len(batch))
	for i, e := range batch {
		outcomes[i] = e.job.outcome(e.end.event.Then)
		outcomes[i].Throttle, outcomes[i].Units = e.end.event.Throttle, e.end.units
	}
	lost, err := settleOrCancel(call, r.store, batch[0].session, outcomes)
	for _, e := range batch {
		if e.job.State == Canceled {
			e.end.event, e.end.silent = e.end.event.ofState(Canceled), false
		}
	}
	if err != nil {
		part, inPart := errors.AsType[*unsettledError](err)
		for _, e := range batch {
			e.end.tried = e.end.tried || !inPart || part.ids[e.job.ID]
		}
	}
	return lost, err
}

// settled reports the outcome of each job.
func (r *run) settled(ctx context.Context, batch []*execution, lost []ID) {
	r.health.settled.Store(time.Now().UnixNano())
	finishedHere(r.store, func(yield func(ID) bool) {
		for _, e := range batch {
			if e.job.State.Finished() && !yield(e.job.ID) {
				return
			}
		}
	})
	var isLost map[ID]bool
	if len(lost) > 0 {
		isLost = make(map[ID]bool, len(lost))
	}
	for _, id := range lost {
		isLost[id] = true
	}
	var gone []*execution
	for _, e := range batch {
		if isLost[e.job.ID] {
			gone = append(gone, e)
		} else {
			r.report(e, e.end.event)
		}
	}
	r.settledBefore(ctx, gone)
}

// report reports an event that tells how an attempt ended.
func (r *run) report(e *execution, event Event) {
	if e.end.silent {
		return
	}
	now := time.Now()
	switch event.Kind {
	case JobRetried:
		r.failures.failed(now, e.job, r.clock.at(e.end.at.Add(event.Delay)))
	case JobDiscarded:
		r.config.Logger.Error("job discarded",
			"job.id", e.job.ID, "job.kind", e.job.Kind, "job.queue", e.job.Queue, "job.attempt", e.job.Attempt, "error", e.job.LastError())
	}
	event.Job = e.job
	r.counters.ended(now, e.job, event, e.begun)
	r.observe(event)
}
