package job

import (
	"context"
	"slices"
	"time"
)

// A hold is what the worker has at its store: a session, whose lease holds all its jobs. run.mu guards it.
type hold struct {
	session Session
	leased  time.Time // when the lease was surely in force last; zero while it is not known to have begun
	dropped []ID      // jobs that were given up, and that the store does not know of yet
}

// expireLoop gives the session up when its lease could not be renewed in time, a tenth of it before it is over: then other workers may
// run the jobs, and these attempts should have ended. It is a loop of its own since a call to the store may hang.
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

// giveUpAtParts cancels the attempts at those of several stores at which the lease may be over. An attempt that has ended is left to the settle
// loop: its outcome counts as long as nobody has claimed the job since.
func (r *run) giveUpAtParts(j *Joined, session Session) {
	for _, id := range j.outlived(session, r.config.Lease) {
		if e := r.holding(id); e != nil && e.session == session && e.runs() {
			e.cancel(ErrLeaseLost)
			j.giveUp(session, id)
		}
	}
}

// runs reports whether the attempt goes on, and may lose its lease.
func (e *execution) runs() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.ended && !e.completed && !e.lost
}

// giveUpSession begins another session if the lease was last in force at over or before. What the one before holds is lost here, whether
// the worker knows of it or not; as nothing renews that any more, others get it when the lease is over. The executions are marked before
// r.mu is released: one that is not lost is always of the session of r.hold.
func (r *run) giveUpSession(over time.Time) {
	r.mu.Lock()
	if r.hold.leased.IsZero() || r.hold.leased.After(over) {
		r.mu.Unlock()
		return
	}
	r.hold = hold{session: NewSession()}
	lost := make([]*execution, 0, len(r.inFlight))
	for _, e := range r.inFlight {
		e.loseLease()
		lost = append(lost, e)
	}
	r.mu.Unlock()
	for _, e := range lost {
		e.cancel(ErrLeaseLost)
	}
}

// keep notes that e is held. If its session was given up since the claim, it is lost. So is another execution of the same job: the store
// has forgotten that claim, as after a loss of power.
func (r *run) keep(e *execution) {
	r.mu.Lock()
	before := r.inFlight[e.job.ID]
	r.inFlight[e.job.ID] = e
	if before != nil {
		before.loseLease()
	}
	r.hold.dropped = slices.DeleteFunc(r.hold.dropped, func(id ID) bool { return id == e.job.ID }) // that was the attempt before
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

// leased reports whether the lease of a session is known to have begun.
func (r *run) leased(session Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hold.session == session && !r.hold.leased.IsZero()
}

// began notes that the session was under way after begun. It reports whether it still is the worker's.
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

// renewed notes that the store has renewed the lease after begun, and knows which jobs were dropped.
func (r *run) renewed(session Session, begun time.Time, dropped []ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.hold.session == session {
		r.hold.leased = begun
		r.hold.dropped = slices.DeleteFunc(r.hold.dropped, func(id ID) bool { return slices.Contains(dropped, id) })
	}
}

// dropLease gives up a job that the store believes to be held: it is run again. That is left out when it is held by its next attempt already.
func (r *run) dropLease(e *execution) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if held := r.inFlight[e.job.ID]; held == nil || held == e {
		r.hold.dropped = append(r.hold.dropped, e.job.ID)
	}
}
