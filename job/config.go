package job

import (
	"log/slog"
	"time"
)

// A Config configures a worker. The zero value is ready to use.
type Config struct {
	// Queues are the queues to claim from, at most 1,000. The default is the queues that the kinds of the handlers name, and DefaultQueue, sorted by
	// name. Without weights the order is strict: due jobs of the first queue run before the second is checked. If any queue has a weight, the queues
	// are checked in random order: a queue of weight 3 comes first three times as often as one of weight 1, and queues without a weight come last.
	Queues []QueueConfig

	Concurrency int // how many jobs run at once, up to a million; default 100. Each is a task: thousands are fine
	// Lease is how long a job stays with a worker that does not renew its lease. Workers renew it every second, or every sixth of it if that is more
	// often. A job of a process that died is run again when its lease is over. Default 30 s, at least 100 ms.
	Lease time.Duration
	// Poll bounds how long a due job can go unnoticed if the store's notification is lost. Default 1 s.
	Poll time.Duration
	// Grace is how long running jobs may continue when the worker stops. Jobs that have not ended by then are canceled with ErrStopping, given
	// GraceAfterCancel to return, and released to their queue. Default 5 s, which together with GraceAfterCancel is within the default grace of
	// process.Main; less than zero means none.
	Grace time.Duration

	Crons []Cron // for which this worker enqueues jobs, at most 1,000

	// Retention is how long finished jobs are kept, by state; less than zero means forever, and so does a state that is left out. The default, if it
	// is nil: completed jobs a day, canceled ones 7 days, discarded ones 30 days.
	Retention map[State]time.Duration

	Middleware []Middleware // around every handler, the first outermost
	Observe    func(Event)  // called with each event, by many goroutines at once, which wait until it returns; default none
	Logger     *slog.Logger // for failed attempts, discarded jobs and errors of the store; default slog.Default()
	Name       string       // unique among all workers, at most 255 bytes; default host, process ID and a random part
}

// A QueueConfig is a queue that a worker works on.
type QueueConfig struct {
	Name        string
	Concurrency int // how many of its jobs run at once in this worker; default as many as the worker's
	Weight      int // see Config.Queues
}

// GraceAfterCancel is how long a handler has to return after it was canceled because its worker stopped.
const GraceAfterCancel = time.Second
