package dash

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A queueRow is a queue in the list.
type queueRow struct {
	job.QueueInfo
	Discarded int64
	Workers   int           // that work on it
	Rate      int64         // completed a minute
	P50, P99  time.Duration // of the waits, of those that began lately
	Waits     bool
}

// Long reports whether its jobs wait for long.
func (q queueRow) Long() bool { return q.Wait > longWait && !q.Paused }

func (h *handler) queues(ctx context.Context, _ *view) (*page, error) {
	rows, err := h.queueRows(ctx)
	return &page{Title: "Queues", Section: "queues", Data: rows}, err
}

func (h *handler) queueRows(ctx context.Context) ([]queueRow, error) {
	queues, err := h.look.queues.get(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := h.look.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := h.workerRows(ctx)
	if err != nil {
		return nil, err
	}
	past, err := h.look.past.get(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]queueRow, len(queues))
	for i, q := range queues {
		recent := past.recent(q.Name)
		rows[i].Rate = (recent.Completed + 2) / 5
		rows[i].P50, rows[i].P99, rows[i].Waits = recent.Wait.Quantile(.5), recent.Wait.Quantile(.99), recent.Wait.Count() > 0
		rows[i].QueueInfo = q
		for _, c := range counts {
			if c.Queue == q.Name && c.State == job.Discarded {
				rows[i].Discarded += c.N
			}
		}
		for _, w := range workers {
			if !w.Gone && slices.Contains(w.Queues, q.Name) {
				rows[i].Workers++
			}
		}
	}
	return rows, nil
}

func (h *handler) actOnQueue(ctx context.Context, r *http.Request) (string, error) {
	name := r.PostForm.Get("queue")
	queues, err := h.Store.Queues(ctx)
	if err != nil {
		return "", err
	}
	// A queue is paused by its name alone, so that one with a wrong name would be made.
	if !slices.ContainsFunc(queues, func(q job.QueueInfo) bool { return q.Name == name }) {
		return "", refuse(http.StatusNotFound, "There is no queue %.130q.", name)
	}
	switch r.PostForm.Get("act") {
	case "pause":
		return "/queues?did-text=paused", h.Store.Pause(ctx, name, true)
	case "resume":
		return "/queues?did-text=resumed", h.Store.Pause(ctx, name, false)
	}
	return "", refuse(http.StatusBadRequest, "%.40q is no act on queues.", r.PostForm.Get("act"))
}
