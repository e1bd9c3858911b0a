package job

import (
	"context"
	"slices"
	"time"
)

// A hold is the session of the worker at its store, whose lease holds all its jobs. run.mu guards it.
type hold struct {
	session Session
	leased  time.Time // when the lease was last certain to be in force; zero while it is not known to have started
	dropped []ID      // jobs that were given up, which the store does not know yet
}

// expireLoop gives up the session if its lease was not renewed in time, a tenth of the lease before it is over: then other workers may run the
// jobs, and the attempts here should have ended. It is a loop of its own since a call to the store may hang.
func (r *run) expireLoop(ctx context.Context) error {
	ticker := time.NewTicker(min(250*time.Millisecond, r.config.Lease/20))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		r.giveUpSession(time.Now().Add(-r.config.Lease + r.config.Lease/10))
		if j, ok := r.store.(*Joined); ok {
			r.giveUpAtParts(j, r.session())
		}
	}
}

// giveUpAtParts cancels the attempts of jobs whose lease may be over at one of several stores. An attempt that has ended is left to the settle
// loop: its outcome counts as long as nobody has claimed the job since.
func (r *run) giveUpAtParts(j *Joined, session Session) {
	for _, id := range j.outlived(session, r.config.Lease) {
		if e := r.holding(id); e != nil && e.session == session && e.runs() {
			e.cancel(ErrLeaseLost)
			j.giveUp(session, id)
		}
	}
}

// runs reports whether the attempt still runs, and may lose its lease.
func (e *execution) runs() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.ended && !e.completed && !e.lost
}

// giveUpSession starts a new session if the lease was last in force at over or before. All jobs of the old session are lost here, including those
// that the worker does not know of. Nothing renews its lease any more, so other workers get the jobs when it is over. The executions are marked
// before r.mu is released: one that is not lost always belongs to the session of r.hold. One whose handler has completed the job by itself is not
// canceled, see [Complete].
func (r *run) giveUpSession(over time.Time) {
	r.mu.Lock()
	if r.hold.leased.IsZero() || r.hold.leased.After(over) {
		r.mu.Unlock()
		return
	}
	r.hold = hold{session: NewSession()}
	lost := make([]*execution, 0, len(r.inFlight))
	for _, e := range r.inFlight {
		if completed := e.loseLease(); !completed {
			lost = append(lost, e)
		}
	}
	r.mu.Unlock()
	for _, e := range lost {
		e.cancel(ErrLeaseLost)
	}
}

// keep records that e is held. If its session was given up since the claim, it is lost. So is another execution of the same job: the store has
// forgotten that claim, as after a power failure.
func (r *run) keep(e *execution) {
	r.mu.Lock()
	before := r.inFlight[e.job.ID]
	r.inFlight[e.job.ID] = e
	if before != nil {
		before.loseLease()
	}
	r.hold.dropped = slices.DeleteFunc(r.hold.dropped, func(id ID) bool { return id == e.job.ID }) // the previous attempt was dropped, not this one
	if r.hold.session != e.session {
		e.loseLease()
	}
	r.mu.Unlock()
	if before != nil {
		before.cancel(ErrLeaseLost)
	}
}

func (r *run) session() Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hold.session
}

// leased reports whether the lease of a session is known to have started.
func (r *run) leased(session Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hold.session == session && !r.hold.leased.IsZero()
}

// began records that the lease of the session was in force after begun. It reports whether the session is still the worker's.
func (r *run) began(session Session, begun time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold.session != session {
		return false
	}
	if r.hold.leased.IsZero() {
		r.hold.leased = begun
	}
	return true
}

// renewed records that the store has renewed the lease after begun, and that it knows which jobs were dropped.
func (r *run) renewed(session Session, begun time.Time, dropped []ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold.session == session {
		r.hold.leased = begun
		r.hold.dropped = slices.DeleteFunc(r.hold.dropped, func(id ID) bool { return slices.Contains(dropped, id) })
	}
}

// dropLease gives up a job that the store considers held: it is run again. It does nothing if the next attempt of the job is held already.
func (r *run) dropLease(e *execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held := r.inFlight[e.job.ID]; held == nil || held == e {
		r.hold.dropped = append(r.hold.dropped, e.job.ID)
	}
}
