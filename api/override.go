package api

import (
	"errors"
	"net/http"

	"github.com/meanwhile-go/meanwhile/job"
)

// How many keys with limits are on a page.
const (
	usualOverrides = 50
	mostOverrides  = 1000
)

type shownOverride struct {
	Key    string          `json:"key"`
	Limits *shownKeyLimits `json:"limits"`
}

// overrides shows which keys of a queue have limits of their own.
func (a *API) overrides(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	after, err := single(query, "after")
	if err != nil {
		return err
	}
	limit, err := number(query, "limit", usualOverrides, 1, mostOverrides)
	if err != nil {
		return err
	}
	if err := checkRest(query); err != nil {
		return err
	}
	found, err := a.config.Store.Overrides(r.Context(), r.PathValue("name"), after, int(limit)+1)
	if err != nil {
		return err
	}
	answer, keys := map[string]any{}, []shownOverride{}
	if len(found) > int(limit) {
		found = found[:limit]
		answer["next"] = found[limit-1].Key
	}
	for _, o := range found {
		keys = append(keys, shownOverride{o.Key, showKeyLimits(o.KeyLimits)})
	}
	answer["keys"] = keys
	return writeJSON(w, http.StatusOK, answer)
}

// setKeyLimits replaces the limits of one key of a queue.
func (a *API) setKeyLimits(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	key, err := single(query, "key")
	if err != nil {
		return err
	}
	if err := checkRest(query); err != nil {
		return err
	}
	var given shownKeyLimits
	if err := readJSON(w, r, &given, mostOne); err != nil {
		return err
	}
	name, limits := r.PathValue("name"), given.limits()
	what := "set limits of key " + key + " of queue " + name
	if key == "" {
		what = "set limits of a key of queue " + name
	}
	if err := job.CheckKeyLimits(name, key, limits); err != nil {
		return refuse(http.StatusUnprocessableEntity, "%s: %v", what, err)
	}
	err = a.config.Store.SetKeyLimits(r.Context(), name, key, limits)
	a.record(r, job.AuditEntry{Action: "set limits of key", Target: name + " " + key + " " + limits.String(), Changed: 1}, err)
	if errors.Is(err, job.ErrOverrides) {
		return refuse(http.StatusUnprocessableEntity, "%s: %v", what, job.ErrOverrides)
	} else if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
