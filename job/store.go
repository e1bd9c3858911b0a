package job

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Errors that stores return, wrapped with what was being done.
var (
	ErrClosed   = errors.New("the store is closed")
	ErrNoSchema = errors.New("the store has no tables of meanwhile yet: migrate it (meanwhile jobs migrate)")
	ErrSchema   = errors.New("the store's schema does not fit this version of meanwhile")
	ErrNotFound = errors.New("no such job")
	ErrNoWorker = errors.New("no such worker")
)

// An Inserter inserts new jobs: a [Store], or a transaction of the caller's, see the Tx methods of the stores.
type Inserter interface {
	// Insert stores new jobs, all or none: when it has returned nil they are durable, or part of the caller's transaction.
	// For each job, in order, it returns the ID of the job that is stored: its own, or, if its unique key is held, that of the holder. Keys among the
	// jobs themselves count as well: the first job holds it. A job with UniqueWhile whose key is held by a job that is in none of these states takes
	// the key over, and is stored; a holder that was deleted is in none. Otherwise, a job with Replace gives its Args and its time to the holder, if
	// that is queued; with ReplaceWithin that time is at most that long after the holder's Created, or now if that is over, and a holder whose Attempt
	// is not zero stays due at its own time if that is later. The jobs are valid (see New), in state Queued, and due at RunAt, or Delay after the
	// insertion if RunAt is zero. Options never change. Insert does not change the jobs. An ID that is stored already is an error. Args are kept byte
	// for byte.
	//
	// After an error that leaves open whether the jobs were stored, such as a connection that broke at the commit, they
	// may be there.
	Insert(ctx context.Context, jobs ...*Job) ([]ID, error)
}

// A Settler records the outcomes of running jobs: a [Store], or a transaction of the caller's.
type Settler interface {
	// Settle writes jobs that the session holds, in one transaction, or in several if there are many and nothing follows them, as the fields of each
	// Outcome.Job say:
	//
	//   - in state Running: Detail; the job stays held;
	//   - Queued: Detail, Uncounted, MaxAttempts, Queue, Priority; the job is due at RunAt, or after Delay if RunAt is zero;
	//   - Completed, Canceled, Discarded: Detail; the job is finished now, and its unique key is free unless UniqueFor holds it.
	//
	// Kind, Args, Attempt and everything else stay as they are in the store. A job that is not running with the same Attempt and
	// session is left alone, and its ID is among the lost; a lease that ran out does not matter as long as no other worker has
	// claimed the job since. So is a job that is to be Queued although its cancellation was requested (CancelRequested): the session
	// still holds it, and must settle it as Canceled, with what follows that. A job must not be given twice in one call.
	//
	// The Outcome.Throttle of a job that is not lost holds back the lane that the job ran in: for every claim that starts after Settle has returned,
	// jobs of the lane start again when that much time has passed, by the store's clock. If there are several, the one that ends last counts. It
	// applies whatever the limits are, and whatever happens to the job.
	//
	// The Outcome.Units of a job that is not lost are booked on the units of the queue and of the limit key that the job ran with, by the limits that
	// the queue has now, see LaneQueue.Book: for every claim that starts after Settle has returned. Nothing is refused: there may be a debt.
	//
	// When all are written, the jobs that follow them (Outcome.Then) are inserted in the same transaction and in order, as by Insert; those that
	// follow a lost job are not. After an error neither counts; if nothing follows, some outcomes may have been written, whose jobs a second call
	// returns as lost.
	Settle(ctx context.Context, session Session, outcomes ...Outcome) (lost []ID, err error)
}

// A Tx is a transaction of the caller's in the database of a store: what is inserted and settled through it is part of it.
type Tx interface {
	Inserter
	Settler
}

// A Store keeps jobs. It holds no policy: workers decide, the store writes. Its methods may be called by many goroutines,
// of many processes, at once; each is atomic. Time is the store's own, so that the clocks of workers do not matter: where
// a time is compared with now, it is the now of the store. Constants of this package define how much stores keep, and for how long. A store
// is tested with jobtest.TestStore.
//
// Jobs that are due are claimed by priority, the highest first, then by RunAt, then by ID; across workers that claim at
// once the order is approximate. If jobs of the queue have limit keys, those of one priority are claimed in turns, see [TakeTurns]:
// one of each key, where no key counts as a key, and within a key by RunAt, then by ID.
type Store interface {
	WorkerStore
	OperatorStore

	// Ping returns nil when the store answers and its schema is the right one.
	Ping(ctx context.Context) error

	// Close closes the store. Calls that wait return ErrClosed, as do later calls.
	Close() error
}

// A WorkerStore is the half of a store through which jobs are run.
type WorkerStore interface {
	Tx

	// Claim claims due jobs for a session of a worker: their state becomes Running, Attempt grows by one, Started and Worker are set, CancelRequested
	// is cleared, except for those that are Expired. They are returned in the order in which they must be run. A session that is not known, or whose
	// lease has run out, starts, with the lease of c from now; otherwise its lease stays as it is. A claim survives the death of any process; if all
	// workers are on the store's own machine, a claim that is not Durable may be undone when that machine loses power.
	//
	// A claim that returned an error may have claimed jobs nevertheless, which the session holds while it lives. So claims of a session have numbers
	// that grow, and the next claim names the first that was not answered, see Claim.Since.
	Claim(ctx context.Context, c Claim) (Claimed, error)

	// Renew sets the lease of the session of r, and so of all jobs that it holds, to r.Lease from now, and records that the worker is alive. It
	// returns which of r.Jobs the session no longer holds, and all jobs that it holds for which CancelRequested is set. A session that ran out
	// continues, with the jobs that no other worker has claimed since; one that is not known starts.
	//
	// It keeps the Stats of r: a row that was reported before is replaced, unless it had counted more. A row was reported before if Minute, Queue,
	// Kind and the worker are the same, and Run is, or Info.Started if Run is zero: so two processes that use one name one after the other both count,
	// and so do two servers that act for one program. It keeps the Trees of its watched jobs, in place of earlier ones, and leaves out the others.
	Renew(ctx context.Context, r Renewal) (Renewed, error)

	// Leave removes the worker from the list of Workers, with the commands that wait for it, and ends the session: the lease of the jobs that it still
	// holds ends immediately.
	Leave(ctx context.Context, worker string, session Session) error

	// Wait returns when a job may have become due in one of the queues since the last call: soon after an Insert, an
	// Apply, a Tick, or a Settle to Queued without delay, by any process; and when limits may allow more: after SetLimits, and when a
	// job of a queue with limits has stopped running. It returns those of the queues in which this may be so, and all of them if the store
	// does not know. It may return without a reason, and does so from time to time. It need not notice that a delayed job has become due:
	// Claimed.Next is for that. When ctx is canceled, it returns ctx's error.
	Wait(ctx context.Context, queues ...string) (due []string, err error)

	// Tick enqueues a job for a time of a cron: it inserts the job of t and records t.At as the last tick, unless the cron is paused or its last tick
	// is at t.At or later. It reports whether it did; if the unique key is held, the tick counts, with the job that holds it. A job without t.At is an
	// error. Without a job it records the cron: Spec and Next, and Last if there is none yet, which is then the time of the call, or t.At if that is
	// set.
	Tick(ctx context.Context, t Tick) (bool, error)

	// Prune deletes at most limit finished jobs that are older than their retention, the oldest first. A state without a retention is kept, and one in which
	// no job can have finished is ignored. A unique key that UniqueFor still holds stays held. Then it compares some of what it keeps about lanes,
	// see [SweepLanes], with their jobs, and repairs differences. It returns what it did.
	Prune(ctx context.Context, retention map[State]time.Duration, limit int) (Pruned, error)
}

// An InsertClaimer is a store that inserts and claims in one transaction, for callers who insert jobs that a worker waits for: it saves a
// commit.
type InsertClaimer interface {
	// InsertAndClaim is Insert, and then Claim, which may take what was inserted. After an error neither counts, unless the error leaves open
	// what was written, as with either call.
	InsertAndClaim(ctx context.Context, jobs []*Job, c Claim) ([]ID, Claimed, error)
}

// An OperatorStore is the half of a store through which jobs, queues and workers are inspected and changed from outside: by the command,
// the API, the dashboard. Workers also read their queues and crons through it.
type OperatorStore interface {
	Inserter

	// List returns jobs by ID, newest first, at most f.Limit, with all their fields. A filter on args or error text is a hint: the store may
	// return jobs that do not match it, but leaves out none that match, see [Filter].
	List(ctx context.Context, f Filter) ([]*Job, error)

	// Counts returns how many jobs there are by queue, kind and state, without counting them one by one; combinations without
	// jobs are left out. It is exact when nothing is being written.
	Counts(ctx context.Context) ([]Count, error)

	// Apply applies an action to the newest f.Limit jobs that match the filter, or to all of them if they are fewer, in few transactions and
	// without sending them anywhere; if it fails, some of the jobs may have changed, and the result counts those that it knows of. For these jobs:
	//
	//   - one whose state is not among action.From is left alone, and counted as skipped;
	//   - one that is to be deleted is deleted, with its unique key if it holds it;
	//   - a running one stays so, and CancelRequested is set;
	//   - a queued one gets Queue, Priority and the time of the action, as far as they are set, and finishes if To is a final state:
	//     its unique key is then free, unless UniqueFor holds it;
	//   - a finished one that becomes queued gets its unique key back; if another job holds that key, it is left alone, and counted
	//     as a conflict. If action.Due is set it has all its attempts again: Uncounted is Attempt, and Released zero.
	//
	// Everything else stays as it is. Next is the ID of the last of these jobs if there were f.Limit. A job that is changed
	// concurrently is acted on as it is then, or left alone if it no longer matches. The filter has neither Args nor Error.
	Apply(ctx context.Context, f Filter, action Action) (ActionResult, error)

	// Queues returns every queue that has unfinished jobs or is paused, by name.
	Queues(ctx context.Context) ([]QueueInfo, error)

	// Pause stops every worker from claiming jobs of a queue, or resumes it: jobs of the queue that were throttled then start again,
	// too.
	Pause(ctx context.Context, queue string, paused bool) error

	// SetLimits replaces the limits of a queue; zero Limits remove them. They apply to every claim that begins after SetLimits has returned: a due
	// job is claimed only while fewer than Running of its queue run, and fewer than EachKey.Running with its LimitKey, and as fast as the rates
	// allow, by the store's clock: a rate of Units lets a job start while any unit is left, and counts its Cost. A key whose jobs may not start holds
	// up no other key. With EachKey.InOrder a job with a LimitKey is claimed only while no other with the key runs, and no queued one was created
	// before it or, at the same instant, has a lower ID. With EachKey.HoldOnDiscard a job is also not claimed while there is a job with the key that
	// was created before it and has been discarded since HoldOnDiscard was set. A job counts as running from its claim until it is settled or
	// deleted, even if its lease has run out: claiming it then takes no slot, no start and no units. Running jobs continue even if there are more
	// than the new limits allow. A new rate begins with its whole burst. SetLimits returns the error of CheckLimits.
	SetLimits(ctx context.Context, queue string, l Limits) error

	// SetKeyLimits replaces the limits of one key of a queue. They apply instead of Limits.EachKey, whether that is set or not; zero KeyLimits
	// remove them. They take effect as those of SetLimits do, which leaves them as they are. Limits of which only Weight is set bound nothing. Up
	// to MaxOverrides keys of a queue may have limits; for one more the error is ErrOverrides. Otherwise it returns the error of CheckKeyLimits.
	SetKeyLimits(ctx context.Context, queue, key string, l KeyLimits) error

	// Overrides returns the limits of single keys of a queue, by key, at most n: those whose key comes after a given one, byte by byte.
	Overrides(ctx context.Context, queue, after string, n int) ([]Override, error)

	// Limits returns the limits of a queue, and how far they are used by the queue and by its keys: one LimitUse for each of the given keys, in
	// their order, all as they are at one time. For the key "", which means no key, it describes the queue alone. For more than MaxUses keys it
	// returns the error of CheckUses.
	Limits(ctx context.Context, queue string, keys ...string) ([]LimitUse, error)

	// Workers returns the workers that have called Renew and not Leave, by name: all, or those of the given names. Those not seen for a
	// day are removed by Prune.
	Workers(ctx context.Context, names ...string) ([]WorkerInfo, error)

	// SendCommand sends a command to a worker of the list of Workers; for any other the error is ErrNoWorker. The command waits until the worker's
	// next Renew, which returns it, with others in the order in which they were sent, and removes it: if the answer is lost, so is the command. A
	// command that was not fetched for a minute is dropped. If 100 commands wait for the worker, it is an error.
	SendCommand(ctx context.Context, worker string, o Command) error

	// Watch returns the last tree that the worker reported for the running attempt, and asks the worker for more: until d from
	// now, at most a minute, the job is among the Watched of its worker, even if it is claimed only then. A tree is kept only as
	// long as its job is watched. The Tree is zero as long as there is none, and for a job that does not run; for a job that does
	// not exist the error is ErrNotFound.
	Watch(ctx context.Context, id ID, d time.Duration) (Tree, error)

	// Stats returns the rows that match, the oldest Minute first, and those of one minute in any order: for each worker, queue and kind and each
	// minute of the last two hours, StatsKept, and before that for each queue and kind and each StatsSpan. Prune adds up the rows of older minutes,
	// with MergeStats and including the row that is there already; a call does so for at least the oldest span. It removes rows of spans that began
	// longer ago than StatsPast.
	Stats(ctx context.Context, f StatsFilter) ([]Stat, error)

	// Crons returns the crons that workers have reported, by name. Those not reported for 30 days are removed by Prune.
	Crons(ctx context.Context) ([]CronInfo, error)

	// PauseCron stops the ticks of a cron, or resumes them; it returns an error for a cron that was never reported. A cron that is resumed skips the
	// ticks of its pause, whichever worker has it then: Last is the time of the call, unless it is later.
	PauseCron(ctx context.Context, name string, paused bool) error

	// Audit appends entries to the audit log, all or none, in order. The store sets N, which grows, and Time if it is zero. It keeps the
	// newest MostAudited entries; Prune removes those whose Time is longer ago than AuditKept.
	Audit(ctx context.Context, entries ...AuditEntry) error

	// Audited returns the newest entries whose N is below before, at most limit of them, the newest first. If before is zero there is no
	// bound.
	Audited(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
}

// A Claim asks for jobs.
type Claim struct {
	Worker  string
	Session Session
	Queues  []QueueLimit // in order: due jobs of the first are claimed before the second is checked. A queue named twice counts once
	Limit   int          // the maximum number of jobs in all
	Lease   time.Duration
	// Call numbers the claims of a session, in the order in which they are made, one after the other; zero if the session claims once.
	Call int64
	// Since, if it is not zero, is the first of the earlier calls that was not answered. Jobs that such calls claimed and the session still holds are
	// returned, before all others and even beyond Limit, and such a call that the store receives only now, or still works on, claims nothing. Because
	// it is unknown when such calls started the lease, the lease is set as by Renew. Since may be the number of the claim itself, if a Renew was not
	// answered.
	Since int64
	// Kinds are those that the worker can run; nil is all. Jobs of other kinds are left to other workers, even if they are
	// Expired.
	Kinds []string
	// Durable makes the claim survive what every other write survives, including a power failure, which may take
	// longer.
	Durable bool
	// Expired claims jobs whose lease has run out as well, before others: Crashed grows by one, RunAt and CancelRequested stay. Their worker is in
	// Claimed.Expired.
	Expired bool
}

// A QueueLimit is how many jobs to claim from a queue.
type QueueLimit struct {
	Queue string
	Limit int
}

// Claimed is the answer to a Claim.
type Claimed struct {
	Jobs []*Job
	// Expired maps jobs that were claimed because their lease had run out to the worker that had held them. It does not include jobs that are returned
	// for Since.
	Expired map[ID]string
	// Next is how long from now the first job of these queues becomes due, when fewer than Limit were, or may start as far as the rates of limits are
	// concerned: the time to claim again if Wait does not return earlier. Zero when there is none. Paused queues and limits of zero are left out; jobs
	// of kinds that were not asked for count.
	Next time.Duration
}

// A Renewal renews the lease of a worker, and carries what the worker reports.
type Renewal struct {
	Worker  string
	Session Session
	Lease   time.Duration
	Jobs    []ID       // that the worker believes it holds, or some of them: it asks which are lost
	Drop    []ID       // jobs that it holds and gives up: their lease ends now
	Info    WorkerInfo // to be listed; Name and Seen are set by the store
	Stats   []Stat     // of this worker, each whole; no row twice
	Run     time.Time  // when the counting of the Stats began; zero means Info.Started
	Trees   []Tree     // of jobs that it holds; no job twice. At is set by the store
}

// Renewed is the answer to a Renewal.
type Renewed struct {
	Lost     []ID
	Canceled []ID
	Now      time.Time // by the store's clock
	Watched  []ID      // the first 100 by ID of all jobs that the session holds and somebody watches
	Commands []Command
}

// A WorkerInfo describes a worker.
type WorkerInfo struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`          // of the program's main module, or a description of a program that does not use this module
	Labels      []string  `json:"labels,omitempty"` // that such a program gives itself
	Started     time.Time `json:"started"`
	Queues      []string  `json:"queues"`
	Kinds       []string  `json:"kinds"`       // that it handles; nil means any, as for a program that does not say
	Concurrency int       `json:"concurrency"` // zero if it is not known: a program that only claims does not report it, nor Running
	Running     int       `json:"running"`
	Memory      uint64    `json:"memory"` // bytes in use by the process
	Crons       []string  `json:"crons,omitempty"`
	Quiet       bool      `json:"quiet,omitempty"` // it claims no more, see CommandQuiet
	Stopping    bool      `json:"stopping,omitempty"`
	Seen        time.Time `json:"seen"` // by the store's clock
	// Waits is where the time of its jobs went, by kind, the one with the most time first: at most ten kinds with five waits each,
	// of up to 120 bytes. It is empty while the process runs no inspect.Watch.
	Waits []KindWaits `json:"waits,omitempty"`
}

// Gone reports whether a worker was not seen for 30 seconds, the default lease: its process has probably died, or cannot reach the store. Other workers
// claim its jobs when their leases are over. The time is that of the store's clock.
func (w *WorkerInfo) Gone(now time.Time) bool { return now.Sub(w.Seen) > defaultLease }

// Handles reports whether a worker runs jobs of a kind.
func (w *WorkerInfo) Handles(kind string) bool {
	return w.Kinds == nil || slices.Contains(w.Kinds, kind)
}

// A Count is a number of jobs that have queue, kind and state in common. The state is a stored one, not a view.
type Count struct {
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	State State  `json:"state"`
	N     int64  `json:"n"`
}

// A QueueInfo describes a queue.
type QueueInfo struct {
	Name    string        `json:"name"`
	Paused  bool          `json:"paused"`
	Queued  int64         `json:"queued"`
	Running int64         `json:"running"`
	Wait    time.Duration `json:"wait"` // how long the job that has been due longest has been due; zero if none is
}

// A Tick is a time at which a cron enqueues a job.
type Tick struct {
	Cron string
	Spec string // with the time zone, as CronInfo shows it
	At   time.Time
	Next time.Time // the one after At
	Job  *Job
}

// A CronInfo describes a cron.
type CronInfo struct {
	Name   string    `json:"name"`
	Spec   string    `json:"spec"`
	Last   time.Time `json:"last"` // the last tick, or when it was first reported, or resumed since
	Next   time.Time `json:"next"`
	Paused bool      `json:"paused"`
	Job    ID        `json:"job,omitzero"` // that the last tick enqueued, or that had its unique key
	Noted  time.Time `json:"noted"`        // when a worker reported it last, by the store's clock
}
