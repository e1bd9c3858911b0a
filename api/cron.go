package api

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// crons lists the crons.
func (a *API) crons(w http.ResponseWriter, r *http.Request) error {
	crons, err := a.config.Store.Crons(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"crons": list(crons)})
}

// cronAction pauses or resumes a cron, or makes it tick now.
func (a *API) cronAction(w http.ResponseWriter, r *http.Request) error {
	action := r.PathValue("action")
	if action != "pause" && action != "resume" && action != "run" {
		return refuse(http.StatusNotFound, "%.40q is not an action on a cron: there are pause, resume and run", action)
	}
	name := r.PathValue("name")
	crons, err := a.config.Store.Crons(r.Context())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(crons, func(c job.CronInfo) bool { return c.Name == name })
	switch {
	case i < 0:
		return refuse(http.StatusNotFound, "no worker has reported a cron %.40q", name)
	case action == "run":
		err = a.runCron(r, crons[i])
	default:
		err = a.config.Store.PauseCron(r.Context(), name, action == "pause")
	}
	if _, refused := errors.AsType[*refusal](err); !refused {
		a.record(r, job.AuditEntry{Action: action + " cron", Target: name, Changed: 1}, err)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// runCron makes one of the workers that have a cron enqueue its job now.
func (a *API) runCron(r *http.Request, c job.CronInfo) error {
	if c.Paused {
		return refuse(http.StatusConflict, "the cron is paused: resume it before you run it")
	}
	workers, err := a.config.Store.Workers(r.Context())
	if err != nil {
		return err
	}
	for _, w := range workers {
		if !w.Gone(time.Now()) && !w.Stopping && slices.Contains(w.Crons, c.Name) {
			return a.sendCommand(r, w.Name, job.Command{Do: job.CommandTick, Cron: c.Name})
		}
	}
	return refuse(http.StatusConflict, "no worker that runs has this cron: only such a one knows what to enqueue")
}

// list returns all, or an empty slice instead of nil, which JSON writes as an array.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
