package job

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// An Action is a change that is made to jobs from outside, see [Apply]. It is data, so that a store applies it to many jobs in
// one statement: each job in one of the states From gets what the other fields say, and jobs in other states are skipped.
type Action struct {
	name  string
	check error // of its argument

	From []State // stored ones
	// To is the state that a job gets; "" deletes it. A running job that is to be Canceled keeps its state, and its worker is asked to
	// cancel it.
	To       State
	Queue    string // the queue it moves to; "" leaves it where it is
	Priority int    // the new priority; zero leaves it unchanged
	// Due makes it due at RunAt, or now when that is zero. With Due, a finished job that becomes queued has all its attempts again;
	// without Due, it continues as it was: at its own time, with the attempts that it has left.
	Due   bool
	RunAt time.Time // with Due
}

// String names the action.
func (a Action) String() string { return a.name }

// Check returns an error if the action or its argument is invalid. Apply refuses such an action, in every store.
func (a Action) Check() error {
	switch {
	case a.check != nil:
		return a.check
	case a.To != "" && a.To != Queued && !a.To.Finished():
		return fmt.Errorf("no action leads to the state %.40q", a.To)
	case a.Priority != 0 && checkPriority(a.Priority) != nil:
		return checkPriority(a.Priority)
	case a.Queue != "" && checkName("queue", a.Queue) != nil:
		return checkName("queue", a.Queue)
	}
	return checkTime(a.RunAt)
}

// Suits reports whether the action makes sense for jobs in a state or view. Apply skips other jobs.
func (a Action) Suits(s State) bool { return slices.Contains(a.From, s.stored()) }

// Actions without an argument. An action skips jobs in a state where it makes no sense.
var (
	// ActionRetry makes a queued job due now, and runs a finished one again, with all its attempts.
	ActionRetry = Action{name: "retry", From: []State{Queued, Completed, Canceled, Discarded}, To: Queued, Due: true}

	// ActionCancel cancels a queued job, and asks the worker of a running one to cancel it, which it does within about a second.
	ActionCancel = Action{name: "cancel", From: []State{Queued, Running}, To: Canceled}

	// ActionDiscard discards a queued job.
	ActionDiscard = Action{name: "discard", From: []State{Queued}, To: Discarded}

	// ActionRestore queues a canceled or discarded job as it was when it was last queued: due at the same time, with the attempts that it
	// had left. It undoes ActionCancel and ActionDiscard of a queued job.
	ActionRestore = Action{name: "restore", From: []State{Canceled, Discarded}, To: Queued}

	// ActionDelete deletes a job that is not running.
	ActionDelete = Action{name: "delete", From: []State{Queued, Completed, Canceled, Discarded}}
)

// ActionMove moves a queued job to another queue.
func ActionMove(queue string) Action {
	return Action{name: "move", check: checkName("queue", queue), From: []State{Queued}, To: Queued, Queue: queue}
}

// ActionPriority changes the priority of a queued job.
func ActionPriority(p int) Action {
	return Action{name: "reprioritise", check: checkPriority(p), From: []State{Queued}, To: Queued, Priority: p}
}

// ActionRunAt changes when a queued job is due.
func ActionRunAt(t time.Time) Action {
	return Action{name: "schedule", check: checkTime(t), From: []State{Queued}, To: Queued, Due: true, RunAt: t}
}

// An ActionResult reports what Apply did.
type ActionResult struct {
	Changed   int `json:"changed"`
	Skipped   int `json:"skipped"`   // jobs in a state where the action makes no sense
	Conflicts int `json:"conflicts"` // jobs that cannot be queued again because their unique key is taken
	// Next is the Before of a filter to continue with. It is zero when every matching job has had its turn.
	Next ID `json:"-"`
}

func (a *ActionResult) add(more ActionResult) {
	a.Changed += more.Changed
	a.Skipped += more.Skipped
	a.Conflicts += more.Conflicts
	a.Next = more.Next
}

// applyPart is how many jobs a store changes at once: enough that a million take seconds, and few enough that other writers of a
// SQLite file wait for some dozens of milliseconds only.
const applyPart = 1000

// Apply applies an action to every job that matches the filter, the newest first, at most f.Limit of them if that is set. The store does
// so for up to a thousand jobs at a time, each time atomically, and without sending the jobs; a job that no longer matches when its turn
// comes is left alone. On an error, Apply returns what was done before it, and how to continue.
//
// A filter with Args or Error makes Apply read and compare the jobs itself, a few hundred at a time.
func Apply(ctx context.Context, s Store, f Filter, action Action) (ActionResult, error) {
	done := ActionResult{Next: f.Before}
	if err := action.Check(); err != nil {
		return done, fmt.Errorf("%s: %w", action, err)
	}
	defer finishedHere(s, nil)
	apply, most := Store.Apply, applyPart
	if !f.exact() {
		apply, most = applyListed, listPage
	}
	limited := f.Limit > 0
	for left := f.Limit; ; {
		if f.Limit = most; limited {
			f.Limit = min(left, most)
			left -= f.Limit
		}
		part, err := apply(s, ctx, f, action)
		if err != nil {
			part.Next = f.Before // to continue is to do this part again
			done.add(part)
			return done, fmt.Errorf("%s jobs: %w", action, err)
		}
		done.add(part)
		if f.Before = part.Next; f.Before == (ID{}) || limited && left == 0 {
			return done, nil
		}
	}
}

// applyListed is Store.Apply for a filter of which only List knows what matches it.
func applyListed(s Store, ctx context.Context, f Filter, action Action) (part ActionResult, err error) {
	var found []ID
	for j, err := range List(ctx, s, f) {
		if err != nil {
			return part, err
		}
		found = append(found, j.ID)
	}
	if len(found) > 0 {
		part, err = s.Apply(ctx, Filter{IDs: found, States: f.States, Queues: f.Queues, Limit: len(found)}, action)
	}
	if part.Next = (ID{}); len(found) == f.Limit {
		part.Next = found[len(found)-1]
	}
	return part, err
}
