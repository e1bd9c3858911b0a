package api

import (
	"errors"
	"net/http"

	"github.com/meanwhile-go/meanwhile/job"
)

// workers lists the workers.
func (a *API) workers(w http.ResponseWriter, r *http.Request) error {
	workers, err := a.config.Store.Workers(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"workers": list(workers)})
}

// workerAction sends a command to a worker.
func (a *API) workerAction(w http.ResponseWriter, r *http.Request) error {
	do := job.CommandKind(r.PathValue("action"))
	switch do {
	case job.CommandQuiet, job.CommandResume, job.CommandStop:
	default:
		return refuse(http.StatusNotFound, "%.40q is not an action on a worker: there are quiet, resume and stop", string(do))
	}
	name := r.PathValue("name")
	err := a.sendCommand(r, name, job.Command{Do: do})
	if _, refused := errors.AsType[*refusal](err); !refused {
		a.record(r, job.AuditEntry{Action: string(do) + " worker", Target: name, Changed: 1}, err)
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (a *API) sendCommand(r *http.Request, worker string, o job.Command) error {
	err := a.config.Store.SendCommand(r.Context(), worker, o)
	if errors.Is(err, job.ErrNoWorker) {
		return refuse(http.StatusNotFound, "there is no worker %.130q", worker)
	}
	return err
}
