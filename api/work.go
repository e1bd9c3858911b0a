package api

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/job"
)

// Bounds of the requests of worker programs.
const (
	mostWork    = 32 << 20 // bytes of a body
	mostPolls   = 500      // claims that wait, at once
	mostAwaits  = 1000     // requests that wait for a job to finish, at once: they share a query
	mostWait    = time.Minute
	mostClaim   = 500
	leastLease  = 5 * time.Second
	mostLease   = 24 * time.Hour
	usualLease  = 30 * time.Second
	mostQueues  = 100
	mostKinds   = 1000
	mostEnds    = 500
	mostSession = 1000 // sessions of one request
	pollTime    = mostWait + shortTime
)

// A seconds is a duration that is written as a text such as "30s".
type seconds time.Duration

// MarshalJSON writes a duration as a number of seconds with an s.
func (s seconds) MarshalJSON() ([]byte, error) {
	return json.Marshal(strconv.FormatFloat(time.Duration(s).Seconds(), 'f', -1, 64) + "s")
}

// A claim describes which jobs a program wants.
type claim struct {
	Worker string   `json:"worker"`
	Queues []string `json:"queues"`
	Kinds  []string `json:"kinds"`
	Limit  *int     `json:"limit"`
	Lease  *span    `json:"lease"`
	Wait   span     `json:"wait"`
}

// fetch converts the claim to a Fetch of package job. Its errors are refusals.
func (c *claim) fetch() (job.Fetch, error) {
	f := job.Fetch{Worker: c.Worker, Queues: c.Queues, Kinds: c.Kinds, Limit: 1, Wait: time.Duration(c.Wait)}
	var err error
	if f.Lease, err = checkLease(c.Lease); err != nil {
		return f, err
	}
	if err := checkWorker(c.Worker); err != nil {
		return f, err
	}
	wrong := func(format string, args ...any) (job.Fetch, error) {
		return f, refuse(http.StatusUnprocessableEntity, format, args...)
	}
	if c.Limit != nil {
		if f.Limit = *c.Limit; f.Limit < 1 || f.Limit > mostClaim {
			return wrong("limit %d: give from 1 to %d", f.Limit, mostClaim)
		}
	}
	switch {
	case f.Wait > mostWait:
		return wrong("wait: %v is too long: wait at most %v, and claim again", f.Wait, mostWait)
	case len(c.Queues) == 0:
		return wrong("queues: name one at least")
	case len(c.Queues) > mostQueues:
		return wrong("%d queues: name at most %d", len(c.Queues), mostQueues)
	case c.Kinds != nil && len(c.Kinds) == 0:
		return wrong("kinds: there are none: name some, or leave them out for all")
	case len(c.Kinds) > mostKinds:
		return wrong("%d kinds: name at most %d, or leave them out for all", len(c.Kinds), mostKinds)
	}
	for _, name := range c.Queues {
		if err := job.ActionMove(name).Check(); err != nil {
			return wrong("queues: %v", err)
		}
	}
	for _, name := range c.Kinds {
		if _, err := job.New(name, json.RawMessage("null")); err != nil {
			return wrong("kinds: %v", err)
		}
	}
	return f, nil
}

func checkLease(given *span) (time.Duration, error) {
	if given == nil {
		return usualLease, nil
	}
	lease := time.Duration(*given)
	if lease < leastLease || lease > mostLease {
		return 0, refuse(http.StatusUnprocessableEntity, "a lease of %v: give from %v to %v", lease, leastLease, mostLease)
	}
	return lease, nil
}

// A claimedJob is a job as a worker program receives it: its args are not masked.
type claimedJob struct {
	ID          job.ID            `json:"id"`
	Kind        string            `json:"kind"`
	Queue       string            `json:"queue"`
	Args        json.RawMessage   `json:"args"`
	Priority    int               `json:"priority"`
	Attempt     int               `json:"attempt"`
	MaxAttempts int               `json:"max_attempts"`
	Created     time.Time         `json:"created"`
	RunAt       time.Time         `json:"run_at"`
	Timeout     seconds           `json:"timeout,omitempty"`
	Meta        map[string]string `json:"meta,omitempty"`
	LimitKey    string            `json:"limit_key,omitempty"`
	UniqueKey   string            `json:"unique_key,omitempty"`
	Cost        int               `json:"cost,omitempty"`
}

// claim claims jobs for a program, and waits for some if none are due. Jobs that were claimed for a program that has disconnected by then are
// released. A claim that is waiting when the server stops is answered immediately.
func (a *API) claim(w http.ResponseWriter, r *http.Request) error {
	var wanted claim
	if err := readJSON(w, r, &wanted, mostOne); err != nil {
		return err
	}
	fetch, err := wanted.fetch()
	if err != nil {
		return err
	}
	if fetch.Wait > 0 {
		if !acquire(a.polls) {
			return refuse(http.StatusServiceUnavailable, "%d claims wait for jobs, which is as many as may: claim again later, or without wait", mostPolls)
		}
		defer func() { <-a.polls }()
	}
	ctx, cancel := a.waiting(r)
	defer cancel()
	got, err := a.claimer.Fetch(ctx, fetch)
	if err != nil && ctx.Err() == nil {
		return err
	}
	answer := struct {
		Session string          `json:"session"`
		Lease   seconds         `json:"lease"`
		State   job.WorkerState `json:"state"`
		Jobs    []claimedJob    `json:"jobs"`
	}{showSession(cmp.Or(got.Session, job.NewSession())), seconds(fetch.Lease), cmp.Or(got.State, job.WorkerRuns), make([]claimedJob, len(got.Jobs))}
	for i, j := range got.Jobs {
		answer.Jobs[i] = claimedJob{
			j.ID, j.Kind, j.Queue, j.Args, j.Priority, j.Attempt, j.MaxAttempts, j.Created, j.RunAt, seconds(j.Timeout), j.Meta, j.LimitKey, givenKey(j), j.Cost,
		}
	}
	if err := deliver(w, answer); err != nil && len(got.Jobs) > 0 {
		if err := a.claimer.Release(r.Context(), got); err != nil {
			a.config.Logger.Warn("api: jobs claimed for a program that has gone could not be released: they return when the lease is over",
				"worker", fetch.Worker, "jobs", len(got.Jobs), "lease", fetch.Lease, "error", err)
		}
	}
	return nil
}

// givenKey returns the unique key of a job as unique_key would give it, "" for none: an Idempotency-Key is one of its request.
func givenKey(j *job.Job) string {
	if _, ok := j.Meta[idempotencyMeta]; ok {
		return ""
	}
	return strings.TrimPrefix(j.UniqueKey, j.Kind+" ")
}

// deliver writes an answer, and returns an error if it is certain that the client has not received it.
func deliver(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(append(text, '\n'))
	flushed := http.NewResponseController(w).Flush()
	if errors.Is(flushed, http.ErrNotSupported) {
		flushed = nil
	}
	return cmp.Or(err, flushed)
}

// acquire takes a place, and reports whether there was one.
func acquire(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

// leave removes a worker program from the list.
func (a *API) leave(w http.ResponseWriter, r *http.Request) error {
	var who struct {
		Worker string `json:"worker"`
	}
	if err := readJSON(w, r, &who, mostOne); err != nil {
		return err
	}
	if err := checkWorker(who.Worker); err != nil {
		return err
	}
	if err := a.claimer.Leave(r.Context(), who.Worker); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func showSession(s job.Session) string { return strconv.FormatInt(int64(s), 10) }

// A sessionText is a session as programs send it.
type sessionText string

func (s sessionText) session() (job.Session, error) {
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil || n <= 0 {
		return 0, refuse(http.StatusUnprocessableEntity, "%.40q is not a session: give the one that the claim was answered with", string(s))
	}
	return job.Session(n), nil
}

// checkWorker refuses an invalid name of a worker.
func checkWorker(name string) error {
	switch {
	case name == "":
		return refuse(http.StatusUnprocessableEntity, "worker: give the program a name that no other has, such as HOST:PID")
	case len(name) > job.MaxKey:
		return refuse(http.StatusUnprocessableEntity, "worker: the name has %d bytes, at most %d are allowed", len(name), job.MaxKey)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return refuse(http.StatusUnprocessableEntity, "worker: the name has a control character in it")
	}
	return nil
}
