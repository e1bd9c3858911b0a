package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	defaultLimit = 50
	mostLimit    = 200
	mostPage     = 16 << 20 // bytes of args and results, about: a page ends there
)

// list lists jobs, newest first.
func (a *API) list(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	given, err := queryFilter(query)
	if err != nil {
		return err
	}
	wanted, err := a.filter(given)
	if err != nil {
		return err
	}
	before, err := single(query, "before")
	if err != nil {
		return err
	}
	if before != "" {
		if wanted.Before, err = job.ParseID(before); err != nil {
			return refuse(http.StatusUnprocessableEntity, "before: %v", err)
		}
	}
	text, err := single(query, "limit")
	if err != nil {
		return err
	}
	limit := defaultLimit
	if text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > mostLimit {
			return refuse(http.StatusUnprocessableEntity, "limit %.20q: give from 1 to %d", text, mostLimit)
		}
	}
	if err := checkRest(query); err != nil {
		return err
	}
	page := struct {
		Jobs []shownJob `json:"jobs"`
		Next *job.ID    `json:"next,omitempty"`
	}{Jobs: []shownJob{}}
	wanted.Limit = limit + 1 // to know whether there are more
	size, now := 0, time.Now()
	for j, err := range job.List(r.Context(), a.config.Store, wanted) {
		if err != nil {
			return err
		}
		if len(page.Jobs) == limit || size > mostPage {
			page.Next = &page.Jobs[len(page.Jobs)-1].ID
			break
		}
		page.Jobs = append(page.Jobs, a.shown(j, now))
		size += len(j.Args) + len(j.Result)
	}
	return writeJSON(w, http.StatusOK, page)
}

// show shows one job.
func (a *API) show(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	return a.showJob(w, r, id)
}

func (a *API) showJob(w http.ResponseWriter, r *http.Request, id job.ID) error {
	j, err := job.Find(r.Context(), a.config.Store, id)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, a.shown(j, time.Now()))
}

// pathID returns the ID in the path of a request; what is none names no job.
func pathID(r *http.Request) (job.ID, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return id, refuse(http.StatusNotFound, "%v", err)
	}
	return id, nil
}
