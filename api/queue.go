package api

import (
	"context"
	"net/http"

	"github.com/meanwhile-go/meanwhile/job"
)

// A shownQueue is a queue in JSON: with its wait in seconds.
type shownQueue struct {
	job.QueueInfo
	Wait float64 `json:"wait"`
}

func showQueues(ctx context.Context, s job.Store) ([]shownQueue, error) {
	queues, err := s.Queues(ctx)
	shown := make([]shownQueue, len(queues))
	for i, q := range queues {
		shown[i] = shownQueue{QueueInfo: q, Wait: q.Wait.Seconds()}
	}
	return shown, err
}

// queues lists the queues.
func (a *API) queues(w http.ResponseWriter, r *http.Request) error {
	shown, err := showQueues(r.Context(), a.config.Store)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"queues": shown})
}

// queueAction pauses or resumes a queue.
func (a *API) queueAction(w http.ResponseWriter, r *http.Request) error {
	paused, err := isPause(r)
	if err != nil {
		return err
	}
	name := r.PathValue("name")
	if err := job.ActionMove(name).Check(); err != nil { // this checks the name: jobs can be moved to any valid queue
		return refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	err = a.config.Store.Pause(r.Context(), name, paused)
	a.record(r, job.AuditEntry{Action: r.PathValue("action") + " queue", Target: name, Changed: 1}, err)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// isPause reads the action on a queue from the path of a request.
func isPause(r *http.Request) (bool, error) {
	switch action := r.PathValue("action"); action {
	case "pause":
		return true, nil
	case "resume":
		return false, nil
	default:
		return false, refuse(http.StatusNotFound, "%.40q is not an action on a queue: there are pause and resume", action)
	}
}
