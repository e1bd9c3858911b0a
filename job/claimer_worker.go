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

// A WorkerState is what an operator wants a program that runs jobs of a [Claimer] to do, see [Claimer.Extend].
type WorkerState string

// What an operator can want.
const (
	WorkerRuns  WorkerState = "run"
	WorkerQuiet WorkerState = "quiet" // it stops claiming; its running jobs continue, and so does the program
	WorkerStops WorkerState = "stop"  // it stops claiming, finishes or releases its running jobs, and exits
)

// Leased are the jobs of a session that a program still runs.
type Leased struct {
	Session Session
	Jobs    []ID
}

// Extended is the answer to [Claimer.Extend].
type Extended struct {
	Lost     []ID // jobs that the sessions hold no more: another worker has them, or they were deleted or finished
	Canceled []ID // jobs of the sessions to cancel: finish them with ErrCanceled, or as if they had not been canceled
	State    WorkerState
}

// Extend renews the leases of sessions, for lease from now, and lists the program as the worker with worker.Name. Without sessions it only lists
// the program. Fields of worker that are zero stay as they were listed. So does the state that the commands quiet, resume and stop have set, as
// long as the program is the same: another Host or PID means a new program, whose state is WorkerRuns. Other commands are about tasks and crons,
// which the program does not have: they do nothing.
func (c *Claimer) Extend(ctx context.Context, worker WorkerInfo, lease time.Duration, held ...Leased) (got Extended, err error) {
	if err = checkHolder(worker.Name, lease); err == nil {
		got, err = c.extend(ctx, worker, lease, held...)
	}
	if err != nil {
		return Extended{}, fmt.Errorf("extend leases: %w", err)
	}
	return got, nil
}

// extend is Extend for valid arguments.
func (c *Claimer) extend(ctx context.Context, worker WorkerInfo, lease time.Duration, held ...Leased) (Extended, error) {
	p, leave, err := c.enter(ctx, worker.Name)
	if err != nil {
		return Extended{}, err
	}
	defer leave()
	return p.extend(ctx, worker, lease, false, held...)
}

// Leave removes a worker from the list. Its jobs stay leased until their leases are over.
func (c *Claimer) Leave(ctx context.Context, worker string) error {
	p, leave, err := c.enter(ctx, worker)
	if err == nil {
		defer leave()
		_, err = p.extend(ctx, WorkerInfo{Name: worker}, leastLease, true) // which reports its counters
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
	mostPrograms = 10_000                   // the most that are remembered
	stateKnown   = 10 * time.Second         // within which a program that only fetches learns its state
	listEach     = stateKnown - defaultPoll // how often it is listed and its state is read; a waiting fetch checks this at each poll
	askedKept    = time.Minute              // how long it is listed with the queues and kinds of earlier fetches
	mostAsked    = 200                      // queues, or kinds, that it is listed with
)

// A program is a worker of a Claimer, by its name. Everything that must not be lost is in the store, since other processes may have Claimers as
// well.
type program struct {
	store    Store
	counters counters  // which have their own lock
	begun    time.Time // when this process began to count it

	busy     chan struct{} // capacity 1: the goroutine that has put a value in may use the fields below
	noted    time.Time     // when it was listed last
	asked    asked
	state    WorkerState
	commands []Command // received, but perhaps not yet reflected in the list of workers
}

// program returns the program with a name, and creates it if it is new. When there are too many, all are forgotten.
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

// enter returns a program that nobody else lists until leave is called. Otherwise a goroutine that does not know of a command yet could undo it.
func (c *Claimer) enter(ctx context.Context, name string) (p *program, leave func(), err error) {
	p = c.program(name)
	select {
	case p.busy <- struct{}{}:
		return p, func() { <-p.busy }, nil
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// fetches lists a program that fetches, unless that was done recently, and returns its state.
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

// asked is what the threads of a program have recently fetched, which may differ between threads.
type asked struct {
	queues []string
	kinds  []string // nil is all
	since  time.Time
}

// add adds the queues and kinds of a fetch, and reports whether there are new ones.
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

// extend is Claimer.Extend; last is set if it may be the last call for the program. p must be entered.
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
		p.commands = nil // it is now listed with the earlier ones
		if changed = info.applyCommands(renewed.Commands); changed {
			p.commands, p.state = renewed.Commands, info.state()
		}
		return changed, nil
	}
	changed := len(held) == 0 // make at least one call
	for _, h := range held {
		if changed, err = renew(h); err != nil {
			return Extended{}, err
		}
	}
	for changed { // list the state that commands have changed
		if changed, err = renew(Leased{Session: ownSession(info.Name)}); err != nil {
			return Extended{}, err
		}
	}
	p.noted, p.state = time.Now(), info.state()
	got.State = p.state
	return got, nil
}

// renew renews a lease, and reports the counters of the program. p must be entered.
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

// Renew is Store.Renew for a program whose session was given to [Claimer.Fetch], by a caller who lists the program as a worker. Stats and Run of r
// need not be set: the Claimer counts what the program does through it, for Store.Stats.
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

// listed returns the info to list for a worker: w, with missing fields as they were listed before.
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

// applyCommands applies commands to the state, and reports whether it has changed.
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
	Progress *ProgressReport // nil leaves it unchanged
	Records  []Record        // to be added to those that the job has
}

// Report writes the progress and the log records of attempts. Attempts that are lost are left out. It reads the jobs and writes them again: if two
// concurrent calls are about one job, the records of one may be lost.
func (c *Claimer) Report(ctx context.Context, reports ...Report) error {
	if len(reports) == 0 {
		return nil
	}
	ids := make([]ID, len(reports))
	for i := range reports {
		ids[i] = reports[i].ID
	}
	stored, err := listRunning(ctx, c.store, ids)
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
