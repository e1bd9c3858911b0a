package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// A newJob is a job as a client sends it.
type newJob struct {
	Kind        string            `json:"kind"`
	Args        json.RawMessage   `json:"args"`
	Queue       *string           `json:"queue"`
	Priority    *int              `json:"priority"`
	MaxAttempts *int              `json:"max_attempts"`
	RunAt       *moment           `json:"run_at"`
	Delay       *span             `json:"delay"`
	UniqueKey   *string           `json:"unique_key"`
	UniqueArgs  *uniqueArgs       `json:"unique_args"`
	UniqueFor   *span             `json:"unique_for"`
	UniqueWhile []job.State       `json:"unique_while"`
	Replace     bool              `json:"replace"`
	Debounce    *debounce         `json:"debounce"`
	Timeout     *span             `json:"timeout"`
	LimitKey    string            `json:"limit_key"`
	Cost        int               `json:"cost"`
	Meta        map[string]string `json:"meta"`
	Webhook     string            `json:"webhook"`
}

// debounce is job.Debounce.
type debounce struct {
	Key    string `json:"key"`
	Delay  span   `json:"delay"`
	Within span   `json:"within"`
}

// uniqueArgs are true for all args, or the names of some of their fields.
type uniqueArgs struct {
	all    bool
	fields []string
}

// UnmarshalJSON reads uniqueArgs.
func (u *uniqueArgs) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &u.all) == nil || json.Unmarshal(text, &u.fields) == nil && len(u.fields) > 0 {
		return nil
	}
	return errors.New(`"unique_args": give true, or an array with the names of fields of the args`)
}

func (n *newJob) byArgs() bool {
	return n.UniqueArgs != nil && (n.UniqueArgs.all || len(n.UniqueArgs.fields) > 0)
}

// unique reports whether the client makes the job unique.
func (n *newJob) unique() bool { return n.UniqueKey != nil || n.byArgs() || n.Debounce != nil }

// options returns the options of the job.
func (n *newJob) options() ([]job.EnqueueOption, error) {
	var options []job.EnqueueOption
	add := func(o job.EnqueueOption) { options = append(options, o) }
	byArgs := n.byArgs()
	switch {
	case n.RunAt != nil && n.Delay != nil:
		return nil, errors.New("run_at and delay: give one of them")
	case n.UniqueKey != nil && byArgs:
		return nil, errors.New("unique_key and unique_args: give one of them")
	case n.Debounce != nil && (n.UniqueKey != nil || byArgs || n.UniqueWhile != nil || n.Replace || n.RunAt != nil || n.Delay != nil):
		return nil, errors.New("debounce says what is unique, and when it is due: leave unique_key, unique_args, unique_while, replace, delay and run_at out")
	case n.unique():
	case n.UniqueFor != nil:
		return nil, errors.New("unique_for: say what is unique, by unique_key or unique_args")
	case n.UniqueWhile != nil:
		return nil, errors.New("unique_while: say what is unique, by unique_key or unique_args")
	case n.Replace:
		return nil, errors.New("replace: say what is unique, by unique_key or unique_args")
	}
	if n.Queue != nil {
		add(job.Queue(*n.Queue))
	}
	if n.Priority != nil {
		add(job.Priority(*n.Priority))
	}
	if n.MaxAttempts != nil {
		add(job.MaxAttempts(*n.MaxAttempts))
	}
	if n.RunAt != nil {
		add(job.At(n.RunAt.Time))
	}
	if n.Delay != nil {
		add(job.In(time.Duration(*n.Delay)))
	}
	if n.UniqueKey != nil {
		add(job.Unique(*n.UniqueKey))
	}
	if byArgs {
		add(job.UniqueArgs(n.UniqueArgs.fields...))
	}
	if n.UniqueFor != nil {
		add(job.UniqueFor(time.Duration(*n.UniqueFor)))
	}
	if n.UniqueWhile != nil {
		add(job.UniqueWhile(n.UniqueWhile...))
	}
	if n.Replace {
		add(job.Replace())
	}
	if n.Debounce != nil {
		add(job.Debounce(n.Debounce.Key, time.Duration(n.Debounce.Delay), time.Duration(n.Debounce.Within)))
	}
	if n.Timeout != nil {
		add(job.Timeout(time.Duration(*n.Timeout)))
	}
	if n.LimitKey != "" {
		add(job.LimitKey(n.LimitKey))
	}
	if n.Cost != 0 {
		add(job.Cost(n.Cost))
	}
	for key, value := range n.Meta {
		add(job.Meta(key, value))
	}
	if n.Webhook != "" {
		add(job.Webhook(n.Webhook))
	}
	return options, nil
}

// job creates the job. Its errors are refusals.
func (a *API) job(n *newJob, more ...job.EnqueueOption) (*job.Job, error) {
	options, err := n.options()
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	if n.Args == nil {
		n.Args = json.RawMessage("null")
	}
	j, err := a.config.New(n.Kind, n.Args, append(options, more...)...)
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return j, nil
}

// enqueue enqueues one job.
func (a *API) enqueue(w http.ResponseWriter, r *http.Request) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	body, err := readBody(w, r, mostOne)
	if err != nil {
		return err
	}
	var wanted newJob
	if err := decode(body, &wanted); err != nil {
		return refuse(http.StatusBadRequest, "the body: %v", err)
	}
	if key != "" && wanted.unique() {
		return refuse(http.StatusUnprocessableEntity, "%s: the body gives the job a unique key already, and it can have one: leave one of them out", idempotencyHeader)
	}
	j, err := a.job(&wanted)
	if err == nil && key != "" {
		if j.UniqueKey != "" { // by its kind: it makes a repeated request harmless as well
			key = ""
		} else {
			j, err = a.job(&wanted, idempotent(key, body)...)
		}
	}
	if err != nil {
		return err
	}
	done, err := job.Insert(r.Context(), a.config.Store, j)
	if err != nil {
		return err
	}
	id, duplicate := done[0].ID, done[0].Duplicate
	if duplicate && key != "" { // answer as for the first request
		duplicate = false
		if err := a.checkSameBody(r.Context(), id, body); err != nil {
			return err
		}
	}
	status := http.StatusCreated
	if duplicate {
		status = http.StatusOK
	}
	w.Header().Set("Location", Prefix+"/jobs/"+id.String())
	return writeJSON(w, status, map[string]any{"id": id, "duplicate": duplicate})
}

// enqueueAll enqueues a job for each line.
func (a *API) enqueueAll(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	wantsIDs, err := single(query, "ids")
	if err == nil {
		err = checkRest(query)
	}
	switch {
	case err != nil:
		return err
	case wantsIDs != "" && wantsIDs != "true" && wantsIDs != "false":
		return refuse(http.StatusUnprocessableEntity, "ids %.20q: give true or false", wantsIDs)
	case r.Header.Get(idempotencyHeader) != "":
		return refuse(http.StatusUnprocessableEntity, "%s is for one job: give each line a unique_key, and a unique_for", idempotencyHeader)
	}
	if err := checkType(r, "application/x-ndjson"); err != nil {
		return err
	}
	body, err := bodyOf(w, r, mostBulk)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, mostOne)
	ids := inserted{Store: a.config.Store}
	all := a.jobs(lines)
	if wantsIDs == "true" {
		all = ids.noting(all)
	}
	done, err := job.EnqueueAll(r.Context(), &ids, all)
	summary := map[string]any{"enqueued": done.Enqueued, "duplicates": done.Duplicates}
	if err != nil {
		return &partial{err, summary}
	}
	if wantsIDs == "true" {
		summary["ids"] = ids.list()
	}
	return writeJSON(w, http.StatusOK, summary)
}

// inserted is a store that records which jobs were inserted.
type inserted struct {
	job.Store
	order []job.ID // of the jobs, as they came

	mu      sync.Mutex
	instead map[job.ID]job.ID // of duplicates: the job that holds the key
}

// noting records the order of jobs.
func (s *inserted) noting(jobs meanwhile.Stream[*job.Job]) meanwhile.Stream[*job.Job] {
	return func(yield func(*job.Job, error) bool) {
		for j, err := range jobs {
			if err == nil {
				s.order = append(s.order, j.ID)
			}
			if !yield(j, err) {
				return
			}
		}
	}
}

// Insert inserts jobs in the store.
func (s *inserted) Insert(ctx context.Context, jobs ...*job.Job) ([]job.ID, error) {
	ids, err := s.Store.Insert(ctx, jobs...)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, id := range ids {
		if id != jobs[i].ID {
			if s.instead == nil {
				s.instead = map[job.ID]job.ID{}
			}
			s.instead[jobs[i].ID] = id
		}
	}
	return ids, err
}

// list returns the ID of each job, or of the one that holds its key.
func (s *inserted) list() []job.ID {
	for i, id := range s.order {
		if other, ok := s.instead[id]; ok {
			s.order[i] = other
		}
	}
	return list(s.order)
}

// jobs yields a job for each line that is not empty. The first line that is invalid ends the stream.
func (a *API) jobs(lines *bufio.Scanner) meanwhile.Stream[*job.Job] {
	return func(yield func(*job.Job, error) bool) {
		number, n := 0, 0
		wrong := func(status int, what string) {
			yield(nil, &refusal{status: status, detail: fmt.Sprintf("line %d: %s", number, what), more: map[string]any{"line": number}})
		}
		for lines.Scan() {
			number++
			if len(bytes.TrimSpace(lines.Bytes())) == 0 {
				continue
			}
			if n++; n > mostBulkJobs {
				wrong(http.StatusRequestEntityTooLarge, fmt.Sprintf("more than %d jobs in one request", mostBulkJobs))
				return
			}
			var wanted newJob
			if err := decode(lines.Bytes(), &wanted); err != nil {
				wrong(http.StatusBadRequest, err.Error())
				return
			}
			j, err := a.job(&wanted)
			if err != nil {
				wrong(http.StatusUnprocessableEntity, err.Error())
				return
			}
			if !yield(j, nil) {
				return
			}
		}
		number++
		_, long := errors.AsType[*http.MaxBytesError](lines.Err())
		switch err := lines.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			wrong(http.StatusRequestEntityTooLarge, fmt.Sprintf("it has more than %d bytes", mostOne))
		case long:
			yield(nil, err)
		case err != nil:
			wrong(http.StatusBadRequest, "the body broke off")
		}
	}
}
