package jobtest

import "slices"

// A Relaxation names a part of the contract that a store keeps only for some of its jobs. Such a store consists of several, see
// [job.Join]. [TestStore] skips the tests of that part. The guarantees that the store gives instead need tests of their own.
type Relaxation string

// The relaxations.
const (
	// OrderInParts: the order by priority, due time and turn, the order of queues and the order of pruning hold among the jobs of
	// each part of the store.
	OrderInParts Relaxation = "the order of jobs holds in each part of the store"
	// CallsInParts: the jobs of an Insert, and the outcomes of a Settle, are all or none in each part; an ID that exists already is detected
	// within its part.
	CallsInParts Relaxation = "calls are all or none in each part of the store"
	// UniqueInParts: the jobs that follow a job, and the job of a tick, are in the same part as that job, or cron, and their
	// unique keys hold there.
	UniqueInParts Relaxation = "unique keys of what follows a job, or a tick, hold in each part of the store"
	// LimitsFirst: limits apply to jobs that are inserted after the limits were set.
	LimitsFirst Relaxation = "limits bound the jobs that are inserted after they were set"
	// ThrottleInParts: a throttled job without a limit key holds back the jobs of its queue in its part only.
	ThrottleInParts Relaxation = "a throttled queue is held back in one part of the store"
	// SessionsInParts: the first claim in each part starts the session there, with its lease.
	SessionsInParts Relaxation = "a session begins in each part of the store"
)

// relaxed has the tests that each relaxation skips.
var relaxed = map[Relaxation][]string{
	OrderInParts: {
		"a durable claim takes what is due",
		"a higher priority is claimed first",
		"of one priority what is due longer is claimed first",
		"of one time what is older is claimed first",
		"queues are taken from in order",
		"a claim keeps to its limits",
		"jobs with expired leases come first, and within the limits",
		"what a claim without an answer has taken is given again",
		"keys take turns, and one that waits alone gets all",
		"a job of a higher priority is claimed before the turns of others",
		"prune deletes the oldest first, and at most so many",
	},
	CallsInParts: {
		"insert is all or none",
		"insert refuses what is stored, in each state",
		"an insert that fails spoils none at the same time",
		"an outcome is not written without what follows",
	},
	UniqueInParts: {
		"of what follows, a job whose unique key is held is left out",
		"a tick whose unique key is held counts, and has the job that holds it",
	},
	LimitsFirst: {
		"limits are raised, lowered and removed at once",
		"limits that are set beside claims count what those take",
		"after random actions what runs is what the limits allow",
		"after random actions no job in order runs that a discarded one holds, and all others do",
	},
	ThrottleInParts: {
		"a throttled job without a key holds back its queue",
		"what was throttled starts again when the time is over",
		"what is throttled for longer counts, and limits change nothing of it",
		"whatever becomes of a throttled job, others are held back, unless it is lost",
	},
	SessionsInParts: {
		"a claim leaves the lease of a session that is under way as it is",
	},
}

// leftOut returns the first relaxation in by that skips a promise, or "".
func leftOut(p promise, by []Relaxation) Relaxation {
	for _, r := range by {
		if slices.Contains(relaxed[r], p.name) {
			return r
		}
	}
	return ""
}
