package job

import (
	"fmt"
	"time"
)

// Pruned reports what a call of Store.Prune did.
type Pruned struct {
	Deleted  int          // jobs
	Repaired []LaneRepair // lanes that did not match their jobs
}

// A LaneRepair describes a lane, which is a queue and a limit key, that did not match its jobs, and was repaired. The cause is a defect of a store,
// or somebody who changed its tables by hand.
type LaneRepair struct {
	Queue string
	Key   string // "" is the queue itself
	Wrong string // what was wrong
}

// How many lanes a call of Store.Prune compares: SweepSteps times SweepLanes at most, each step in a transaction of its own, so that no claim waits
// long. The next call of the same Store continues where it stopped.
const (
	SweepLanes = 200
	SweepSteps = 20
)

// A LaneHint is what a store remembers of a lane from one claim to the next: the priority at which it is open, and when to check it again.
type LaneHint struct {
	None     bool // nothing is kept
	Priority int  // 0 while none of its jobs may start
	Wake     time.Time
}

// Wrong describes how the hint of a lane, which has not changed since the hint was written, differs from want, the hint that would be written now;
// "" if it does not. A hint by which the lane is checked earlier than necessary is correct.
func (h LaneHint) Wrong(want LaneHint) string {
	switch {
	case h.None && want.None:
		return ""
	case h.None:
		return "it had no entry"
	case want.None:
		return "it had an entry without jobs"
	case h.Priority != want.Priority:
		return fmt.Sprintf("its priority was %d instead of %d", h.Priority, want.Priority)
	case !want.Wake.IsZero() && (h.Wake.IsZero() || h.Wake.After(want.Wake)):
		return "its next check was too late"
	}
	return ""
}
