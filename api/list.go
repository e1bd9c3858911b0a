package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

const (
	defaultLimit = 50
	mostLimit    = 200
	mostPage     = 16 << 20 // bytes, about, after which a page ends
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
	for j, err := range a.matching(r.Context(), wanted) {
		if err != nil {
			return err
		}
		if len(page.Jobs) == limit || size > mostPage {
			page.Next = &page.Jobs[len(page.Jobs)-1].ID
			break
		}
		page.Jobs = append(page.Jobs, a.shown(j, now))
		size += sizeOf(j)
	}
	return writeJSON(w, http.StatusOK, page)
}

// sizeOf returns about how many bytes a job has in JSON.
func sizeOf(j *job.Job) int {
	size := len(j.Args) + len(j.Result)
	for i := range j.Failures {
		size += len(j.Failures[i].Error) + len(j.Failures[i].Stack)
	}
	for i := range j.Records {
		size += len(j.Records[i].Message) + len(j.Records[i].Attrs)
	}
	return size
}

// matching yields the jobs that match the filter. The filter's part of an error must be in an error as it is shown: jobs cannot be found by masked
// values.
func (a *API) matching(ctx context.Context, f job.Filter) meanwhile.Stream[*job.Job] {
	if f.Error == "" {
		return job.List(ctx, a.config.Store, f)
	}
	return func(yield func(*job.Job, error) bool) {
		all, part := f, strings.ToLower(f.Error)
		all.Limit = 0
		for j, err := range job.List(ctx, a.config.Store, all) {
			if err == nil && !slices.ContainsFunc(j.Failures, func(f job.Failure) bool {
				return strings.Contains(strings.ToLower(a.mask.Text(f.Error)), part)
			}) {
				continue
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// show shows one job; with the parameter wait, when the job has finished or the time is over.
func (a *API) show(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	text, err := single(query, "wait")
	if err == nil {
		err = checkRest(query)
	}
	if err != nil {
		return err
	}
	if text != "" {
		if err := a.await(r, id, text); err != nil {
			return err
		}
	}
	return a.showJob(w, r, id)
}

// await waits until a job has finished, the time is over, or the server stops.
func (a *API) await(r *http.Request, id job.ID, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > mostWait {
		return refuse(http.StatusUnprocessableEntity, "wait %.20q: give a duration such as 30s, up to %v", text, mostWait)
	}
	if !acquire(a.awaits) {
		return refuse(http.StatusServiceUnavailable, "%d requests wait for jobs to finish, which is as many as may: ask again later, or without wait", mostAwaits)
	}
	defer func() { <-a.awaits }()
	ctx, cancel := a.waiting(r)
	defer cancel()
	ctx, cancelTimeout := context.WithTimeout(ctx, d)
	defer cancelTimeout()
	if _, err := job.Await(ctx, a.config.Store, id); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

func (a *API) showJob(w http.ResponseWriter, r *http.Request, id job.ID) error {
	j, err := job.Find(r.Context(), a.config.Store, id)
	if err != nil {
		return err
	}
	shown := a.shown(j, time.Now())
	if j.State == job.Queued {
		if shown.Why, err = job.Why(r.Context(), a.config.Store, id); err != nil {
			return err
		}
	}
	return writeJSON(w, http.StatusOK, shown)
}

// pathID returns the ID in the path of a request; a text that is not an ID names no job.
func pathID(r *http.Request) (job.ID, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return id, refuse(http.StatusNotFound, "%v", err)
	}
	return id, nil
}
