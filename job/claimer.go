package job

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	claimTime   = 10 * time.Second // timeout of a claim
	releaseTime = 5 * time.Second
	mostListed  = 50 // jobs that are read at once: each may have a megabyte of args
)

// A Claimer is the half of a worker that runs no handlers: it claims and settles jobs. It is for servers that pass jobs to programs in other
// languages and write the outcomes. One Claimer may serve many such programs at once. The state of jobs is in the store, so that another process
// may finish a job that this one has fetched; the Claimer only counts what its programs do, for [Store].Stats. Outcomes are those of a
// [HandlerFunc], with the default backoff.
type Claimer struct {
	// Observe, if it is set before the first call, is called with the events of attempts, as that of a [Config] is: JobStarted when a job is fetched,
	// and the outcome when it is written. There is none for a job that [Claimer.Release] returns, nor for a lost one, of which the Claimer does not know
	// what has become; a job has no args in the event of a Finish that has read it. A panic is logged by slog.Default.
	Observe func(Event)

	store Store

	mu       sync.Mutex
	programs map[string]*program
}

// NewClaimer returns a Claimer for the jobs of a store.
func NewClaimer(store Store) *Claimer { return &Claimer{store: store} }

// A Fetch describes which jobs a program wants.
type Fetch struct {
	Worker string        // the name of the program
	Queues []string      // at least one, in the order in which they are checked
	Kinds  []string      // nil is all
	Limit  int           // the maximum number of jobs; default 1, at most 500
	Lease  time.Duration // how long the jobs stay leased unless it is extended; default 30 s
	Wait   time.Duration // how long to wait for the first job; the default is not to wait
	// DueOnly leaves out jobs whose lease has run out. Calls without it claim these as well, and are slightly more expensive for the store.
	DueOnly bool
	// Session is the session that claims the jobs. It holds them together with the jobs that it held before; only Renew changes its lease. The caller
	// then lists the program as a worker itself, and does not use Extend. The default is a new session for each call. Several servers may share a
	// session, since its claims are not numbered.
	Session Session
}

// Fetched holds the jobs that a program must run. One lease holds all of them, that of a new session unless the Fetch named one: if the answer does
// not reach the program, its jobs are held up for no longer than that lease.
type Fetched struct {
	Session Session
	Jobs    []*Job
	State   WorkerState   // what an operator wants the program to do, at most ten seconds old
	Next    time.Duration // if there are no jobs: how long until one becomes due; zero if that is not known
}

// Fetch claims due jobs. If there are none, it waits for one, at most f.Wait. It returns no jobs when f.Wait is over, or if an operator wants the
// program to be quiet or to stop, which a waiting Fetch notices within ten seconds. Jobs that must not be run, since they are canceled or out of
// attempts, are finished and left out. When ctx ends, Fetch returns its cause, and releases what it has claimed by then. The program is listed as a
// worker unless f.Session is set.
func (c *Claimer) Fetch(ctx context.Context, f Fetch) (Fetched, error) {
	f.Limit, f.Lease = min(cmp.Or(f.Limit, 1), mostClaimed), cmp.Or(f.Lease, defaultLease)
	err := f.check()
	var got Fetched
	if err == nil {
		got, err = c.poll(ctx, f)
	}
	if err != nil {
		return Fetched{}, fmt.Errorf("fetch jobs: %w", err)
	}
	return got, nil
}

// poll is Fetch for a valid f.
func (c *Claimer) poll(ctx context.Context, f Fetch) (Fetched, error) {
	over := time.Now().Add(f.Wait)
	for first := true; ; first = false {
		if ctx.Err() != nil {
			return Fetched{}, context.Cause(ctx)
		}
		state, err := c.fetches(ctx, f)
		if err != nil {
			return Fetched{}, cmpCause(ctx, err)
		}
		if state != WorkerRuns {
			if first { // the program may know its state already, and would fetch again immediately
				err = meanwhile.Sleep(ctx, f.Wait)
			}
			return Fetched{Session: NewSession(), State: state}, err
		}
		got, next, err := c.fetch(ctx, f)
		if err == nil && ctx.Err() != nil && len(got.Jobs) > 0 {
			err = errors.Join(context.Cause(ctx), c.Release(ctx, got))
		}
		if err != nil {
			return Fetched{}, err
		}
		left := time.Until(over)
		if len(got.Jobs) > 0 || left <= 0 {
			got.State = state
			return got, nil
		}
		pause := min(left, defaultPoll)
		if next > 0 {
			pause = min(pause, next)
		}
		if err := c.await(ctx, f.Queues, pause); err != nil {
			return Fetched{}, err
		}
	}
}

// Release returns fetched jobs that were not started to their queue, immediately and without using an attempt; those whose cancellation was requested
// are canceled. It takes up to five seconds, even if ctx has ended: jobs that it cannot release return to their queue when the lease is over.
func (c *Claimer) Release(ctx context.Context, f Fetched) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	for _, j := range f.Jobs {
		j.queueAgain(0, true)
	}
	_, err := settleOrCancel(ctx, c.store, f.Session, Outcomes(f.Jobs...))
	return err
}

func (f *Fetch) check() error {
	switch {
	case len(f.Queues) == 0:
		return errors.New("no queue is named")
	case f.Limit < 0:
		return fmt.Errorf("a limit of %d: give from 1 to %d", f.Limit, mostClaimed)
	}
	return checkHolder(f.Worker, f.Lease)
}

func checkHolder(worker string, lease time.Duration) error {
	switch {
	case worker == "":
		return errors.New("the worker has no name")
	case lease < leastLease:
		return fmt.Errorf("a lease of %v: give at least %v", lease, leastLease)
	}
	return nil
}

// await waits until a job may be due, for at most d.
func (c *Claimer) await(ctx context.Context, queues []string, d time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := c.store.Wait(wait, queues...)
	if err != nil && wait.Err() != nil {
		return context.Cause(ctx) // nil if only d is over
	}
	return err
}

// fetch claims once. A claim that has started is not canceled: it would be unknown which jobs it has claimed.
func (c *Claimer) fetch(ctx context.Context, f Fetch) (Fetched, time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	claim := f.claim()
	got, err := c.store.Claim(ctx, claim)
	if err != nil {
		return Fetched{}, 0, err
	}
	return c.prepareAttempts(ctx, f, claim, got)
}

// InsertAndFetch is [Insert], followed by a Fetch that does not wait, in one transaction of a store that is an [InsertClaimer]; with another store
// it panics. f must name a session. done is nil if nothing was inserted; if it is not nil, an error concerns the fetch alone.
func (c *Claimer) InsertAndFetch(ctx context.Context, f Fetch, jobs ...*Job) (done []Enqueued, got Fetched, err error) {
	f.Limit, f.Lease = min(cmp.Or(f.Limit, 1), mostClaimed), cmp.Or(f.Lease, defaultLease)
	if err := f.check(); err != nil {
		return nil, Fetched{}, fmt.Errorf("fetch jobs: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTime)
	defer cancel()
	claim := f.claim()
	ids, claimed, err := c.store.(InsertClaimer).InsertAndClaim(ctx, jobs, claim)
	if done, err = enqueued(jobs, ids, err); err != nil {
		return nil, Fetched{}, err
	}
	if got, _, err = c.prepareAttempts(ctx, f, claim, claimed); err != nil {
		err = fmt.Errorf("fetch jobs: %w", err)
	}
	return done, got, err
}

func (f *Fetch) claim() Claim {
	claim := Claim{
		Worker: f.Worker, Session: cmp.Or(f.Session, NewSession()), Limit: f.Limit, Lease: f.Lease, Kinds: f.Kinds, Durable: true, Expired: !f.DueOnly,
	}
	for _, q := range f.Queues {
		claim.Queues = append(claim.Queues, QueueLimit{q, f.Limit})
	}
	return claim
}

// prepareAttempts counts claimed jobs, and finishes those that must not be run.
func (c *Claimer) prepareAttempts(ctx context.Context, f Fetch, claim Claim, got Claimed) (Fetched, time.Duration, error) {
	fetched := Fetched{Session: claim.Session, Next: got.Next}
	counts, now := &c.program(f.Worker).counters, time.Now()
	var known []Outcome // outcomes to write before the attempts
	events := make([]Event, len(got.Jobs))
	for i, j := range got.Jobs {
		wait := max(j.Started.Sub(j.RunAt), 0)
		counts.began(now, j, wait)
		unfit := j.prepareAttempt(got.Expired[j.ID], false)
		if unfit == nil {
			fetched.Jobs = append(fetched.Jobs, j)
			events[i] = Event{Kind: JobStarted, Wait: wait}
		} else {
			counts.ended(now, j, *unfit, time.Time{})
			events[i] = *unfit
		}
		if unfit != nil || got.Expired[j.ID] != "" {
			known = append(known, j.outcome(nil))
		}
	}
	var lost []ID
	if len(known) > 0 {
		var err error
		if lost, err = c.store.Settle(ctx, claim.Session, known...); err != nil {
			return Fetched{}, 0, errors.Join(err, c.Release(ctx, fetched))
		}
		fetched.Jobs = slices.DeleteFunc(fetched.Jobs, func(j *Job) bool { return slices.Contains(lost, j.ID) })
	}
	for i, j := range got.Jobs {
		if !slices.Contains(lost, j.ID) {
			c.observe(j, events[i])
		}
	}
	return fetched, got.Next, nil
}

func (c *Claimer) observe(j *Job, e Event) {
	e.Job, e.Worker = j, j.Worker
	observe(c.Observe, slog.Default(), e)
}

// An End reports how an attempt ended, see [Claimer.Finish].
type End struct {
	Session Session
	ID      ID
	Attempt int
	Err     error           // as a handler returns it: nil, Cancel, Snooze, Throttled, a permanent or another error; or ErrStopping, ErrCanceled
	Stack   string          // of a failure
	Result  json.RawMessage // of an attempt that completed
	Records []Record        // to be added to those that the job has
	// Then are the follow-up jobs of an attempt that completed, see [Then]: at most MaxThen jobs, one less if the job has a [Webhook]. An attempt with
	// more fails.
	Then []*Job
	// Spent is how many units the attempt used, from 0 to MaxCost, see [Spend]; nil means the cost of the job.
	Spent *int
	// Job is the job as Fetch returned it, if the caller has kept it. Finish then does not read it from the store, and changes it. Records and
	// progress that were written since must be in it, or they are lost.
	Job *Job
}

// Finish writes the outcomes of attempts, by the rules of a [HandlerFunc]: those of a session in one transaction. It returns the lost jobs, whose
// ends do not count: another worker has claimed the job since, or it was deleted, or it was finished before. A job must not be given twice in one
// call. After an error some of the ends may have been written: their jobs are among the lost when Finish is called again.
func (c *Claimer) Finish(ctx context.Context, ends ...End) (lost []ID, err error) {
	var ids []ID // to read
	for i := range ends {
		if ends[i].Job == nil {
			ids = append(ids, ends[i].ID)
		}
	}
	stored, err := listRunning(ctx, c.store, ids)
	if err != nil {
		return nil, fmt.Errorf("finish jobs: %w", err)
	}
	for i := range ends {
		if j := ends[i].Job; j != nil {
			stored[j.ID] = j
		}
	}
	outcomes, events := map[Session][]Outcome{}, map[ID]Event{}
	for i := range ends {
		end := &ends[i]
		if j := stored[end.ID]; j != nil && j.Attempt == end.Attempt {
			o, event := end.decide(j)
			outcomes[end.Session], events[end.ID] = append(outcomes[end.Session], o), event
		} else {
			lost = append(lost, end.ID)
		}
	}
	for session, of := range outcomes {
		gone, err := settleOrCancel(ctx, c.store, session, of)
		if err != nil {
			return nil, fmt.Errorf("finish jobs: %w", err)
		}
		lost = append(lost, gone...)
		for _, o := range of {
			if !slices.Contains(gone, o.Job.ID) {
				event := events[o.Job.ID].ofState(o.Job.State)
				c.program(o.Job.Worker).counters.ended(time.Now(), o.Job, event, o.Job.Started)
				c.observe(o.Job, event)
			}
		}
		finishedHere(c.store, func(yield func(ID) bool) {
			for _, o := range of {
				if o.Job.State.Finished() && !yield(o.Job.ID) {
					return
				}
			}
		})
	}
	return lost, nil
}

// listRunning returns those of the jobs that are running, without their args.
func listRunning(ctx context.Context, s Store, ids []ID) (map[ID]*Job, error) {
	running := make(map[ID]*Job, len(ids))
	for part := range slices.Chunk(ids, mostListed) {
		found, err := s.List(ctx, Filter{IDs: part, States: []State{Running}, Limit: len(part)})
		if err != nil {
			return nil, err
		}
		for _, j := range found {
			j.Args = nil
			running[j.ID] = j
		}
	}
	return running, nil
}

// decide sets the outcome of the stored job j, and returns it with its event.
func (end *End) decide(j *Job) (o Outcome, event Event) {
	now := time.Now()
	elapsed := max(now.Sub(j.Started), 0)
	j.addRecords(end.Attempt, now, end.Records...)
	j.Result = slices.Clone(end.Result)
	if r, tooLarge := j.dropLargeResult(now); tooLarge {
		j.addRecords(end.Attempt, now, r)
	}
	err, cause := end.Err, error(nil)
	switch {
	case err == nil:
		err = cmp.Or(j.checkResult(), j.checkThen(len(end.Then)))
	case errors.Is(err, ErrStopping):
		cause = ErrStopping
	case j.CancelRequested || errors.Is(err, ErrCanceled):
		cause = ErrCanceled
	}
	var then []*Job
	var throttle time.Duration
	j.decideSafely(err, cause, elapsed, definition{}, func(decided Event) {
		event = decided
		event.Elapsed, throttle = elapsed, event.Throttle
		switch event.Kind {
		case JobCompleted:
			then, event.Then = end.Then, end.Then
		case JobRetried, JobDiscarded, JobCanceled:
			j.Failures[len(j.Failures)-1].Stack = cut(end.Stack, maxStack)
		}
	})
	o = j.outcome(then)
	o.Throttle = throttle
	if end.Spent != nil {
		o.Units = *end.Spent - j.Cost
	}
	return o, event
}

// addRecords adds records of an attempt, and drops the oldest if there are too many.
func (j *Job) addRecords(attempt int, now time.Time, records ...Record) {
	for _, r := range records {
		if r.Time.IsZero() {
			r.Time = now
		}
		r.Attempt, r.Message, r.Attrs = attempt, cut(r.Message, maxRecordText), cut(r.Attrs, maxRecordText)
		j.Records = append(j.Records, r)
	}
	size := 0
	for i := len(j.Records) - 1; i >= 0; i-- {
		size += j.Records[i].size()
		if size > maxRecords || len(j.Records)-i > MaxRecords {
			j.Records = j.Records[i+1:]
			return
		}
	}
}
