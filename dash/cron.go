package dash

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// lateAfter is for how long a tick of a cron may be due before nobody is taken to have the cron.
const lateAfter = time.Minute

// A cronRow is a cron in the list.
type cronRow struct {
	job.CronInfo
	Ran     bool // it has ticked
	Late    bool // the next tick should have been
	Workers int  // that have it
}

func (h *handler) crons(ctx context.Context, _ *view) (*page, error) {
	rows, err := h.cronRows(ctx)
	return &page{Title: "Crons", Section: "crons", Data: rows}, err
}

func (h *handler) cronRows(ctx context.Context) ([]cronRow, error) {
	crons, err := h.look.crons.get(ctx)
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

func (h *handler) actOnCron(ctx context.Context, r *http.Request) (string, error) {
	h.look.forget()
	rows, err := h.cronRows(ctx)
	if err != nil {
		return "", err
	}
	name := r.PostForm.Get("cron")
	i := slices.IndexFunc(rows, func(c cronRow) bool { return c.Name == name })
	if i < 0 {
		return "", refuse(http.StatusNotFound, "There is no cron %.130q.", name)
	}
	switch r.PostForm.Get("act") {
	case "pause":
		return "/crons?did-text=cron-paused", h.Store.PauseCron(ctx, name, true)
	case "resume":
		return "/crons?did-text=cron-on", h.Store.PauseCron(ctx, name, false)
	case "run":
		return "/crons?did-text=cron-run", h.runCron(ctx, rows[i])
	}
	return "", refuse(http.StatusBadRequest, "%.40q is no act on crons.", r.PostForm.Get("act"))
}

// runCron has one of the workers that have a cron run it now.
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
			return h.order(ctx, w.Name, job.Order{Do: job.OrderTick, Cron: c.Name})
		}
	}
	return refuse(http.StatusConflict, "No worker that runs has cron %.130q: only such a one knows what to enqueue.", c.Name)
}
