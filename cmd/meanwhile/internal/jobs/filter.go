package jobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/job"
)

// A Filter has the flags and arguments that select jobs, filled in by kong.
type Filter struct {
	IDs    []string          `arg:"" optional:"" name:"id" help:"IDs of jobs."`
	Kind   []string          `placeholder:"NAME" group:"Which jobs" help:"Of this kind. Like --queue and --state it is repeatable: a job has to match one of the values."`
	Queue  []string          `placeholder:"NAME" group:"Which jobs" help:"In this queue."`
	State  []string          `placeholder:"STATE" group:"Which jobs" help:"In this state: queued, running, completed, canceled, discarded; scheduled and retrying are parts of queued."`
	Worker string            `placeholder:"NAME" group:"Which jobs" help:"Last claimed by this worker."`
	Args   []string          `sep:"none" placeholder:"PATH=VALUE" group:"Which jobs" help:"With this value in the args, such as user.id=7. Repeatable; a job has to match all of them."`
	Meta   map[string]string `mapsep:"none" placeholder:"KEY=VALUE" group:"Which jobs" help:"With this entry in its meta, such as tenant=7. Repeatable; a job has to have all of them."`
	Error  string            `placeholder:"TEXT" group:"Which jobs" help:"With this text in the error of an attempt, ignoring case."`
	After  when.Past         `placeholder:"TIME" group:"Which jobs" help:"Enqueued after this time, such as \"2026-01-31 15:04\", or within the last 2h or 7d."`
	Before when.Past         `placeholder:"TIME" group:"Which jobs" help:"Enqueued before this time, or longer ago than this."`
}

var states = job.States()

// filter returns the filter for the flags. Its errors are usage errors.
func (f *Filter) filter() (job.Filter, error) {
	ids, err := parseIDs(f.IDs)
	if err != nil {
		return job.Filter{}, err
	}
	wanted := job.Filter{
		IDs: ids, Kinds: f.Kind, Queues: f.Queue, Worker: f.Worker, Meta: f.Meta, Error: f.Error,
		CreatedAfter: f.After.Time, CreatedBefore: f.Before.Time,
	}
	for _, name := range f.State {
		if !slices.Contains(states, job.State(name)) {
			return job.Filter{}, usage("--state: %.40q is not one of %s", name, list(states))
		}
		wanted.States = append(wanted.States, job.State(name))
	}
	for _, text := range f.Args {
		path, value, ok := strings.Cut(text, "=")
		if !ok || path == "" {
			return job.Filter{}, usage("--args %.40q: give PATH=VALUE, as in user.id=7", text)
		}
		wanted.Args = append(wanted.Args, job.ArgsMatch{Path: path, Value: value})
	}
	return wanted, nil
}

// onlyIDs reports whether the jobs are selected only by their IDs.
func (f *Filter) onlyIDs() bool { return len(f.IDs) > 0 && !f.narrows() }

// narrows reports whether the jobs are selected by anything other than IDs.
func (f *Filter) narrows() bool {
	return len(f.Kind)+len(f.Queue)+len(f.State)+len(f.Args)+len(f.Meta) > 0 || f.Worker != "" || f.Error != "" || !f.After.IsZero() || !f.Before.IsZero()
}

func parseIDs(texts []string) ([]job.ID, error) {
	var ids []job.ID
	for _, text := range texts {
		id, err := job.ParseID(text)
		if err != nil {
			return nil, &probe.UsageError{Err: err}
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func usage(format string, args ...any) error {
	return &probe.UsageError{Err: fmt.Errorf(format, args...)}
}

func list[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return strings.Join(texts, ", ")
}
