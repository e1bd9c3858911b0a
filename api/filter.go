package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// A filter selects jobs: in the query of a list, and in the body of an action. A nil field is not given.
type filter struct {
	ID             []string `json:"id"`
	Kind           []string `json:"kind"`
	Queue          []string `json:"queue"`
	State          []string `json:"state"`
	Worker         *string  `json:"worker"`
	Args           []string `json:"args"`
	Meta           []string `json:"meta"`
	Error          *string  `json:"error"`
	CreatedAfter   *string  `json:"created_after"`
	CreatedBefore  *string  `json:"created_before"`
	FinishedBefore *string  `json:"finished_before"`
	UniqueKey      *string  `json:"unique_key"`
}

const mostListed = 1000 // values of one field of a filter

var states = job.States()

// lists returns the fields with several values, by their names.
func (f *filter) lists() map[string]*[]string {
	return map[string]*[]string{"id": &f.ID, "kind": &f.Kind, "queue": &f.Queue, "state": &f.State, "args": &f.Args, "meta": &f.Meta}
}

// texts returns the fields with one value, by their names.
func (f *filter) texts() map[string]**string {
	return map[string]**string{
		"worker": &f.Worker, "error": &f.Error, "unique_key": &f.UniqueKey,
		"created_after": &f.CreatedAfter, "created_before": &f.CreatedBefore, "finished_before": &f.FinishedBefore,
	}
}

// queryFilter reads a filter from a query, in which an empty value counts as not given. It removes the fields of the filter from the query.
func queryFilter(query url.Values) (filter, error) {
	var f filter
	for name, many := range f.lists() {
		*many = query[name]
		query.Del(name)
	}
	for name, one := range f.texts() {
		value, err := single(query, name)
		if err != nil {
			return f, err
		}
		if value != "" {
			*one = &value
		}
	}
	return f, nil
}

// checkGiven refuses a field that is given but empty: a client whose list of jobs to change is empty does not mean all jobs.
func (f *filter) checkGiven() error {
	for name, many := range f.lists() {
		if *many != nil && len(*many) == 0 {
			return refuse(http.StatusUnprocessableEntity, "%s of the filter is empty: give a value, or leave it out", name)
		}
	}
	for name, one := range f.texts() {
		if *one != nil && **one == "" {
			return refuse(http.StatusUnprocessableEntity, "%s of the filter is empty: give a value, or leave it out", name)
		}
	}
	return nil
}

// single removes a parameter that may occur once from a query, and returns it.
func single(query url.Values, name string) (string, error) {
	values := query[name]
	query.Del(name)
	if len(values) > 1 {
		return "", refuse(http.StatusBadRequest, "%s: give it once", name)
	}
	return strings.Join(values, ""), nil
}

// readQuery returns the parameters of a request.
func readQuery(r *http.Request) (url.Values, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	return query, nil
}

// checkRest refuses the parameters that are left in a query.
func checkRest(query url.Values) error {
	for name := range query {
		return refuse(http.StatusBadRequest, "%.40q is not a parameter of this path", name)
	}
	return nil
}

// withoutQuery refuses requests with parameters, so that DELETE with dry_run=true deletes nothing.
func withoutQuery(do func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		query, err := readQuery(r)
		if err == nil {
			err = checkRest(query)
		}
		if err != nil {
			return err
		}
		return do(w, r)
	}
}

// empty reports whether a filter selects all jobs.
func (f *filter) empty() bool {
	for _, many := range f.lists() {
		if len(*many) > 0 {
			return false
		}
	}
	for _, one := range f.texts() {
		if *one != nil {
			return false
		}
	}
	return true
}

func textOf(given *string) string {
	if given == nil {
		return ""
	}
	return *given
}

// filter converts a filter to one of package job. Its errors are refusals.
func (a *API) filter(f filter) (job.Filter, error) {
	wanted := job.Filter{Kinds: f.Kind, Queues: f.Queue, Worker: textOf(f.Worker), Error: textOf(f.Error), UniqueKey: textOf(f.UniqueKey)}
	err := func() error {
		for name, many := range f.lists() {
			if len(*many) > mostListed {
				return fmt.Errorf("%s has %d values: give at most %d", name, len(*many), mostListed)
			}
		}
		for _, text := range f.ID {
			id, err := job.ParseID(text)
			if err != nil {
				return err
			}
			wanted.IDs = append(wanted.IDs, id)
		}
		for _, name := range f.State {
			if !slices.Contains(states, job.State(name)) {
				return fmt.Errorf("%.40q is not a state: give some of %v", name, states)
			}
			wanted.States = append(wanted.States, job.State(name))
		}
		for _, text := range f.Args {
			path, value, ok := strings.Cut(text, "=")
			switch {
			case !ok || path == "":
				return fmt.Errorf("args %.40q: give PATH=VALUE, as in user.id=7", text)
			case slices.ContainsFunc(strings.Split(path, "."), a.mask.Hides), a.mask.HidesIn(value):
				return fmt.Errorf("args %.40q: this field is masked, and jobs cannot be found by it", path)
			}
			wanted.Args = append(wanted.Args, job.ArgsMatch{Path: path, Value: value})
		}
		for _, text := range f.Meta {
			key, value, ok := strings.Cut(text, "=")
			switch {
			case !ok || key == "":
				return fmt.Errorf("meta %.40q: give KEY=VALUE, as in tenant=7", text)
			case a.mask.Hides(key):
				return fmt.Errorf("meta %.40q: this field is masked, and jobs cannot be found by it", key)
			}
			if before, twice := wanted.Meta[key]; twice && before != value {
				return fmt.Errorf("meta %.40q: two values, and a job has one", key)
			}
			if wanted.Meta == nil {
				wanted.Meta = map[string]string{}
			}
			wanted.Meta[key] = value
		}
		var moments [3]moment
		for i, given := range []*string{f.CreatedAfter, f.CreatedBefore, f.FinishedBefore} {
			if given == nil {
				continue
			}
			if err := moments[i].UnmarshalText([]byte(*given)); err != nil {
				return err
			}
		}
		wanted.CreatedAfter, wanted.CreatedBefore, wanted.FinishedBefore = moments[0].Time, moments[1].Time, moments[2].Time
		return nil
	}()
	if err != nil {
		return wanted, refuse(http.StatusUnprocessableEntity, "%v", err)
	}
	return wanted, nil
}
