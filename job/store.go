package job

import (
	"context"
	"errors"
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

// An Inserter takes new jobs: a [Store], or a transaction of the caller's, see the Tx methods of the stores.
type Inserter interface {
	// Insert stores new jobs, all or none: when it has returned nil they are durable, or part of the caller's transaction.
	// It returns for each, in order, the ID of the job that is stored: its own, or, when its unique key is held, that of
	// the holder. Keys among the jobs themselves count as well, the first has it. A job with UniqueWhile whose key is held by one
	// that is in none of these states takes the key over, and is stored; a holder that was deleted is in none. Otherwise, one with
	// Replace gives its Args and its time to the holder, if that is queued. The jobs are valid (see New), in state
	// Queued, and due at RunAt, or Delay after the insertion when RunAt is zero. Options stay as they are for ever. Insert does not change them. An ID that is
	// there already is an error. Args are kept byte for byte.
	//
	// After an error that leaves open whether the jobs were stored, such as a connection that broke at the commit, they
	// may be there.
	Insert(ctx context.Context, jobs ...*Job) ([]ID, error)
}

// A Settler records what became of running jobs: a [Store], or a transaction of the caller's.
type Settler interface {
	// Settle writes jobs that worker holds, in one transaction, as their fields say:
	//
	//   - in state Running: Detail; the job stays held;
	//   - Queued: Detail, Spared, MaxAttempts, Queue, Priority; the job is due at RunAt, or after Delay when RunAt is zero. One
	//     that is to be canceled by now (CancelRequested) is finished as Canceled instead;
	//   - Completed, Canceled, Discarded: Detail; the job is finished now, and its unique key free unless UniqueFor holds it.
	//
	// Kind, Args, Attempt and all else stay as they are in the store. A job that is not running with the same Attempt and
	// worker is left alone, and its ID is among the lost; a lease that ran out does not matter as long as nobody has claimed
	// the job since. No job is given twice in one call.
	Settle(ctx context.Context, worker string, jobs ...*Job) (lost []ID, err error)
}

// A Tx is a transaction of the caller's in the database of a store: what is inserted and settled through it is part of it.
type Tx interface {
	Inserter
	Settler
}

// A Store keeps jobs. It holds no policy: workers decide, the store writes. Its methods may be called by many goroutines,
// of many processes, at once; each is atomic. Time is the store's own, so that the clocks of workers do not matter: where
// a time is compared with now, it is the now of the store. A store is tested by jobtest.TestStore.
//
// Jobs that are due are claimed by priority, the highest first, then by RunAt, then by ID; across workers that claim at
// once the order is approximate.
type Store interface {
	Tx

	// Claim takes due jobs for a worker: their state becomes Running, Attempt grows by one, Started and Worker are set,
	// CancelRequested is cleared, but for those that are Expired. They are returned in the order in which they are to be run. A
	// claim survives the death of any process; where all workers are on the store's own machine, one that is not Durable may be
	// undone when that loses power.
	Claim(ctx context.Context, c Claim) (Claimed, error)

	// Renew sets the leases of the jobs of r that its worker holds to r.Lease from now, and notes the worker as alive. It
	// returns which of them the worker does not hold any more, and those of all jobs that the worker holds for which
	// CancelRequested is set. A lease that ran out is renewed when nobody has claimed the job since.
	//
	// It keeps the Stats of r: a row that was told before is replaced, unless it had counted more. A row is told before when
	// Minute, Queue, Kind and the worker are the same, and Info.Started is, so that two processes which have one name after
	// each other both count. It keeps the Trees of those of its jobs that are watched, in place of the ones before, and
	// leaves out the others.
	Renew(ctx context.Context, r Renewal) (Renewed, error)

	// Leave removes the worker from the list of Workers, with the orders that wait for it. Jobs that it holds stay as they
	// are.
	Leave(ctx context.Context, worker string) error

	// Watch returns the last tree that the worker told of the attempt that runs, and asks it for more: until d from now,
	// which is a minute if it is more, the job is among the Watched of its worker, also when it is claimed only then. A tree
	// is kept only as long as its job is watched. The Tree is zero as long as there is none, and for a job that does not run;
	// for one that does not exist the error is ErrNotFound.
	Watch(ctx context.Context, id ID, d time.Duration) (Tree, error)

	// Order leaves word for a worker of the list of Workers; for another the error is ErrNoWorker. Its next Renew returns it,
	// with others in the order in which they were left, and that is the end of it: when the answer is lost, so is the order.
	// One that was not fetched for a minute is dropped. When 100 wait for the worker, it is an error.
	Order(ctx context.Context, worker string, o Order) error

	// Stats returns the rows of all workers for minutes that begin at since or later, by Minute, Worker, Queue and Kind. Prune
	// removes those that are older than two hours.
	Stats(ctx context.Context, since time.Time) ([]Stat, error)

	// Wait returns nil when a job may have become due in one of the queues since the last call: soon after an Insert, a
	// Change, a Tick, or a Settle to Queued without delay, by any process. It may return without a cause, and does so now and
	// then. It need not notice that the time of a delayed job has come: Claimed.Next is for that. When ctx is canceled, it returns
	// ctx's error.
	Wait(ctx context.Context, queues ...string) error

	// Change lets decide say what is to happen to each of the jobs, those that do not exist left out, at most a few
	// hundred at once, each exactly once, under a lock and atomically with the writing of its decision. decide must be
	// quick, and not use the store. After Write, State, Queue, Priority, RunAt (or Delay), Spared, MaxAttempts,
	// CancelRequested and Detail are written as they are then; for a job that stays Running only CancelRequested is, and
	// a Running job must stay so. A finished job that becomes Queued or stays out of it keeps its unique key only if
	// nobody holds it: a job that would be queued with a key that is taken is left alone, and its ID is among conflicts.
	// Remove deletes the job, with its unique key if it holds it; a running one counts as lost for its worker.
	Change(ctx context.Context, ids []ID, decide func(*Job) Decision) (conflicts []ID, err error)

	// List returns jobs by ID, newest first, at most f.Limit, with all their fields. A filter on args or error text is a hint: the store may
	// return jobs that do not match it, but leaves none out that does, see [Filter].
	List(ctx context.Context, f Filter) ([]*Job, error)

	// Counts returns how many jobs there are by queue, kind and state, without counting them one by one: those with none
	// are left out. It is exact when nothing is being written.
	Counts(ctx context.Context) ([]Count, error)

	// Queues returns every queue that has unfinished jobs or is paused, by name.
	Queues(ctx context.Context) ([]QueueInfo, error)

	// Pause stops the claiming of jobs of a queue, by every worker, or lets it go on.
	Pause(ctx context.Context, queue string, paused bool) error

	// Workers returns the workers that have called Renew and not Leave, by name. Those not seen for a day are removed by Prune.
	Workers(ctx context.Context) ([]WorkerInfo, error)

	// Tick enqueues a job for a time of a cron: it inserts the job of t and notes t.At as the last tick, unless the cron
	// is paused or its last tick is at t.At or later. It reports whether it did; a unique key that is held makes the tick count
	// without a job. Without a job it notes the cron: Spec and Next, and Last where there is none yet, which is then the
	// time of the call or t.At if that is set.
	Tick(ctx context.Context, t Tick) (bool, error)

	// Crons returns the crons that were ever noted, by name. Those not noted for 30 days are removed by Prune.
	Crons(ctx context.Context) ([]CronInfo, error)

	// PauseCron stops the ticks of a cron, or lets them go on; it returns an error for one that was never noted.
	PauseCron(ctx context.Context, name string, paused bool) error

	// Prune deletes at most limit finished jobs that are older than their retention, the oldest first, and returns how
	// many it deleted. A state without a retention is kept. A unique key that UniqueFor still holds stays held.
	Prune(ctx context.Context, retention map[State]time.Duration, limit int) (int, error)

	// Ping returns nil when the store answers and its schema is the right one.
	Ping(ctx context.Context) error

	// Close ends the use of the store. Calls that wait return ErrClosed, as do later ones.
	Close() error
}

// A Claim asks for jobs.
type Claim struct {
	Worker string
	Queues []QueueLimit // in order: what is due in the first is taken before the second is looked at
	Limit  int          // at most so many jobs in all
	Lease  time.Duration
	// Kinds are those that the worker can run; nil is all. Jobs of other kinds are left to others, also those that are Expired.
	Kinds []string
	// Durable makes the claim survive what every write does, a loss of power too, which may take longer.
	Durable bool
	// Expired takes jobs whose lease has run out as well, before others: Died grows by one, RunAt and CancelRequested stay. Their
	// worker is in Claimed.Expired.
	Expired bool
}

// A QueueLimit is how many jobs to take from a queue.
type QueueLimit struct {
	Queue string
	Limit int
}

// Claimed is the answer to a Claim.
type Claimed struct {
	Jobs []*Job
	// Expired gives, for jobs taken because their lease had run out, the worker that had held them.
	Expired map[ID]string
	// Next is how long from now the first job of these queues becomes due, when fewer than Limit were: the time to claim
	// again if Wait says nothing. Zero when there is none. Paused queues and limits of zero are left out; jobs of
	// kinds that were not asked for count.
	Next time.Duration
}

// A Renewal is a worker's word that it lives, and what else it has to tell.
type Renewal struct {
	Worker string
	Lease  time.Duration
	Jobs   []ID
	Info   WorkerInfo // as it is to be listed; Name and Seen are set by the store
	Stats  []Stat     // of this worker, each whole; no row twice
	Trees  []Tree     // of jobs that it holds; no job twice. At is set by the store
}

// Renewed is the answer to a Renewal.
type Renewed struct {
	Lost     []ID
	Canceled []ID
	Now      time.Time // by the store's clock
	Watched  []ID      // the first 100 by ID of all jobs that the worker holds and somebody watches
	Orders   []Order
}

// A WorkerInfo tells who a worker is.
type WorkerInfo struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Version     string    `json:"version"`
	Started     time.Time `json:"started"`
	Queues      []string  `json:"queues"`
	Kinds       []string  `json:"kinds"`
	Concurrency int       `json:"concurrency"`
	Running     int       `json:"running"`
	Memory      uint64    `json:"memory"` // bytes in use by the process
	Crons       []string  `json:"crons,omitempty"`
	Quiet       bool      `json:"quiet,omitempty"` // it claims no more, see OrderQuiet
	Stopping    bool      `json:"stopping,omitempty"`
	Seen        time.Time `json:"seen"` // by the store's clock
	// Waits says where the time of its jobs went, by kind, the one with the most time first: at most ten kinds with five waits each,
	// of up to 120 bytes. It is empty while the process runs no inspect.Watch.
	Waits []KindWaits `json:"waits,omitempty"`
}

// A Decision is what Change does with a job.
type Decision int

const (
	Leave  Decision = iota // as it is
	Write                  // as the fields are now
	Remove                 // delete it
)

// A Count is a number of jobs that have queue, kind and state in common. The state is a stored one, not a view.
type Count struct {
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	State State  `json:"state"`
	N     int64  `json:"n"`
}

// A QueueInfo tells about a queue.
type QueueInfo struct {
	Name    string        `json:"name"`
	Paused  bool          `json:"paused"`
	Queued  int64         `json:"queued"`
	Running int64         `json:"running"`
	Wait    time.Duration `json:"wait"` // since when the job that is due the longest is due; zero when none is
}

// A Tick is a time at which a cron enqueues a job.
type Tick struct {
	Cron string
	Spec string // with the time zone, as CronInfo shows it
	At   time.Time
	Next time.Time // the one after At
	Job  *Job
}

// A CronInfo tells about a cron.
type CronInfo struct {
	Name   string    `json:"name"`
	Spec   string    `json:"spec"`
	Last   time.Time `json:"last"` // the last tick, or when it was first noted
	Next   time.Time `json:"next"`
	Paused bool      `json:"paused"`
	Job    ID        `json:"job,omitzero"` // of the last tick
	Noted  time.Time `json:"noted"`        // when a worker spoke of it last, by the store's clock
}
