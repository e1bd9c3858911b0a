package dash

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Limits of undoing.
const (
	mostUndone = 1000             // jobs of one action
	mostBefore = 5 * time.Second  // time limit for reading the jobs before the action
	undoTime   = 10 * time.Minute // time after an action in which it can be undone
)

// An undo reverts an action, as far as its jobs have not changed or run since.
type undo struct {
	stamp
	Entry job.AuditEntry // of the action
	Jobs  int            // jobs that can be restored; zero for an action on something else

	run func(context.Context) (job.ActionResult, error)
}

// Undo returns the undo of the action that led to this page, or nil.
func (v *view) Undo() *undo {
	if v.ReadOnly {
		return nil
	}
	return v.h.undos.find(v.Query.Get("did-undo"))
}

// undo undoes an action.
func (h *handler) undo(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	u := h.undos.remove(r.PostForm.Get("undo"))
	if u == nil {
		return "", refuse(http.StatusGone, "This cannot be undone any more: it was undone already, is longer than %s ago, or was done before the dashboard was started.", span(undoTime))
	}
	put, err := u.run(ctx)
	*done = job.AuditEntry{Action: "undo " + u.Entry.Action, Target: u.Entry.Target, Changed: int64(put.Changed)}
	if err != nil {
		h.undos.add(u)
		return "", err
	}
	q := url.Values{"did-action": {"undo"}}
	for name, n := range map[string]int{"did": put.Changed, "did-skipped": put.Skipped, "did-conflicts": put.Conflicts} {
		q.Set(name, strconv.Itoa(n))
	}
	if u.Jobs == 0 {
		q = url.Values{"did-text": {"undone"}}
		if put.Changed == 0 {
			q.Set("did-text", "not-undone")
		}
	}
	return withQuery(backTo(r.PostForm.Get("back"), "/audit"), q), nil
}

// A pausable is a queue or a cron.
type pausable struct {
	paused func(context.Context) (bool, error)
	pause  func(ctx context.Context, paused bool) error
}

// pause pauses or resumes something, and leads back to a page that offers to undo it unless nothing has changed.
func (h *handler) pause(ctx context.Context, r *http.Request, done job.AuditEntry, p pausable, paused bool, back string) (string, error) {
	was, err := p.paused(ctx)
	if err != nil {
		return "", err
	}
	if err := p.pause(ctx, paused); err != nil || was == paused {
		return back, err
	}
	done.Actor = h.actor(r)
	id := h.undos.add(&undo{Entry: done, run: func(ctx context.Context) (job.ActionResult, error) {
		if now, err := p.paused(ctx); err != nil || now != paused {
			return job.ActionResult{}, err
		}
		return job.ActionResult{Changed: 1}, p.pause(ctx, was)
	}})
	return withQuery(back, url.Values{"did-undo": {id}}), nil
}

// A standing is the part of a job that actions change. Attempt grows with each claim, so if it is the same, the job has not run since.
type standing struct {
	state    job.State
	queue    string
	priority int
	runAt    time.Time
	attempt  int
}

func standingOf(j *job.Job) standing {
	return standing{j.State, j.Queue, j.Priority, j.RunAt.UTC().Round(0), j.Attempt}
}

// standings returns the standings of jobs by their IDs. Deleted jobs are left out.
func (h *handler) standings(ctx context.Context, ids []job.ID) (map[job.ID]standing, error) {
	found := map[job.ID]standing{}
	for part := range slices.Chunk(ids, mostSelected) {
		for j, err := range job.List(ctx, h.Store, job.Filter{IDs: part, Limit: len(part)}) {
			if err != nil {
				return nil, err
			}
			found[j.ID] = standingOf(j)
		}
	}
	return found, nil
}

// queuedBefore returns the queued jobs that an action is about to change: none yet for a target that applyListed reads anyway, and nil if they are too
// many or take too long to find, so that the action cannot be undone.
func (h *handler) queuedBefore(ctx context.Context, t *target) (map[job.ID]standing, error) {
	if !t.Undone {
		return nil, nil
	}
	found := map[job.ID]standing{}
	if t.listed() {
		return found, nil
	}
	f := t.filter
	if len(f.States) == 0 {
		f.States = []job.State{job.Queued}
	}
	limited, cancel := context.WithTimeoutCause(ctx, mostBefore, errLate)
	defer cancel()
	f.Limit = mostUndone + 1
	for j, err := range h.list(limited, f) {
		switch {
		case err != nil && errors.Is(context.Cause(limited), errLate):
			return nil, nil
		case err != nil:
			return nil, err
		case j.State == job.Queued:
			found[j.ID] = standingOf(j)
		}
		if f.Limit--; f.Limit == 0 {
			return nil, nil
		}
	}
	return found, nil
}

// A change is what an action did to a queued job that has not run since.
type change struct{ before, after standing }

// undoJobs saves how to revert the changes of an action, and returns the ID of the undo, or "" if there is nothing to undo.
func (h *handler) undoJobs(ctx context.Context, r *http.Request, done job.AuditEntry, before map[job.ID]standing) (string, error) {
	after, err := h.standings(ctx, slices.Collect(maps.Keys(before)))
	if err != nil {
		return "", err
	}
	changes := map[job.ID]change{}
	for id, now := range after {
		if was := before[id]; now != was && now.attempt == was.attempt && now.state != job.Running {
			changes[id] = change{was, now}
		}
	}
	if len(changes) == 0 {
		return "", nil
	}
	done.Actor, done.Target = h.actor(r), h.masker.Text(done.Target)
	return h.undos.add(&undo{Entry: done, Jobs: len(changes), run: func(ctx context.Context) (job.ActionResult, error) {
		return h.revert(ctx, changes)
	}}), nil
}

// revert restores jobs to their standing before an action, unless they have changed since.
func (h *handler) revert(ctx context.Context, changes map[job.ID]change) (done job.ActionResult, err error) {
	now, err := h.standings(ctx, slices.Collect(maps.Keys(changes)))
	if err != nil {
		return done, err
	}
	reversals := map[standing][]job.ID{}
	for id, c := range changes {
		if now[id] == c.after {
			reversals[c.reversal()] = append(reversals[c.reversal()], id)
		}
	}
	for r, ids := range reversals {
		do := r.restore()
		for part := range slices.Chunk(ids, mostSelected) {
			put, err := job.Apply(ctx, h.Store, job.Filter{IDs: part, States: do.From}, do)
			done.Changed, done.Conflicts = done.Changed+put.Changed, done.Conflicts+put.Conflicts
			if err != nil {
				return done, err
			}
		}
	}
	done.Skipped = len(changes) - done.Changed - done.Conflicts
	return done, nil
}

// reversal returns the one field to restore, and zero for the others. For a finished job it is the state in which the action left it.
func (c change) reversal() (r standing) {
	switch {
	case c.after.state != c.before.state:
		r.state = c.after.state
	case c.after.queue != c.before.queue:
		r.queue = c.before.queue
	case c.after.priority != c.before.priority:
		r.priority = c.before.priority
	default:
		r.runAt = c.before.runAt
	}
	return r
}

// restore returns the action that restores the standing of a reversal.
func (r standing) restore() job.Action {
	switch {
	case r.state != "":
		do := job.ActionRestore
		do.From = []job.State{r.state}
		return do
	case r.queue != "":
		return job.ActionMove(r.queue)
	case r.priority != 0:
		return job.ActionPriority(r.priority)
	}
	return job.ActionRunAt(r.runAt)
}
