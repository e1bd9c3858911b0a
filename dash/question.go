package dash

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/meanwhile-go/meanwhile/job"
)

// A question is the page that asks for confirmation of an action.
type question struct {
	Text    string // "Retry 3 jobs?"
	Note    string
	Verb    string
	Danger  bool
	To      string // path to post to
	Hidden  [][2]string
	Field   string
	Hint    string
	Low     int
	High    int
	Value   string // given before, and invalid
	Wrong   string // why Value is invalid
	Back    string
	Going   bool // a part is done, and there are more jobs: the page continues by itself
	Done    int64
	Total   int64  // 0 is unknown
	Nothing bool   // no job matches
	Undo    string // says whether the action can be undone
}

// confirmJobs asks whether to change the selected jobs, or all that match. If it has the ID of an action of which a part is done, it continues that.
func (h *handler) confirmJobs(ctx context.Context, v *view) (*page, error) {
	if v.ReadOnly {
		return nil, refuse(http.StatusForbidden, "You have read-only access.")
	}
	if c := h.partial.find(v.Query.Get(goOnField)); c != nil {
		return &page{Title: c.Verb + " jobs", Section: "jobs", Data: c.question(), frozen: true}, nil
	}
	t, err := h.readTarget(v.Query)
	if errors.Is(err, errNoneSelected) {
		q := question{Text: "No job is selected", Note: "Tick some jobs, or choose all that match.", Back: backTo(v.Query.Get("back"), "/jobs"), Nothing: true}
		return &page{Title: q.Text, Section: "jobs", Data: q, frozen: true}, nil
	}
	if err != nil {
		return nil, err
	}
	q, err := h.ask(ctx, t)
	return &page{Title: t.Verb + " jobs", Section: "jobs", Data: q, frozen: true}, err
}

// ask returns the question for a target.
func (h *handler) ask(ctx context.Context, t *target) (question, error) {
	n, more, err := h.countTarget(ctx, t)
	if err != nil {
		return question{}, err
	}
	text := count(n, "job")
	switch {
	case more && n == 0:
		text = "all jobs that match"
	case more:
		text = "more than " + text
	}
	q := question{
		Text: fmt.Sprintf(cmp.Or(t.Ask, t.Verb+" %s?"), text), Note: t.Note, Verb: t.Verb, Danger: t.Danger, To: "/jobs/action", Hidden: t.hidden(),
		Field: t.Field, Hint: t.Hint, Low: t.Low, High: t.High, Back: t.back, Nothing: n == 0 && !more, Total: n,
	}
	if t.Error != "" {
		q.Note += " Every job whose error contains the text matches, also where the rest of the error differs."
	}
	if more && n < mostCounted {
		q.Note += " Finding all of them takes longer than this page may."
	}
	if q.Nothing {
		q.Text, q.Note = "No job matches", "There is nothing to do."
	}
	if more {
		q.Total = 0
	}
	switch {
	case !t.Undone || q.Nothing:
	case more && n < mostCounted:
		q.Undo = "For " + span(undoTime) + " it can be undone for queued jobs that have not run since, if it changes no more than " + count(mostUndone, "job")
		if !t.listed() {
			q.Undo += fmt.Sprintf(", which are found within %.0f s", mostBefore.Seconds())
		}
		q.Undo += "."
	case n > mostUndone || more:
		q.Undo = "This cannot be undone: only what changes up to " + count(mostUndone, "job") + " can be."
	default:
		q.Undo = "For " + span(undoTime) + " it can be undone for queued jobs that have not run since."
	}
	return q, nil
}

// An askedAgain is the error of an action with an invalid argument: the question is asked again, with the given value.
type askedAgain struct {
	question
	refused *refusal
}

func (a *askedAgain) Error() string { return a.refused.reason }

// readAction returns the action of a target, or an askedAgain error.
func (h *handler) readAction(ctx context.Context, t *target) (job.Action, error) {
	do, err := t.parse(t.argument)
	refused, ok := errors.AsType[*refusal](err)
	if !ok || t.Field == "" {
		return do, err
	}
	given := t.argument
	t.argument = ""
	q, err := h.ask(ctx, t)
	if err != nil {
		return do, err
	}
	q.Value, q.Wrong = given, refused.reason
	return do, &askedAgain{q, refused}
}
