package api

import (
	"net/http"
	"slices"

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

// actOnCron pauses a cron, or lets it go on.
func (a *API) actOnCron(w http.ResponseWriter, r *http.Request) error {
	paused, err := isPause(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	crons, err := a.config.Store.Crons(r.Context())
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(crons, func(c job.CronInfo) bool { return c.Name == name }) {
		return refuse(http.StatusNotFound, "no worker has ever spoken of a cron %.40q", name)
	}
	if err := a.config.Store.PauseCron(r.Context(), name, paused); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// list makes JSON of no elements an empty array.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
