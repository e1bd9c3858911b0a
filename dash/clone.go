package dash

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A cloning is the form for enqueuing a clone of a job.
type cloning struct {
	Of       job.ID
	Kind     string
	Args     string // with masked values hidden
	Hidden   bool   // some values are hidden
	Queue    string
	Priority string
	Due      string
	Wrong    string // why the submitted form is invalid
	Low      int
	High     int
}

// confirmClone shows the form, filled in from the job.
func (h *handler) confirmClone(ctx context.Context, v *view) (*page, error) {
	if v.ReadOnly {
		return nil, refuse(http.StatusForbidden, "You have read-only access.")
	}
	j, err := h.findJob(ctx, v.path["id"])
	if err != nil {
		return nil, err
	}
	masked := h.masker.JSON(j.Args)
	c := &cloning{
		Of: j.ID, Kind: j.Kind, Args: indented(masked), Hidden: string(masked) != string(j.Args), Queue: j.Queue, Priority: strconv.Itoa(j.Priority),
		Low: job.LowestPriority, High: job.HighestPriority,
	}
	if len(c.Args) > mostForm/2 {
		return nil, refuse(http.StatusBadRequest, "The args are longer than this form takes: enqueue the job by the API or the command.")
	}
	return &page{Title: "Clone " + j.Kind, Section: "jobs", Data: c, frozen: true}, nil
}

// A clonedAgain is the error of an invalid clone: the form is shown again, with the given values.
type clonedAgain struct {
	form   cloning
	status int
}

func (c *clonedAgain) Error() string { return c.form.Wrong }

// clone enqueues a clone of a job, with the args, the queue, the priority and the time of the form.
func (h *handler) clone(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	j, err := h.findJob(ctx, r.PathValue("id"))
	if err != nil {
		return "", err
	}
	field := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	form := cloning{
		Of: j.ID, Kind: j.Kind, Args: field("args"), Queue: field("queue"), Priority: field("priority"), Due: field("due"),
		Hidden: string(h.masker.JSON(j.Args)) != string(j.Args), Low: job.LowestPriority, High: job.HighestPriority,
	}
	made, err := h.makeClone(j, &form)
	if err != nil {
		form.Wrong = err.Error()
		return "", &clonedAgain{form, http.StatusBadRequest}
	}
	if _, err := job.Insert(ctx, h.Store, made); err != nil {
		return "", err
	}
	*done = job.AuditEntry{Action: "clone", Target: "id=" + j.ID.String() + " as " + made.ID.String(), Changed: 1}
	return "/jobs/" + made.ID.String() + "?did-text=cloned", nil
}

// makeClone returns the job of a form. It has no unique key, since the original may hold that.
func (h *handler) makeClone(j *job.Job, form *cloning) (*job.Job, error) {
	if !json.Valid([]byte(form.Args)) {
		return nil, refuse(http.StatusBadRequest, "Args: this is not JSON.")
	}
	args, err := h.masker.Restore(json.RawMessage(form.Args), j.Args)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Args: %v.", err)
	}
	priority, err := strconv.Atoi(form.Priority)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "Priority: give a number from %d to %d.", job.LowestPriority, job.HighestPriority)
	}
	opts := []job.EnqueueOption{job.Queue(cmp.Or(form.Queue, j.Queue)), job.Priority(priority), job.MaxAttempts(j.MaxAttempts)}
	if j.Timeout > 0 {
		opts = append(opts, job.Timeout(j.Timeout))
	}
	if j.LimitKey != "" {
		opts = append(opts, job.LimitKey(j.LimitKey))
	}
	if j.Cost > 0 {
		opts = append(opts, job.Cost(j.Cost))
	}
	for key, value := range maps.All(j.Meta) {
		if key != job.MetaID && key != job.MetaCron { // these describe the origin of the original job
			opts = append(opts, job.Meta(key, value))
		}
	}
	if form.Due != "" {
		at, err := readDue(form.Due, time.Now())
		if err != nil {
			return nil, err
		}
		opts = append(opts, job.At(at))
	}
	made, err := h.New(j.Kind, args, opts...)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "%s.", h.masker.Text(err.Error()))
	}
	return made, nil
}

// A copied is a text of a job with a copy button.
type copied struct{ Name, Text string }

// copies returns the ID, the args, and a command that enqueues such a job through the API.
func (h *handler) copies(j *job.Job) []copied {
	args := h.masker.JSON(j.Args)
	if len(args) > mostShown {
		return []copied{{"ID", j.ID.String()}}
	}
	body, err := json.Marshal(map[string]any{"kind": j.Kind, "queue": j.Queue, "args": args})
	if err != nil {
		return []copied{{"ID", j.ID.String()}}
	}
	quoted := "'" + strings.ReplaceAll(string(body), "'", `'\''`) + "'"
	return []copied{
		{"ID", j.ID.String()},
		{"Args", string(args)},
		{"curl", `curl -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' "$URL/jobs" -d ` + quoted},
	}
}
