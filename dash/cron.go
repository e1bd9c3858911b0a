package dash

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// lateAfter is how long a tick of a cron may be overdue before the cron is taken to have no worker.
const lateAfter = time.Minute

// A cronRow is a cron in the list.
type cronRow struct {
	job.CronInfo
	Ran     bool // it has ticked
	Late    bool // the next tick is overdue
	Workers int  // number of workers that have it
}

func (h *handler) crons(ctx context.Context, _ *view) (*page, error) {
	rows, err := h.cronRows(ctx)
	return &page{Title: "Crons", Section: "crons", Data: rows}, err
}

func (h *handler) cronRows(ctx context.Context) ([]cronRow, error) {
	crons, err := h.cache.crons.get(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := h.workerRows(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]cronRow, len(crons))
	for i, c := range crons {
		late := !c.Paused && !c.Next.IsZero() && time.Since(c.Next) > lateAfter
		rows[i] = cronRow{CronInfo: c, Ran: c.Job != job.ID{}, Late: late}
		for _, w := range workers {
			if !w.Gone && slices.Contains(w.Crons, c.Name) {
				rows[i].Workers++
			}
		}
	}
	return rows, nil
}

const (
	mostTicks  = 20 // jobs of a cron that are shown
	mostComing = 5  // coming ticks that are shown
	ticksTime  = time.Second
	mostOther  = 500 // jobs of its kind that are searched for those of the cron
)

// A cronPage is the page of a cron.
type cronPage struct {
	cronRow
	Coming []time.Time
	Jobs   []row // jobs that it enqueued, the newest first
	All    string
}

// cron loads the page of a cron.
func (h *handler) cron(ctx context.Context, v *view) (*page, error) {
	rows, err := h.cronRows(ctx)
	if err != nil {
		return nil, err
	}
	name := v.Query.Get("name")
	i := slices.IndexFunc(rows, func(c cronRow) bool { return c.Name == name })
	if i < 0 {
		return nil, refuse(http.StatusNotFound, "There is no cron %.130q.", name)
	}
	d := &cronPage{cronRow: rows[i], All: v.URL(jobsURL("meta", job.MetaCron+"="+name))}
	if !d.Paused {
		d.Coming = d.Upcoming(v.Now, mostComing)
	}
	d.Jobs, err = h.ticked.get(name, func() ([]row, error) { return h.jobsOfCron(ctx, &rows[i]) })
	return &page{Title: "Cron " + name, Section: "crons", Data: d}, err
}

// jobsOfCron returns the newest jobs of a cron, as far as they are found within a time limit.
func (h *handler) jobsOfCron(ctx context.Context, c *cronRow) ([]row, error) {
	f := job.Filter{}
	if last, err := job.Find(ctx, h.Store, c.Job); err == nil { // its kind narrows the search
		f.Kinds = []string{last.Kind}
	} else if !errors.Is(err, job.ErrNotFound) {
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, ticksTime, errLate)
	defer cancel()
	now := time.Now()
	f.Limit = mostOther
	var found []row
	jobs, err := h.Store.List(limited, f) // a single List, since a store may sort many jobs for each call
	if err != nil && !errors.Is(context.Cause(limited), errLate) {
		return nil, err
	}
	for _, j := range jobs {
		if j.Meta[job.MetaCron] != c.Name && j.ID != c.Job {
			continue
		}
		found = append(found, row{Job: j, View: j.View(now), Error: h.masker.Text(j.LastError())})
		if len(found) == mostTicks {
			break
		}
	}
	return found, nil
}

func (h *handler) cronAction(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	h.cache.forget()
	rows, err := h.cronRows(ctx)
	if err != nil {
		return "", err
	}
	name := r.PostForm.Get("cron")
	back := "/crons?"
	if r.PostForm.Get("page") != "" {
		back = "/cron?" + url.Values{"name": {name}}.Encode() + "&"
	}
	i := slices.IndexFunc(rows, func(c cronRow) bool { return c.Name == name })
	if i < 0 {
		return "", refuse(http.StatusNotFound, "There is no cron %.130q.", name)
	}
	action := r.PostForm.Get("action")
	*done = job.AuditEntry{Action: action + " cron", Target: name, Changed: 1}
	cron := pausable{
		paused: func(ctx context.Context) (bool, error) {
			crons, err := h.Store.Crons(ctx)
			return slices.ContainsFunc(crons, func(c job.CronInfo) bool { return c.Name == name && c.Paused }), err
		},
		pause: func(ctx context.Context, paused bool) error { return h.Store.PauseCron(ctx, name, paused) },
	}
	switch action {
	case "pause":
		return h.pause(ctx, r, *done, cron, true, back+"did-text=cron-paused")
	case "resume":
		return h.pause(ctx, r, *done, cron, false, back+"did-text=cron-on")
	case "run":
		return back + "did-text=cron-run", h.runCron(ctx, rows[i])
	}
	return "", refuse(http.StatusBadRequest, "%.40q is not an action on crons.", action)
}

// runCron makes one of the workers that have a cron run it now.
func (h *handler) runCron(ctx context.Context, c cronRow) error {
	if c.Paused {
		return refuse(http.StatusConflict, "Cron %.130q is paused: resume it before you run it.", c.Name)
	}
	workers, err := h.workerRows(ctx)
	if err != nil {
		return err
	}
	for _, w := range workers {
		if !w.Gone && !w.Stopping && slices.Contains(w.Crons, c.Name) {
			return h.sendCommand(ctx, w.Name, job.Command{Do: job.CommandTick, Cron: c.Name})
		}
	}
	return refuse(http.StatusConflict, "No worker that runs has cron %.130q: only such a one knows what to enqueue.", c.Name)
}
