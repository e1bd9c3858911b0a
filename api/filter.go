package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// A filter says which jobs are meant: in the query of a list, and in the body of an action.
type filter struct {
	ID             []string `json:"id"`
	Kind           []string `json:"kind"`
	Queue          []string `json:"queue"`
	State          []string `json:"state"`
	Worker         string   `json:"worker"`
	Args           []string `json:"args"`
	Meta           []string `json:"meta"`
	Error          string   `json:"error"`
	CreatedAfter   string   `json:"created_after"`
	CreatedBefore  string   `json:"created_before"`
	FinishedBefore string   `json:"finished_before"`
	UniqueKey      string   `json:"unique_key"`
}

const mostListed = 1000 // values of one field of a filter

var states = job.States()

// queryFilter reads a filter from a query. Its own fields are taken out of the query.
func queryFilter(query url.Values) (filter, error) {
	var f filter
	for name, many := range map[string]*[]string{"id": &f.ID, "kind": &f.Kind, "queue": &f.Queue, "state": &f.State, "args": &f.Args, "meta": &f.Meta} {
		*many = query[name]
		query.Del(name)
	}
	for name, one := range map[string]*string{
		"worker": &f.Worker, "error": &f.Error, "unique_key": &f.UniqueKey,
		"created_after": &f.CreatedAfter, "created_before": &f.CreatedBefore, "finished_before": &f.FinishedBefore,
	} {
		value, err := single(query, name)
		if err != nil {
			return f, err
		}
		*one = value
	}
	return f, nil
}

// single takes a parameter that may come once out of a query.
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

// checkRest refuses parameters that nobody has taken.
func checkRest(query url.Values) error {
	for name := range query {
		return refuse(http.StatusBadRequest, "%.40q is no parameter of this path", name)
	}
	return nil
}

// empty reports whether a filter means all jobs.
func (f *filter) empty() bool {
	return len(f.ID)+len(f.Kind)+len(f.Queue)+len(f.State)+len(f.Args)+len(f.Meta) == 0 &&
		f.Worker+f.Error+f.CreatedAfter+f.CreatedBefore+f.FinishedBefore+f.UniqueKey == ""
}

// filter returns the filter as package job knows it. Its errors are refusals.
func (a *API) filter(f filter) (job.Filter, error) {
	wanted := job.Filter{Kinds: f.Kind, Queues: f.Queue, Worker: f.Worker, Error: f.Error, UniqueKey: f.UniqueKey}
	err := func() error {
		for _, many := range [][]string{f.ID, f.Kind, f.Queue, f.State, f.Args, f.Meta} {
			if len(many) > mostListed {
				return fmt.Errorf("%d values of one field: give at most %d", len(many), mostListed)
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
				return fmt.Errorf("%.40q is no state: give some of %v", name, states)
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
		for i, text := range []string{f.CreatedAfter, f.CreatedBefore, f.FinishedBefore} {
			if text == "" {
				continue
			}
			if err := moments[i].UnmarshalText([]byte(text)); err != nil {
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
