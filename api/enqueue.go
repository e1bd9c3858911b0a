package api

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// A newJob is a job as a client wants it.
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
	Timeout     *span             `json:"timeout"`
	Meta        map[string]string `json:"meta"`
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

// options returns what else the client wants.
func (n *newJob) options() ([]job.EnqueueOption, error) {
	var options []job.EnqueueOption
	add := func(o job.EnqueueOption) { options = append(options, o) }
	byArgs := n.UniqueArgs != nil && (n.UniqueArgs.all || len(n.UniqueArgs.fields) > 0)
	switch {
	case n.RunAt != nil && n.Delay != nil:
		return nil, errors.New("run_at and delay: give one of them")
	case n.UniqueKey != nil && byArgs:
		return nil, errors.New("unique_key and unique_args: give one of them")
	case n.UniqueFor != nil && n.UniqueKey == nil && !byArgs:
		return nil, errors.New("unique_for: say what is unique, by unique_key or unique_args")
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
	if n.Timeout != nil {
		add(job.Timeout(time.Duration(*n.Timeout)))
	}
	for key, value := range n.Meta {
		add(job.Meta(key, value))
	}
	return options, nil
}

// job makes the job. Its errors are refusals.
func (a *API) job(n *newJob) (*job.Job, error) {
	options, err := n.options()
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	if n.Args == nil {
		n.Args = json.RawMessage("null")
	}
	j, err := a.config.New(n.Kind, n.Args, options...)
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return j, nil
}

// enqueue enqueues one job.
func (a *API) enqueue(w http.ResponseWriter, r *http.Request) error {
	var wanted newJob
	if err := readJSON(w, r, &wanted); err != nil {
		return err
	}
	j, err := a.job(&wanted)
	if err != nil {
		return err
	}
	done, err := job.Insert(r.Context(), a.config.Store, j)
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if done[0].Duplicate {
		status = http.StatusOK
	}
	w.Header().Set("Location", Prefix+"/jobs/"+done[0].ID.String())
	return writeJSON(w, status, map[string]any{"id": done[0].ID, "duplicate": done[0].Duplicate})
}

// enqueueAll enqueues a job for each line.
func (a *API) enqueueAll(w http.ResponseWriter, r *http.Request) error {
	if err := checkType(r, "application/x-ndjson"); err != nil {
		return err
	}
	body, err := bodyOf(w, r, mostBulk)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, mostOne)
	done, err := job.EnqueueAll(r.Context(), a.config.Store, a.jobs(lines))
	told := map[string]any{"enqueued": done.Enqueued, "duplicates": done.Duplicates}
	if err != nil {
		return &partial{err, told}
	}
	return writeJSON(w, http.StatusOK, told)
}

// jobs yields a job for each line that is not empty. The first line that is none ends it.
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
