package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/retry"
)

// An ending is the outcome of an attempt.
type ending struct {
	attempt
	Outcome string          `json:"outcome"`
	Result  json.RawMessage `json:"result"`  // of completed
	Then    []newJob        `json:"then"`    // of completed
	Error   *failure        `json:"error"`   // of failed, discarded, canceled and throttled
	Delay   *span           `json:"delay"`   // of failed, snoozed and throttled
	Records []record        `json:"records"` // of any
	Spent   *int            `json:"spent"`   // of any
}

// A failure is the error of an attempt.
type failure struct {
	Message   string   `json:"message"`
	Type      string   `json:"type"`
	Backtrace []string `json:"backtrace"`
}

// Error returns the text that is shown for the job.
func (f *failure) Error() string {
	switch {
	case f.Type == "":
		return f.Message
	case f.Message == "":
		return f.Type
	}
	return f.Type + ": " + f.Message
}

// finish writes the outcomes of attempts.
func (a *API) finish(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Ends []ending `json:"ends"`
	}
	if err := readJSON(w, r, &given, mostWork); err != nil {
		return err
	}
	if given.Ends == nil {
		return refuse(http.StatusUnprocessableEntity, "ends: give the outcomes of attempts")
	}
	if len(given.Ends) > mostEnds {
		return refuse(http.StatusUnprocessableEntity, "%d ends: give at most %d in one request", len(given.Ends), mostEnds)
	}
	ends := make([]job.End, len(given.Ends))
	seen := make(map[job.ID]bool, len(ends))
	following, records := 0, 0
	for i := range given.Ends {
		e := &given.Ends[i]
		following, records = following+len(e.Then), records+len(e.Records)
		err := e.check()
		switch {
		case err != nil:
		case seen[e.ID]:
			err = errors.New("it is in this request twice")
		case following > job.MaxThen:
			err = fmt.Errorf("more than %d jobs are to follow the ends of this request: send fewer ends, or let a job enqueue the others", job.MaxThen)
		case records > mostReported:
			err = fmt.Errorf("the ends of this request have more than %d records: send fewer ends", mostReported)
		default:
			ends[i], err = a.end(e)
		}
		if err != nil {
			return refuse(http.StatusUnprocessableEntity, "end %d, job %v: %v", i+1, e.ID, err)
		}
		seen[e.ID] = true
	}
	lost, err := a.claimer.Finish(r.Context(), ends...)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"lost": list(lost)})
}

// check returns an error if fields are missing, or do not go with the outcome.
func (e *ending) check() error {
	is := func(outcomes ...string) bool { return slices.Contains(outcomes, e.Outcome) }
	switch {
	case !is("completed", "failed", "discarded", "canceled", "snoozed", "throttled", "released"):
		return fmt.Errorf("%.40q is not an outcome: give completed, failed, discarded, canceled, snoozed, throttled or released", e.Outcome)
	case len(e.Result) > 0 && string(e.Result) != "null" && !is("completed"):
		return errors.New("result is for completed only")
	case e.Then != nil && !is("completed"):
		return errors.New("then is for completed only")
	case e.Error != nil && !is("failed", "discarded", "canceled", "throttled"):
		return errors.New("error is for failed, discarded, canceled and throttled only")
	case e.Delay != nil && !is("failed", "snoozed", "throttled"):
		return errors.New("delay is for failed, snoozed and throttled only")
	case e.Error == nil && is("failed", "discarded"):
		return errors.New("error: say what has failed")
	case e.Error != nil && e.Error.Error() == "":
		return errors.New("error: give a message, or a type")
	case e.Spent != nil && (*e.Spent < 0 || *e.Spent > job.MaxCost):
		return fmt.Errorf("spent: %d units: give from 0 to %d", *e.Spent, job.MaxCost)
	case e.Delay == nil && is("snoozed", "throttled"):
		return errors.New("delay: say when it is to be run again")
	}
	return nil
}

// end converts an ending to an End of package job.
func (a *API) end(e *ending) (job.End, error) {
	session, err := e.Session.session()
	if err != nil {
		return job.End{}, err
	}
	end := job.End{Session: session, ID: e.ID, Attempt: e.Attempt, Result: e.Result, Spent: e.Spent}
	var failed error
	if e.Error != nil {
		failed, end.Stack = e.Error, strings.Join(e.Error.Backtrace, "\n")
	}
	switch e.Outcome {
	case "failed":
		if end.Err = failed; e.Delay != nil {
			end.Err = retry.After(failed, time.Duration(*e.Delay))
		}
	case "discarded":
		end.Err = retry.Permanent(failed)
	case "canceled":
		end.Err = job.Cancel(failed)
	case "snoozed":
		end.Err = job.Snooze(time.Duration(*e.Delay))
	case "throttled":
		end.Err = job.Throttled(failed, time.Duration(*e.Delay))
	case "released":
		end.Err = job.ErrStopping
	}
	for i := range e.Records {
		r, err := e.Records[i].record()
		if err != nil {
			return job.End{}, err
		}
		end.Records = append(end.Records, r)
	}
	for i := range e.Then {
		j, err := a.job(&e.Then[i])
		if err != nil {
			return job.End{}, err
		}
		end.Then = append(end.Then, j)
	}
	return end, nil
}
