package api

import (
	"context"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// An actionRequest has the arguments of actions on jobs.
type actionRequest struct {
	Queue    *string `json:"queue"`    // of move
	Priority *int    `json:"priority"` // of priority
	RunAt    *moment `json:"run_at"`   // of schedule, unless Delay is given
	Delay    *span   `json:"delay"`
}

// action returns the action with a name. Its errors are refusals.
func (n *actionRequest) action(name string) (job.Action, error) {
	wrong := func(text string) (job.Action, error) {
		return job.Action{}, refuse(http.StatusUnprocessableEntity, "%s: %s", name, text)
	}
	schedules := n.RunAt != nil || n.Delay != nil
	switch {
	case name != "move" && n.Queue != nil:
		return wrong("queue is for move only")
	case name != "priority" && n.Priority != nil:
		return wrong("priority is for priority only")
	case name != "schedule" && schedules:
		return wrong("run_at and delay are for schedule only")
	}
	switch name {
	case "retry":
		return job.ActionRetry, nil
	case "cancel":
		return job.ActionCancel, nil
	case "discard":
		return job.ActionDiscard, nil
	case "delete":
		return job.ActionDelete, nil
	case "move":
		if n.Queue == nil {
			return wrong("give the queue")
		}
		return checked(job.ActionMove(*n.Queue))
	case "priority":
		if n.Priority == nil {
			return wrong("give the priority")
		}
		return checked(job.ActionPriority(*n.Priority))
	case "schedule":
		switch {
		case schedules && n.RunAt != nil && n.Delay != nil || !schedules:
			return wrong("give one of run_at and delay")
		case n.RunAt != nil:
			return checked(job.ActionRunAt(n.RunAt.Time))
		}
		return checked(job.ActionRunAt(time.Now().Add(time.Duration(*n.Delay))))
	}
	return job.Action{}, refuse(http.StatusUnprocessableEntity, "%.40q is not an action: give retry, cancel, discard, delete, move, priority or schedule", name)
}

// checked refuses an action with an invalid argument.
func checked(done job.Action) (job.Action, error) {
	if err := done.Check(); err != nil {
		return done, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return done, nil
}

// jobAction applies an action to one job and shows it.
func (a *API) jobAction(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	name := r.PathValue("action")
	switch name {
	case "retry", "cancel", "discard", "move", "priority", "schedule":
	default:
		return refuse(http.StatusNotFound, "%.40q is not an action on a job: there are retry, cancel, discard, move, priority and schedule", name)
	}
	var with actionRequest
	if r.ContentLength != 0 { // some clients send a Content-Type without a body
		if err := readJSON(w, r, &with, mostOne); err != nil {
			return err
		}
	}
	if err := a.apply(r, id, name, &with); err != nil {
		return err
	}
	return a.showJob(w, r, id)
}

// delete deletes one job.
func (a *API) delete(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	if err := a.apply(r, id, "delete", &actionRequest{}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// apply applies an action to one job. Its error explains why the job was not changed.
func (a *API) apply(r *http.Request, id job.ID, name string, with *actionRequest) error {
	do, err := with.action(name)
	if err != nil {
		return err
	}
	which := job.Filter{IDs: []job.ID{id}}
	done, err := job.Apply(r.Context(), a.config.Store, which, do)
	if err != nil || done.Changed > 0 {
		a.record(r, job.AuditOf(which, do, done), err)
	}
	switch {
	case err != nil:
		return err
	case done.Conflicts > 0:
		return refuse(http.StatusConflict, "another job holds its unique key by now")
	case done.Skipped > 0:
		return refuse(http.StatusConflict, "%s: that makes no sense in the state that the job is in", name)
	case done.Changed == 0:
		return job.ErrNotFound
	}
	return nil
}

// bulkAction applies an action to all jobs that match a filter.
func (a *API) bulkAction(w http.ResponseWriter, r *http.Request) error {
	var wanted struct {
		Action string `json:"action"`
		Filter filter `json:"filter"`
		All    bool   `json:"all"`
		Limit  *int   `json:"limit"`
		actionRequest
	}
	if err := readJSON(w, r, &wanted, mostOne); err != nil {
		return err
	}
	do, err := wanted.actionRequest.action(wanted.Action)
	if err != nil {
		return err
	}
	if err := wanted.Filter.checkGiven(); err != nil {
		return err
	}
	if wanted.Filter.empty() != wanted.All {
		return refuse(http.StatusUnprocessableEntity, "give a filter, or \"all\":true, and not both")
	}
	jobs, err := a.filter(wanted.Filter)
	if err != nil {
		return err
	}
	if wanted.Limit != nil {
		if jobs.Limit = *wanted.Limit; jobs.Limit < 1 {
			return refuse(http.StatusUnprocessableEntity, "limit %d: give a positive number, or leave it out", jobs.Limit)
		}
	}
	done, err := a.applyAll(r.Context(), jobs, do)
	a.record(r, job.AuditOf(jobs, do, done), err)
	if err != nil {
		return &partial{err, map[string]any{"changed": done.Changed, "skipped": done.Skipped, "conflicts": done.Conflicts}}
	}
	return writeJSON(w, http.StatusOK, done)
}

// applyPart is how many jobs are changed at once if they are read first.
const applyPart = 200

// applyAll applies an action to all jobs that match a filter, as [API.matching] has it: not to those that match only by masked values.
func (a *API) applyAll(ctx context.Context, f job.Filter, do job.Action) (done job.ActionResult, err error) {
	if f.Error == "" {
		return job.Apply(ctx, a.config.Store, f, do)
	}
	var ids []job.ID
	flush := func() error {
		if len(ids) == 0 {
			return nil
		}
		part, err := job.Apply(ctx, a.config.Store, job.Filter{IDs: ids, States: f.States, Queues: f.Queues}, do)
		done.Changed, done.Skipped, done.Conflicts = done.Changed+part.Changed, done.Skipped+part.Skipped, done.Conflicts+part.Conflicts
		ids = ids[:0]
		return err
	}
	left := f.Limit
	for j, err := range a.matching(ctx, f) {
		if err != nil {
			return done, err
		}
		if ids = append(ids, j.ID); len(ids) == applyPart {
			if err := flush(); err != nil {
				return done, err
			}
		}
		if left--; left == 0 {
			break
		}
	}
	err = flush()
	return done, err
}
