package job

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// An Act is something to be done to jobs from outside, see [Apply].
type Act struct {
	name   string
	check  error      // of its argument
	states []State    // in which it makes sense; jobs in others are skipped
	set    func(*Job) // what it changes; nil where the job is deleted
}

// String names the act.
func (a Act) String() string { return a.name }

// Check returns what is wrong with the argument of the act, if it has one.
func (a Act) Check() error { return a.check }

// Suits reports whether the act makes sense for jobs in a state or view. It skips others.
func (a Act) Suits(s State) bool { return slices.Contains(a.states, s.stored()) }

// Acts without an argument. In a state where an act makes no sense it skips the job.
var (
	// ActRetry makes a queued job due now, and runs a finished one again, with all its attempts.
	ActRetry = Act{name: "retry", states: []State{Queued, Completed, Canceled, Discarded}, set: func(j *Job) {
		if j.State.Finished() {
			j.State, j.Spared, j.Released = Queued, j.Attempt, 0
		}
		j.RunAt, j.Delay = time.Time{}, 0
	}}

	// ActCancel cancels a queued job, and asks the worker of a running one to cancel it, which it does within about a second.
	ActCancel = Act{name: "cancel", states: []State{Queued, Running}, set: func(j *Job) {
		if j.State == Running {
			j.CancelRequested = true
		} else {
			j.State = Canceled
		}
	}}

	// ActDiscard gives a queued job up.
	ActDiscard = Act{name: "discard", states: []State{Queued}, set: func(j *Job) { j.State = Discarded }}

	// ActDelete deletes a job that is not running.
	ActDelete = Act{name: "delete", states: []State{Queued, Completed, Canceled, Discarded}}
)

// ActMove moves a queued job to another queue.
func ActMove(queue string) Act {
	return Act{name: "move", check: checkName("queue", queue), states: []State{Queued}, set: func(j *Job) { j.Queue = queue }}
}

// ActPriority changes the priority of a queued job.
func ActPriority(p int) Act {
	return Act{name: "reprioritise", check: checkPriority(p), states: []State{Queued}, set: func(j *Job) { j.Priority = p }}
}

// ActRunAt changes when a queued job is due.
func ActRunAt(t time.Time) Act {
	return Act{name: "schedule", check: checkTime(t), states: []State{Queued}, set: func(j *Job) { j.RunAt, j.Delay = t, 0 }}
}

// Applied says what Apply did.
type Applied struct {
	Changed   int `json:"changed"`
	Skipped   int `json:"skipped"`   // jobs for which the act makes no sense in their state
	Conflicts int `json:"conflicts"` // jobs that cannot be queued again because their unique key is taken
}

// Apply does act to every job that matches the filter, at most f.Limit of them if that is set, a few hundred at a time, each of
// which is atomic. A job that does not match any more when its turn comes is left alone. On an error it returns what was done
// before it.
func Apply(ctx context.Context, s Store, f Filter, act Act) (Applied, error) {
	var done Applied
	if act.check != nil {
		return done, fmt.Errorf("%s: %w", act, act.check)
	}
	part := make([]ID, 0, listPage)
	flush := func() error {
		if len(part) == 0 {
			return nil
		}
		err := applyTo(ctx, s, &f, act, part, &done)
		part = part[:0]
		return err
	}
	for j, err := range List(ctx, s, f) {
		if err != nil {
			return done, err
		}
		if part = append(part, j.ID); len(part) == listPage {
			if err := flush(); err != nil {
				return done, err
			}
		}
	}
	return done, flush()
}

func applyTo(ctx context.Context, s Store, f *Filter, act Act, ids []ID, done *Applied) error {
	changed, skipped := 0, 0
	conflicts, err := s.Change(ctx, ids, func(j *Job) Decision {
		switch {
		case !f.matchesState(j):
			return Leave
		case !act.Suits(j.State):
			skipped++
			return Leave
		}
		changed++
		if act.set == nil {
			return Remove
		}
		act.set(j)
		return Write
	})
	if err != nil {
		return fmt.Errorf("%s jobs: %w", act, err)
	}
	finishedHere(s, slices.Values(ids))
	done.Changed += changed - len(conflicts)
	done.Skipped += skipped
	done.Conflicts += len(conflicts)
	return nil
}

// matchesState reports whether a job that was listed is still in a state, and a queue, that the filter asks for.
func (f *Filter) matchesState(j *Job) bool {
	if len(f.Queues) > 0 && !slices.Contains(f.Queues, j.Queue) {
		return false
	}
	if len(f.States) == 0 {
		return true
	}
	return slices.Contains(f.States, j.State) || slices.Contains(f.States, j.View(time.Now()))
}
