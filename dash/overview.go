package dash

import (
	"context"
	"slices"

	"github.com/meanwhile-go/meanwhile/job"
)

// An overview is the first page.
type overview struct {
	Warnings []warning
	Totals   []stateLink
	drawing
	Queues  queueList
	Workers []workerRow
	Waits   []kindRow
}

func (h *handler) overview(ctx context.Context, v *view) (*page, error) {
	o := &overview{}
	p := &page{Title: "Overview", Section: "overview", Data: o}
	if err := beside(ctx, h.cache.past.fill, h.cache.counts.fill, h.cache.queues.fill, h.cache.workers.fill, h.cache.crons.fill); err != nil {
		return nil, err
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := h.queueRows(ctx)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, queueRow.Idle)
	o.Queues = listQueues(rows, mostQueuesBeside)
	if o.Workers, err = h.workerRows(ctx); err != nil {
		return nil, err
	}
	o.Waits = kindRows(o.Workers)
	crons, err := h.cronRows(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range []job.State{job.Queued, job.Running, job.Completed, job.Canceled, job.Discarded} {
		total := stateLink{Name: state, URL: v.URL(jobsURL("state", string(state)))}
		for _, c := range counts {
			if c.State == state {
				total.N += c.N
			}
		}
		o.Totals = append(o.Totals, total)
	}
	past, err := h.cache.past.get(ctx)
	if err != nil {
		return nil, err
	}
	queues, err := h.cache.queues.get(ctx)
	if err != nil {
		return nil, err
	}
	var now level
	for _, q := range queues {
		now.queued, now.running = now.queued+q.Queued, now.running+q.Running
	}
	o.drawing = past.draw(subject{}, now, past.recent(subject{}), nil)
	kinds := past.failing()
	if err := h.examples(ctx, kinds); err != nil {
		return nil, err
	}
	o.Warnings = findWarnings(counts, past, kinds, rows, o.Workers, crons)
	for i := range o.Warnings {
		o.Warnings[i].URL = v.URL(o.Warnings[i].URL)
	}
	return p, nil
}
