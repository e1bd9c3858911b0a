package job

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"
)

// A WorkerState is what an operator wants a worker that runs its jobs elsewhere to do, see [Claimer.Extend].
type WorkerState string

// The states.
const (
	WorkerRuns  WorkerState = "run"
	WorkerQuiet WorkerState = "quiet" // it claims no more; its running jobs continue, and it stays
	WorkerStops WorkerState = "stop"  // it claims no more, finishes or releases what it runs, and ends
)

// Leased are the jobs of a session that a program still runs.
type Leased struct {
	Session Session
	Jobs    []ID
}

// Extended is the answer to [Claimer.Extend].
type Extended struct {
	Lost     []ID // of the jobs held: another worker has them, or they were deleted or finished
	Canceled []ID // of all jobs of these sessions: finish them with ErrCanceled, or as if they had not been canceled
	State    WorkerState
}

// Extend renews the lease of sessions, for lease from now, and lists the program as the worker with worker.Name. Without sessions it only lists
// the program. Fields of worker that are zero stay as they were listed, and so does what the commands quiet, resume and stop have asked for, as
// long as the program is the same: another Host or PID means a new program, which runs. Other commands are about tasks and crons, which the
// program does not have: they do nothing.
func (c *Claimer) Extend(ctx context.Context, worker WorkerInfo, lease time.Duration, held ...Leased) (got Extended, err error) {
	if err = checkHolder(worker.Name, lease); err == nil {
		got, err = c.extend(ctx, worker, lease, held...)
	}
	if err != nil {
		return Extended{}, fmt.Errorf("extend leases: %w", err)
	}
	return got, nil
}

// extend is Extend for what is valid.
func (c *Claimer) extend(ctx context.Context, worker WorkerInfo, lease time.Duration, held ...Leased) (Extended, error) {
	p, leave, err := c.enter(ctx, worker.Name)
	if err != nil {
		return Extended{}, err
	}
	defer leave()
	return p.extend(ctx, worker, lease, false, held...)
}

// Leave removes a worker from the list. Its jobs stay held until their leases are over.
func (c *Claimer) Leave(ctx context.Context, worker string) error {
	p, leave, err := c.enter(ctx, worker)
	if err == nil {
		defer leave()
		_, err = p.extend(ctx, WorkerInfo{Name: worker}, leastLease, true) // which tells what it has done
		p.noted = time.Time{}
	}
	if err == nil {
		err = c.store.Leave(ctx, worker, ownSession(worker))
	}
	if err != nil {
		return fmt.Errorf("worker %s leaves: %w", worker, err)
	}
	return nil
}

const (
	mostPrograms = 10_000                   // that are remembered
	stateKnown   = 10 * time.Second         // within which a program that only fetches knows what an operator wants of it
	listEach     = stateKnown - defaultPoll // how often it is listed, and asked for: it waits for no longer than a poll until it asks again
	askedKept    = time.Minute              // how long it is listed with what it has fetched
	mostAsked    = 200                      // queues, or kinds, that it is listed with
)

// A program is a worker of a claimer, by its name. What counts is in the store, since other processes may have claimers as well.
type program struct {
	store    Store
	counters counters  // which has a lock of its own
	begun    time.Time // when it began to be counted here

	busy     chan struct{} // capacity 1: who has put a value in may use what follows
	noted    time.Time     // when it was listed last
	asked    asked
	state    WorkerState
	commands []Command // that were fetched, and with which it may not be listed yet
}

// program returns the program of a name, made when it is new. When there are too many, all are forgotten.
func (c *Claimer) program(name string) *program {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.programs[name]
	if p == nil {
		if c.programs == nil || len(c.programs) >= mostPrograms {
			c.programs = map[string]*program{}
		}
		p = &program{store: c.store, counters: counters{worker: name, clock: newStoreClock()}, begun: time.Now(), busy: make(chan struct{}, 1)}
		c.programs[name] = p
	}
	return p
}

// enter returns a program that nobody else lists until leave is called: an order would be undone by who has not heard of it.
func (c *Claimer) enter(ctx context.Context, name string) (p *program, leave func(), err error) {
	p = c.program(name)
	select {
	case p.busy <- struct{}{}:
		return p, func() { <-p.busy }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// fetches lists a program that fetches, if that was not done lately, and returns what an operator wants of it.
func (c *Claimer) fetches(ctx context.Context, f Fetch) (WorkerState, error) {
	if f.Session != 0 { // its caller lists it
		return WorkerRuns, nil
	}
	p, leave, err := c.enter(ctx, f.Worker)
	if err != nil {
		return "", err
	}
	defer leave()
	if more := p.asked.add(f); !more && time.Since(p.noted) < listEach {
		return p.state, nil
	}
	if _, err := p.extend(ctx, WorkerInfo{Name: f.Worker, Queues: p.asked.queues, Kinds: p.asked.kinds}, defaultLease, false); err != nil {
		p.asked = asked{}
		return "", err
	}
	return p.state, nil
}

// asked is what the threads of a program have fetched lately, which need not be the same for all.
type asked struct {
	queues []string
	kinds  []string // nil is all
	since  time.Time
}

// add adds what is fetched now, and reports whether that is more than before.
func (a *asked) add(f Fetch) (more bool) {
	if time.Since(a.since) >= askedKept || len(a.queues) > mostAsked || len(a.kinds) > mostAsked {
		*a = asked{queues: slices.Clone(f.Queues), kinds: slices.Clone(f.Kinds), since: time.Now()}
		return true
	}
	queues, kinds := union(a.queues, f.Queues), union(a.kinds, f.Kinds)
	if a.kinds == nil || f.Kinds == nil {
		kinds = nil
	}
	more = len(queues) > len(a.queues) || len(kinds) > len(a.kinds) || kinds == nil && a.kinds != nil
	a.queues, a.kinds = queues, kinds
	return more
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// extend is Claimer.Extend; last says that there may be no other. p is entered.
func (p *program) extend(ctx context.Context, worker WorkerInfo, lease time.Duration, last bool, held ...Leased) (Extended, error) {
	info, err := listed(ctx, p.store, worker)
	if err != nil {
		return Extended{}, err
	}
	info.applyCommands(p.commands)
	var got Extended
	renew := func(h Leased) (changed bool, err error) {
		renewed, err := p.renew(ctx, Renewal{Worker: info.Name, Session: h.Session, Lease: lease, Jobs: h.Jobs, Info: info}, last)
		if err != nil {
			return false, err
		}
		got.Lost, got.Canceled = append(got.Lost, renewed.Lost...), append(got.Canceled, renewed.Canceled...)
		p.commands = nil // it is listed with those before
		if changed = info.applyCommands(renewed.Commands); changed {
			p.commands, p.state = renewed.Commands, info.state()
		}
		return changed, nil
	}
	changed := len(held) == 0 // there is one call at least
	for _, h := range held {
		if changed, err = renew(h); err != nil {
			return Extended{}, err
		}
	}
	for changed { // what was ordered is to be listed
		if changed, err = renew(Leased{Session: ownSession(info.Name)}); err != nil {
			return Extended{}, err
		}
	}
	p.noted, p.state = time.Now(), info.state()
	got.State = p.state
	return got, nil
}

// renew renews a lease, and tells what the program has done. p is entered.
func (p *program) renew(ctx context.Context, r Renewal, last bool) (Renewed, error) {
	begun := time.Now()
	var reported countersReport
	r.Run = p.begun
	r.Stats, reported = p.counters.report(begun, last)
	got, err := p.store.Renew(ctx, r)
	if err != nil {
		return got, err
	}
	answered := time.Now()
	p.counters.clock.set(begun, got.Now, answered)
	p.counters.noteClock(answered)
	p.counters.taken(reported)
	return got, nil
}

// Renew is Store.Renew for a program whose session was given to [Claimer.Fetch], by a caller who lists the program as a worker.
// What the program does through this Claimer is counted for Store.Stats: Stats and Run of r need not be set.
func (c *Claimer) Renew(ctx context.Context, r Renewal) (Renewed, error) {
	p, leave, err := c.enter(ctx, r.Worker)
	if err != nil {
		return Renewed{}, fmt.Errorf("renew a lease: %w", err)
	}
	defer leave()
	return p.renew(ctx, r, false)
}

// ownSession is a session without jobs, for a worker that is listed and holds none.
func ownSession(worker string) Session {
	sum := sha256.Sum256([]byte("worker " + worker))
	return Session(binary.BigEndian.Uint64(sum[:])>>2) + 1
}

// listed returns what is to be listed of a worker, with what was listed of it before.
func listed(ctx context.Context, s Store, w WorkerInfo) (WorkerInfo, error) {
	found, err := s.Workers(ctx, w.Name)
	if err != nil {
		return w, err
	}
	before := WorkerInfo{Started: time.Now()}
	for _, other := range found {
		same := (w.Host == "" || other.Host == "" || w.Host == other.Host) && (w.PID == 0 || other.PID == 0 || w.PID == other.PID)
		if same {
			before = other
		}
	}
	w.Host, w.PID, w.Version = cmp.Or(w.Host, before.Host), cmp.Or(w.PID, before.PID), cmp.Or(w.Version, before.Version)
	w.Started, w.Quiet, w.Stopping = before.Started, before.Quiet, before.Stopping
	w.Concurrency = cmp.Or(w.Concurrency, before.Concurrency)
	if w.Queues == nil {
		w.Queues, w.Kinds = before.Queues, before.Kinds
	}
	if w.Labels == nil {
		w.Labels = before.Labels
	}
	return w, nil
}

// applyCommands notes what was ordered, and reports whether that is something else than before.
func (w *WorkerInfo) applyCommands(commands []Command) (changed bool) {
	quiet, stopping := w.Quiet, w.Stopping
	for _, o := range commands {
		switch o.Do {
		case CommandQuiet:
			w.Quiet = true
		case CommandResume:
			w.Quiet, w.Stopping = false, false
		case CommandStop:
			w.Stopping = true
		}
	}
	return w.Quiet != quiet || w.Stopping != stopping
}

func (w *WorkerInfo) state() WorkerState {
	switch {
	case w.Stopping:
		return WorkerStops
	case w.Quiet:
		return WorkerQuiet
	}
	return WorkerRuns
}

// A Report is what a program reports about a running attempt.
type Report struct {
	Session  Session
	ID       ID
	Attempt  int
	Progress *ProgressReport // nil leaves it as it is
	Records  []Record        // that the job is to have beside those that it has
}

// Report writes the progress of attempts and what they have logged. Attempts that are lost are left out. It reads the jobs and writes them again:
// if two calls at once are about one job, the records of one may be lost.
func (c *Claimer) Report(ctx context.Context, reports ...Report) error {
	if len(reports) == 0 {
		return nil
	}
	ids := make([]ID, len(reports))
	for i := range reports {
		ids[i] = reports[i].ID
	}
	stored, err := c.stored(ctx, ids)
	if err != nil {
		return fmt.Errorf("report on jobs: %w", err)
	}
	now := time.Now()
	outcomes := map[Session][]Outcome{}
	begun := map[ID]bool{}
	for _, r := range reports {
		j := stored[r.ID]
		if j == nil || j.Attempt != r.Attempt {
			continue
		}
		j.addRecords(r.Attempt, now, r.Records...)
		if r.Progress != nil {
			j.Progress = &ProgressReport{Done: r.Progress.Done, Total: r.Progress.Total, Time: now}
		}
		if !begun[r.ID] {
			begun[r.ID] = true
			outcomes[r.Session] = append(outcomes[r.Session], Outcome{Job: j})
		}
	}
	for session, of := range outcomes {
		if _, err := c.store.Settle(ctx, session, of...); err != nil {
			return fmt.Errorf("report on jobs: %w", err)
		}
	}
	return nil
}
