package api

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// watchFor is how long a worker reports the tree of a job after a request for it.
const watchFor = 5 * time.Second

// tree shows what the tasks of a running job are doing, as its worker has reported. The first request only asks the worker for a report.
func (a *API) tree(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	reported, err := a.config.Store.Watch(r.Context(), id, watchFor)
	if err != nil {
		return err
	}
	shown := struct {
		Job     job.ID          `json:"job"`
		Attempt int             `json:"attempt,omitempty"`
		At      time.Time       `json:"at,omitzero"`
		Tree    json.RawMessage `json:"tree"`
	}{id, reported.Attempt, reported.At, json.RawMessage("null")}
	if len(reported.JSON) > 0 {
		shown.Tree = reported.JSON
	}
	return writeJSON(w, http.StatusOK, shown)
}
