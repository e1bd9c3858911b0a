package job

import "time"

// An Event describes what happened in a worker, see Config.Observe.
type Event struct {
	Kind    EventKind
	Worker  string
	Job     *Job          // as it is now; must not be changed or kept. Nil for events about the worker
	Err     error         // why it failed, was canceled, or is no longer held; what went wrong with the store
	Elapsed time.Duration // of the attempt
	Wait    time.Duration // of a started job: since it was due
	Delay   time.Duration // of a retried or snoozed job: until it is due again
	// Throttle is for how long the other jobs of its limit key, or of its queue, are held back, see [Throttled].
	Throttle time.Duration
	Then     []*Job      // of a completed job: its follow-up jobs, see [Then]
	N        int         // of StoreFailed: how many failures in a row
	Call     string      // the call of the store that failed: claim, settle or renew
	Cron     string      // that ticked
	Repair   *LaneRepair // of LaneRepaired
}

// An EventKind is the kind of an Event.
type EventKind uint8

const (
	JobStarted   EventKind = iota + 1 // an attempt starts
	JobCompleted                      // this, and those up to JobLost: how an attempt ended
	JobRetried
	JobSnoozed
	JobCanceled
	JobDiscarded
	JobReleased // the worker stopped before the attempt had ended
	JobLost     // the lease was lost, or the job deleted: whatever the handler returned does not count
	CronTicked  // a cron enqueued a job
	StoreFailed
	StoreRecovered
	LaneRepaired // what the store keeps for a limit key did not match its jobs, see [Pruned]
)

var eventKinds = [...]string{
	JobStarted: "started", JobCompleted: "completed", JobRetried: "retried", JobSnoozed: "snoozed", JobCanceled: "canceled",
	JobDiscarded: "discarded", JobReleased: "released", JobLost: "lost", CronTicked: "cron ticked",
	StoreFailed: "store failed", StoreRecovered: "store recovered",
	LaneRepaired: "lane repaired",
}

// String names the kind.
func (k EventKind) String() string {
	if int(k) < len(eventKinds) && eventKinds[k] != "" {
		return eventKinds[k]
	}
	return "unknown"
}
