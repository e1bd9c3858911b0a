package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostSelected = 200                   // jobs that a form may list by ID
	mostChanged  = 1000                  // jobs that are changed per store call
	mostCounted  = mostUndone            // jobs that are counted one by one; beyond that the exact number does not matter
	mostCount    = 20 * time.Millisecond // time limit for counting
	mostAction   = 5 * time.Second       // time after which the page asks whether to continue
)

// An action is an action on jobs, as pages show it.
type action struct {
	Name   string // in forms
	Verb   string // "Retry"
	Ask    string // "Set the priority of %s?"; "" means Verb with the jobs
	Done   string // "retried"
	Note   string // describes what the action does, and to which jobs
	Field  string // name of its argument; "" for none
	Hint   string // describes the argument
	Low    int    // bounds of a numeric argument, Low to High; zero for a text
	High   int
	Danger bool
	Undone bool                 // can be undone for queued jobs
	suits  func(job.State) bool // whether the action is offered for a job
	parse  func(argument string) (job.Action, error)
}

func plain(action job.Action) func(string) (job.Action, error) {
	return func(string) (job.Action, error) { return action, nil }
}

// runNow makes queued jobs due now. It skips jobs that have finished in the meantime.
var runNow = func() job.Action {
	do := job.ActionRetry
	do.From = []job.State{job.Queued}
	return do
}()

var actions = []action{
	{
		Name: "run", Undone: true, Verb: "Run now", Ask: "Run %s now?", Done: "due now", parse: plain(runNow),
		Note:  "Queued jobs are due now. Others are left alone.",
		suits: runNow.Suits,
	},
	{
		Name: "retry", Undone: true, Verb: "Retry", Done: "retried", parse: plain(job.ActionRetry),
		Note:  "Finished jobs are run again, with all their attempts; queued ones are due now. Running ones are left alone. Finished jobs cannot be restored.",
		suits: func(s job.State) bool { return s.Finished() },
	},
	{
		Name: "cancel", Undone: true, Verb: "Cancel", Done: "canceled", Danger: true, parse: plain(job.ActionCancel),
		Note:  "Queued jobs are canceled. Workers are asked to stop running ones, which takes as long as their handlers take and cannot be undone. Finished ones are left alone.",
		suits: job.ActionCancel.Suits,
	},
	{
		Name: "discard", Undone: true, Verb: "Discard", Done: "discarded", Danger: true, parse: plain(job.ActionDiscard),
		Note:  "Queued jobs are given up. Others are left alone.",
		suits: job.ActionDiscard.Suits,
	},
	{
		Name: "delete", Verb: "Delete", Done: "deleted", Danger: true, parse: plain(job.ActionDelete),
		Note:  "Jobs are deleted, with all that is known of them. This cannot be undone. Running ones are left alone.",
		suits: job.ActionDelete.Suits,
	},
	{
		Name: "move", Undone: true, Verb: "Move", Done: "moved", Field: "To queue", Hint: "the name of the other queue",
		Note:  "Queued jobs go to another queue. Others are left alone.",
		suits: job.ActionMove("").Suits,
		parse: func(queue string) (job.Action, error) {
			if _, err := job.New("any", json.RawMessage("null"), job.Queue(queue)); queue == "" || err != nil {
				return job.Action{}, refuse(http.StatusBadRequest, "To queue: %.40q is not a valid name of a queue: give one of up to %d bytes, without spaces.", queue, job.MaxName)
			}
			return job.ActionMove(queue), nil
		},
	},
	{
		Name: "priority", Undone: true, Verb: "Set priority", Ask: "Set the priority of %s?", Done: "changed", Field: "Priority", Hint: "1 to 9; 9 is run first",
		Note:  "Queued jobs get another priority. Others are left alone.",
		suits: job.ActionPriority(0).Suits, Low: job.LowestPriority, High: job.HighestPriority,
		parse: func(text string) (job.Action, error) {
			p, err := strconv.Atoi(text)
			if err != nil || p < job.LowestPriority || p > job.HighestPriority {
				return job.Action{}, refuse(http.StatusBadRequest, "Priority: %.40q is not a number from %d to %d.", text, job.LowestPriority, job.HighestPriority)
			}
			return job.ActionPriority(p), nil
		},
	},
	{
		Name: "schedule", Undone: true, Verb: "Schedule", Done: "scheduled", Field: "Due", Hint: "after 90s, 2h or 7d, or at 2026-01-31 15:04 (UTC)",
		Note:  "Queued jobs are due at another time. Others are left alone.",
		suits: job.ActionRunAt(time.Time{}).Suits,
		parse: func(text string) (job.Action, error) {
			at, err := readDue(text, time.Now())
			return job.ActionRunAt(at), err
		},
	},
}

// readDue parses when a job is to become due: a duration from now, or a time.
func readDue(text string, now time.Time) (time.Time, error) {
	at, err := readTime(text, now)
	if err != nil || text == "" {
		return time.Time{}, refuse(http.StatusBadRequest, "Due: %.40q is neither a time from now such as 90s, 2h or 7d, nor a time (UTC) such as 2026-01-31 15:04.", text)
	}
	if at.Before(now) && !strings.Contains(text, "-") { // a duration, which means the future here
		at = now.Add(now.Sub(at))
	}
	if year := at.UTC().Year(); year < 1970 || year > 9999 { // the years that a job may have
		return time.Time{}, refuse(http.StatusBadRequest, "Due: %.40q is in the year %d: give one from 1970 to 9999.", text, year)
	}
	return at, nil
}

func findAction(name string) (action, error) {
	i := slices.IndexFunc(actions, func(a action) bool { return a.Name == name })
	if i < 0 {
		return action{}, refuse(http.StatusBadRequest, "%.40q is not an action.", name)
	}
	return actions[i], nil
}

// actionsFor returns the actions that make sense for a job.
func actionsFor(state job.State) []action {
	var found []action
	for _, a := range actions {
		if a.suits(state) {
			found = append(found, a)
		}
	}
	return found
}

// A target is a set of jobs, and the action on them.
type target struct {
	action
	*search  // selects all matching jobs; for selected jobs it has only their IDs
	argument string
	back     string
	Done     int64 // jobs changed by previous parts
	total    int64 // number of jobs at the start, if known
	skipped  int64
	conflict int64
}

var errNoneSelected = refuse(http.StatusBadRequest, "No job is selected: tick some, or choose all that match.")

// readTarget parses a form: IDs of jobs, or "all" and a search.
func (h *handler) readTarget(q url.Values) (*target, error) {
	a, err := findAction(q.Get("action"))
	if err != nil {
		return nil, err
	}
	t := &target{action: a, argument: strings.TrimSpace(q.Get("argument")), back: backTo(q.Get("back"), "/jobs")}
	for name, n := range map[string]*int64{"done": &t.Done, "total": &t.total, "skipped": &t.skipped, "conflicts": &t.conflict} {
		*n, _ = strconv.ParseInt(q.Get(name), 10, 64) // an invalid number counts as zero
	}
	chosen := q
	if q.Get("all") == "" {
		if len(q["id"]) == 0 {
			return nil, errNoneSelected
		}
		chosen = url.Values{"id": {strings.Join(q["id"], " ")}, "before": q["before"]}
	}
	t.search, err = h.readSearch(chosen, time.Now())
	return t, err
}

// hidden returns form fields from which readTarget reads the same target.
func (t *target) hidden() [][2]string {
	fields := [][2]string{{"action", t.Name}, {"back", t.back}, {"all", "1"}}
	for name, n := range map[string]int64{"done": t.Done, "total": t.total, "skipped": t.skipped, "conflicts": t.conflict} {
		if n > 0 {
			fields = append(fields, [2]string{name, strconv.FormatInt(n, 10)})
		}
	}
	if t.argument != "" {
		fields = append(fields, [2]string{"argument", t.argument})
	}
	for name, values := range t.Values() {
		for _, value := range values {
			fields = append(fields, [2]string{name, value})
		}
	}
	slices.SortFunc(fields, func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return fields
}

// link returns the address of the page that asks about the target, with more parameters.
func (t *target) link(more url.Values) string {
	q := url.Values{}
	for _, field := range t.hidden() {
		q.Add(field[0], field[1])
	}
	return withQuery("/jobs/action?"+q.Encode(), more)
}

// countTarget returns how many jobs match: exactly if the store knows the number, and otherwise up to a bound. more means that there may be more: the
// bound or the time limit was reached.
func (h *handler) countTarget(ctx context.Context, t *target) (n int64, more bool, err error) {
	h.cache.counts.forget() // the number must be current
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return 0, false, err
	}
	if n, ok := t.known(counts); ok && t.Before == "" {
		return n, false, nil
	}
	if len(t.filter.IDs) == 0 { // selected jobs are few, and are counted even if the store is slow
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, mostCount, errLate)
		defer cancel()
	}
	for _, err := range h.list(ctx, t.filter) {
		switch {
		case err != nil && errors.Is(context.Cause(ctx), errLate):
			return n, true, nil
		case err != nil:
			return 0, false, err
		case n == mostCounted:
			return n, true, nil
		}
		n++
	}
	return n, false, nil
}

// jobsAction applies an action for up to some seconds. If jobs are left then, it redirects to a page that continues.
func (h *handler) jobsAction(ctx context.Context, r *http.Request, done *job.AuditEntry) (back string, err error) {
	c, ask, err := h.begin(ctx, r.PostForm)
	if err != nil || c == nil {
		return ask, err
	}
	t := c.target
	before := t.Done
	over, err := h.apply(ctx, c)
	entry := job.AuditOf(t.whole(), c.do, job.ActionResult{Changed: int(t.Done - before)})
	if entry.Changed > 0 || err != nil || over && t.Done == 0 { // parts that change nothing have no entry
		*done = entry
	}
	if err != nil {
		return "", err
	}
	if !over {
		return h.next(c), nil
	}
	if t.Name == "delete" && strings.HasPrefix(t.back, "/jobs/") {
		t.back = "/jobs" // instead of the page of a deleted job
	}
	q := url.Values{}
	for name, n := range map[string]int64{"did": t.Done, "did-skipped": t.skipped, "did-conflicts": t.conflict} {
		q.Set(name, strconv.FormatInt(n, 10))
	}
	q.Set("did-action", t.Name)
	if id, err := h.undoJobs(ctx, r, entry, c.queued); err != nil {
		h.Logger.Warn("dash: an action cannot be undone", "action", entry.Action, "error", err)
	} else if id != "" {
		q.Set("did-undo", id)
	}
	return withQuery(t.back, q), nil
}

// apply changes the jobs in batches, the newest first, and reports whether it is done with all of them. Otherwise c has only those that are left.
func (h *handler) apply(ctx context.Context, c *continuation) (over bool, err error) {
	limited, cancel := context.WithTimeoutCause(ctx, mostAction, errLate)
	defer cancel()
	if c.listed() {
		return h.applyListed(ctx, limited, c)
	}
	part := c.filter
	part.Limit = mostChanged
	for limited.Err() == nil {
		// Without the time limit: a batch is changed completely or not at all.
		done, err := job.Apply(ctx, h.Store, part, c.do)
		c.add(done)
		if err != nil {
			return false, err
		}
		if done.Next == (job.ID{}) {
			return true, nil
		}
		c.passed(done.Next)
		part.Before = done.Next
	}
	return false, nil
}

// passed restricts the target to the jobs before one: the others have had their turn.
func (t *target) passed(id job.ID) { t.Before, t.filter.Before = id.String(), id }

// whole returns the filter for all jobs of the target, including those of previous parts.
func (t *target) whole() job.Filter {
	f := t.filter
	f.Before = job.ID{}
	return f
}

func (t *target) add(done job.ActionResult) {
	t.Done, t.skipped, t.conflict = t.Done+int64(done.Changed), t.skipped+int64(done.Skipped), t.conflict+int64(done.Conflicts)
}

// withQuery adds parameters to the query of a path.
func withQuery(path string, more url.Values) string {
	u, err := url.Parse(path)
	if err != nil {
		return path
	}
	q := u.Query()
	for name, values := range more {
		q[name] = values
	}
	u.RawQuery = q.Encode()
	return u.String()
}
